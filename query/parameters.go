package query

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"time"

	"footfall/internal/api"
	"footfall/sketch"
)

// parameters are what the query string of an export asks for.
type parameters struct {
	within   sketch.Range
	limit    int
	offset   int
	accuracy bool // the answer says how accurate its numbers are
}

var (
	errAccuracy = errors.New("must be true or false")
	errDate     = errors.New("must be a date YYYY-MM-DD or a date-time YYYY-MM-DDTHH:MM[:SS[.fraction]], with Z, an offset ±HH:MM, or neither for UTC")
)

// parseParameters reads a query string. Unknown parameters are ignored. The
// error is a 400 that names every bad parameter and its rule.
func parseParameters(query string) (parameters, error) {
	given := api.ParseParameters(query)
	// Unbounded is more than sketch.AllDays here: a dateTo before the first of
	// those is no dateFrom after dateTo.
	p := parameters{within: sketch.Range{From: math.MinInt32, To: math.MaxInt32}}
	given.Read("dateFrom", func(s string) (err error) { p.within.From, err = ParseDate(s); return err })
	given.Read("dateTo", func(s string) (err error) { p.within.To, err = ParseDate(s); return err })
	p.limit, p.offset = given.Page()
	given.Read("accuracy", func(s string) (err error) { p.accuracy, err = parseBool(s, errAccuracy); return err })
	if given.Err() == nil && p.within.To < p.within.From {
		given.Fault(fmt.Sprintf("dateFrom must not be after dateTo: %v is after %v", p.within.From, p.within.To))
	}
	if err := given.Err(); err != nil {
		return parameters{}, err
	}
	p.within = p.within.Intersect(sketch.AllDays())
	return p, nil
}

// walkOf returns what the query strings of the pages of one walk have in common: a
// SHA-256 of the parameters but offset and limit, as they came and in their order,
// also of those that are ignored. A page of the same range with the parameters in
// another order belongs to another walk; telling what means the same would be one
// more rule, and no client that walks changes it.
func walkOf(query string) [sha256.Size]byte {
	digest := sha256.New()
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		switch api.Unescape(name) {
		case "offset", "limit":
		default:
			if pair != "" { // Else offset=50 alone would not follow a query without any.
				_, _ = io.WriteString(digest, pair+"&")
			}
		}
	}
	return [sha256.Size]byte(digest.Sum(nil))
}

// dateShape holds a date to the shape that the API promises; what the digits may
// be is for time.Parse, which by itself would take one-digit hours and commas.
var dateShape = regexp.MustCompile(`^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?)?$`)

// ParseDate returns the UTC day that a date or date-time falls in.
func ParseDate(s string) (sketch.Day, error) {
	// A plus sign that was not escaped in the query string arrives as a space.
	s = strings.ReplaceAll(s, " ", "+")
	if !dateShape.MatchString(s) {
		return 0, errDate
	}
	for _, layout := range []string{
		"2006-01-02",
		"2006-01-02T15:04",
		"2006-01-02T15:04Z07:00",
		"2006-01-02T15:04:05",
		"2006-01-02T15:04:05Z07:00",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return sketch.DayOf(t), nil
		}
	}
	return 0, errDate
}

func parseBool(s string, rule error) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, rule // ParseBool would take T and 1 as well.
}
