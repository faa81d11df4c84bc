package api

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// The bounds of a page of rows, wherever an endpoint has pages.
const (
	DefaultLimit = 50
	MaxLimit     = 250
)

var (
	errRepeated = errors.New("must be given once")
	errLimit    = fmt.Errorf("must be a whole number from 1 to %d", MaxLimit)
	errOffset   = errors.New("must be a whole number from 0 to 9223372036854775807")
)

// Parameters are those of a query string, and what is wrong with them.
type Parameters struct {
	values map[string][]string
	faults []string
}

// ParseParameters takes a query string apart. url.ParseQuery would refuse all of it
// for one bad escape or semicolon, without a name, and also where it stands in a
// parameter that is to be ignored. Here what does not unescape stays as it is:
// it keeps its percent sign, which no rule of a parameter takes.
func ParseParameters(query string) *Parameters {
	values := make(map[string][]string)
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name = Unescape(name)
		values[name] = append(values[name], Unescape(value))
	}
	return &Parameters{values: values}
}

// Read calls parse with the value of a parameter that was given. What parse says is
// wrong, or that it was given twice, is remembered under the parameter's name.
func (p *Parameters) Read(name string, parse func(string) error) {
	given, present := p.values[name]
	if !present {
		return
	}
	err := errRepeated
	if len(given) == 1 {
		err = parse(given[0])
	}
	if err != nil {
		p.Fault(fmt.Sprintf("%s %v", name, err))
	}
}

// Page reads limit and offset, the bounds of a page.
func (p *Parameters) Page() (limit, offset int) {
	limit = DefaultLimit
	p.Read("limit", func(s string) (err error) { limit, err = parseNumber(s, 1, MaxLimit, errLimit); return err })
	p.Read("offset", func(s string) (err error) { offset, err = parseNumber(s, 0, 1<<63-1, errOffset); return err })
	return limit, offset
}

// Fault remembers that something is wrong.
func (p *Parameters) Fault(text string) { p.faults = append(p.faults, text) }

// Err returns nil, or a 400 that names every parameter that is wrong and its rule.
func (p *Parameters) Err() error {
	if len(p.faults) == 0 {
		return nil
	}
	return BadRequest("a parameter is not valid: "+strings.Join(p.faults, "; "), p.faults...)
}

// Unescape returns a part of a query string without its escapes, or as it is where
// one is none.
func Unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

func parseNumber(s string, least, most int, rule error) (int, error) {
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, rule // Atoi would take a sign.
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, rule
	}
	return n, nil
}
