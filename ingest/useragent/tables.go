package useragent

import (
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

//go:embed agents.tsv
var agentsTSV string

//go:embed crawlers.tsv
var crawlersTSV string

// aiTag marks the crawlers that work for AI.
const aiTag = "ai-crawler"

// agent is a row of agents.tsv.
type agent struct {
	token    string
	operator string
	purpose  string
}

// crawler is a row of crawlers.tsv.
type crawler struct {
	pattern  *regexp.Regexp
	ai       bool
	literals []string // one of them stands in whatever pattern matches; nil: not known
}

func parseAgents(tsv string) ([]agent, error) {
	var agents []agent
	for row, err := range rows(tsv, 3) {
		if err != nil {
			return nil, err
		}
		a := agent{token: row[0], operator: row[1], purpose: row[2]}
		if len(a.token) < keyBytes || strings.ContainsFunc(a.token, func(r rune) bool { return r > '~' }) {
			return nil, fmt.Errorf("token %q: want at least %d ASCII characters", a.token, keyBytes)
		}
		agents = append(agents, a)
	}
	return agents, nil
}

func parseCrawlers(tsv string) ([]crawler, error) {
	var crawlers []crawler
	for row, err := range rows(tsv, 2) {
		if err != nil {
			return nil, err
		}
		c, err := newCrawler(row[0], strings.Split(row[1], ","))
		if err != nil {
			return nil, err
		}
		crawlers = append(crawlers, c)
	}
	return crawlers, nil
}

func newCrawler(pattern string, tags []string) (crawler, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return crawler{}, err
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return crawler{}, err
	}
	return crawler{
		pattern:  compiled,
		ai:       slices.Contains(tags, aiTag),
		literals: requiredLiterals(tree.Simplify(), keyBytes),
	}, nil
}

// rows yields the fields of each line that is no comment. A table without rows,
// or with a line that has not the number of fields, is an error.
func rows(tsv string, fields int) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		number, found := 0, false
		for line := range strings.Lines(tsv) {
			number++
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "#") {
				continue
			}
			row := strings.Split(line, "\t")
			if len(row) != fields || row[0] == "" {
				yield(nil, fmt.Errorf("line %d: %q: want %d fields, the first not empty", number, line, fields))
				return
			}
			found = true
			if !yield(row, nil) {
				return
			}
		}
		if !found {
			yield(nil, errors.New("no rows"))
		}
	}
}
