package useragent

import (
	"slices"
	"strings"
)

// tables are both tables and the index of their literals.
type tables struct {
	agents   []agent
	crawlers []crawler
	index    index
	// unindexed are the crawlers whose literals are not known: tried always.
	unindexed []int
}

func newTables(agents []agent, crawlers []crawler) *tables {
	t := &tables{agents: agents, crawlers: crawlers}
	for i, a := range agents {
		t.index.add(literal{text: a.token, row: i})
	}
	for i, c := range crawlers {
		for _, text := range c.literals {
			t.index.add(literal{text: text, row: len(agents) + i})
		}
		if c.literals == nil {
			t.unindexed = append(t.unindexed, i)
		}
	}
	return t
}

// classify answers what trying every row of both tables would: AI when an agent
// or a crawler tagged ai-crawler matches, wherever in the file it stands; else Crawler when any
// crawler matches; else Human. Taking the first crawler in the order of the file
// instead would hang on that order, which is that of the dates of their addition: an AI agent built on a
// library that was listed earlier would be ignored.
func (t *tables) classify(userAgent string) Class {
	class := Human
	for _, i := range t.unindexed {
		class = t.crawlers[i].classify(userAgent, class)
		if class == AI {
			return AI
		}
	}
	// A literal can stand in a user agent many times; its expression runs once.
	tried := make([]int, 0, 16)
	for at := 0; at+keyBytes <= len(userAgent); at++ {
		for _, l := range t.index.candidates(userAgent[at:]) {
			if l.row < len(t.agents) {
				if isToken(userAgent, at, l.text) {
					return AI
				}
				continue
			}
			if !strings.HasPrefix(userAgent[at:], l.text) || slices.Contains(tried, l.row) {
				continue
			}
			tried = append(tried, l.row)
			class = t.crawlers[l.row-len(t.agents)].classify(userAgent, class)
			if class == AI {
				return AI
			}
		}
	}
	return class
}

// classify returns what the user agent is, given that it is class by other rows.
func (c *crawler) classify(userAgent string, class Class) Class {
	switch {
	case class == Crawler && !c.ai, !c.pattern.MatchString(userAgent):
		return class
	case c.ai:
		return AI
	default:
		return Crawler
	}
}

// isToken reports whether token stands in text at a place, in any case and not
// as a part of a longer word.
func isToken(text string, at int, token string) bool {
	end := at + len(token)
	return end <= len(text) &&
		strings.EqualFold(text[at:end], token) &&
		(at == 0 || !isWord(text[at-1])) &&
		(end == len(text) || !isWord(text[end]))
}

// isWord reports whether a byte continues a word. A byte beyond ASCII does: it
// is a part of a letter far more often than of a sign.
func isWord(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= 0x80
}
