package query_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/query"
	"footfall/sketch"
)

func day(t *testing.T, s string) sketch.Day {
	t.Helper()
	d, err := sketch.ParseDay(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Each as it stands in a query string, and the UTC day it falls in.
var dates = []struct{ text, day string }{
	{"2026-01-31", "2026-01-31"},
	{"2024-02-29", "2024-02-29"},
	{"2000-01-01", "2000-01-01"},
	{"9999-12-31", "9999-12-31"},

	{"2026-01-31T00:00", "2026-01-31"},
	{"2026-01-31T23:59", "2026-01-31"},
	{"2026-01-31T23:59:59", "2026-01-31"},
	{"2026-01-31T23:59:59.9", "2026-01-31"},
	{"2026-01-31T23:59:59.999999999999", "2026-01-31"},

	{"2026-01-31T00:00Z", "2026-01-31"},
	{"2026-01-31T23:59Z", "2026-01-31"},
	{"2026-01-31T23:59:59Z", "2026-01-31"},
	{"2026-01-31T23:59:59.999Z", "2026-01-31"},

	{"2026-01-31T00:30%2B01:00", "2026-01-30"},
	{"2026-01-31T00:30-01:00", "2026-01-31"},
	{"2026-01-31T23:30-01:00", "2026-02-01"},
	{"2026-01-31T23:30:00-01:00", "2026-02-01"},
	{"2026-01-31T23:30:00.5-01:00", "2026-02-01"},
	{"2026-01-31T05:29:59%2B05:30", "2026-01-30"},
	{"2026-01-31T05:30:00%2B05:30", "2026-01-31"},
	{"2026-01-31T23:59%2B23:59", "2026-01-31"},
	{"2026-01-31T23:58%2B23:59", "2026-01-30"},
	{"2026-01-31T00:00-23:59", "2026-01-31"},
	{"2026-01-31T00:01-23:59", "2026-02-01"},
	{"2026-01-31T00:00-00:00", "2026-01-31"},
	{"2025-12-31T23:00:00-02:00", "2026-01-01"},

	// A plus sign that was not escaped arrives as a space.
	{"2026-01-31T00:30+01:00", "2026-01-30"},
	{"2026-01-31T00:30%2001:00", "2026-01-30"},
	{"2026-01-31T00:30:00.25+01:00", "2026-01-30"},
	{"%32%30%32%36-01-31T00%3A30%3a00Z", "2026-01-31"},
}

var wrongDates = []string{
	"", "+", "%20", "now", "today", "null", "0", "1769817600", "-1",
	"2026", "2026-01", "2026-1-31", "2026-01-1", "26-01-31", "02026-01-31", "-2026-01-31", "%2B2026-01-31", "+2026-01-31",
	"10000-01-01", "12026-01-01",
	"2026-00-10", "2026-13-01", "2026-01-00", "2026-01-32", "2026-02-29", "2026-02-30", "2026-04-31", "1900-02-29",
	"20260131", "2026/01/31", "2026.01.31", "31-01-2026", "01/31/2026", "2026-W05-6", "2026-W05", "2026-031",
	"%202026-01-31", "2026-01-31%20", "2026-01-31+", "2026-01-31%0A", "2026-01-31%00",
	"2026-01-31Z", "2026-01-31%2B01:00", "2026-01-31+01:00", "2026-01-31T", "2026-01-31TZ", "2026-01-31T12", "2026-01-31T12Z",
	"2026-01-31T1:00", "2026-01-31T01:0", "2026-01-31T01:00:0", "2026-01-31T1:00:00Z", "2026-01-31T0100", "2026-01-31T010000Z",
	"2026-01-31T24:00", "2026-01-31T24:00:00Z", "2026-01-31T12:60", "2026-01-31T12:00:60", "2026-01-31T23:59:60Z",
	"2026-01-31t12:00", "2026-01-31t12:00:00Z", "2026-01-31T12:00z", "2026-01-31T12:00:00z", "2026-01-31%2012:00", "2026-01-31+12:00:00",
	"2026-01-31T12:00:00.", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00,5", "2026-01-31T12:00:00,5Z", "2026-01-31T12:00.5",
	"2026-01-31T12:00:00.5.5Z", "2026-01-31T12:00:00:00Z", "2026-01-31T12:00:00%2B1:00", "2026-01-31T12:00:00%2B01", "2026-01-31T12:00:00%2B0100",
	"2026-01-31T12:00:00%2B24:00", "2026-01-31T12:00:00%2B01:60", "2026-01-31T12:00:00%2B01:00:00", "2026-01-31T12:00:00Z%2B01:00",
	"2026-01-31T12:00:00%20%2001:00", "2026-01-31T12:00:00%E2%88%9201:00", "2026-01-31T12:00:00UTC", "2026-01-31T12:00:00+UTC",
	"2026-01-31T12:00:00[Europe/Berlin]", "2026-01-31,2026-02-01", "2026-01-31/2026-02-01", "2026-01-31T12:00:00Z;",
	"%EF%BC%92026-01-31", "%D9%A2026-01-31", "%zz", "2026-01-31%", "2026-01-31%2", "2026-02-30T12:00", "2026-02-30T12:00:00Z",
}

func TestDates(t *testing.T) {
	ranker := new(ranks)
	s := newSite(t, ranker)
	for _, date := range dates {
		want := day(t, date.day)
		if status, text := s.get("dateFrom=" + date.text); status != http.StatusOK {
			t.Errorf("dateFrom=%s: status %d: %s", date.text, status, text)
		} else if ranker.within.From != want || ranker.within.To != sketch.AllDays().To {
			t.Errorf("dateFrom=%s asks for %v", date.text, ranker.within)
		}
		if status, text := s.get("dateTo=" + date.text); status != http.StatusOK {
			t.Errorf("dateTo=%s: status %d: %s", date.text, status, text)
		} else if ranker.within.From != sketch.FirstDay || ranker.within.To != want {
			t.Errorf("dateTo=%s asks for %v", date.text, ranker.within)
		}
	}
}

func TestWrongDates(t *testing.T) {
	ranker := new(ranks)
	s := newSite(t, ranker)
	for _, name := range []string{"dateFrom", "dateTo"} {
		for _, text := range wrongDates {
			status, body := s.get(name + "=" + text)
			if status != http.StatusBadRequest {
				t.Errorf("%s=%q: status %d", name, text, status)
				continue
			}
			checkDetails(t, body, name+" must be a date YYYY-MM-DD")
		}
	}
	if ranker.asked > 0 {
		t.Errorf("the ranker was asked %d times", ranker.asked)
	}
}

// checkDetails holds a 400 to one detail for each of what is wrong, which begins
// with what is wanted, and an error that holds them all.
func checkDetails(t *testing.T, body string, want ...string) {
	t.Helper()
	var told struct {
		Error   string
		Details []struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var got []string
	for _, detail := range told.Details {
		got = append(got, detail.Message)
		if !strings.Contains(told.Error, detail.Message) {
			t.Errorf("the error %q is silent on %q", told.Error, detail.Message)
		}
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("details %q, want %q", got, want)
	}
}

func TestNumbers(t *testing.T) {
	ranker := &ranks{answer: func(sketch.ProjectNumber, sketch.Range) (*sketch.Ranking, error) {
		return sketch.NewRanking(1, sketch.Count{}, manyRows(300)), nil
	}}
	s := newSite(t, ranker)
	for text, want := range map[string]struct {
		rows int
		more bool
	}{
		"":                            {50, true},
		"limit=1":                     {1, true},
		"limit=50":                    {50, true},
		"limit=250":                   {250, true},
		"limit=%32":                   {2, true},
		"limit=250&offset=0":          {250, true},
		"limit=250&offset=49":         {250, true},
		"limit=250&offset=50":         {250, false},
		"limit=250&offset=51":         {249, false},
		"offset=250":                  {50, false},
		"offset=249":                  {50, true},
		"offset=299":                  {1, false},
		"offset=300":                  {0, false},
		"offset=301":                  {0, false},
		"offset=9223372036854775807":  {0, false},
		"limit=1&offset=299&limit2=x": {1, false},
	} {
		status, body := s.get(text)
		var page query.Page
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
			t.Errorf("%s: status %d, %v: %s", text, status, err, body)
			continue
		}
		if len(page.Visitors) != want.rows || page.HasMore != want.more {
			t.Errorf("%s: %d rows, more %v; want %d, %v", text, len(page.Visitors), page.HasMore, want.rows, want.more)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "251", "1000", "1.0", "1e2", "+5", "%2B5", "%205", "5%20", "0x10", "1_0", "five", "9223372036854775808", "5%00", "٥", "5;", "%",
	} {
		status, body := s.get("limit=" + text)
		if status != http.StatusBadRequest {
			t.Errorf("limit=%s: status %d", text, status)
			continue
		}
		checkDetails(t, body, "limit must be a whole number from 1 to 250")
	}
	for _, text := range []string{
		"", "-1", "-0", "1.0", "1e2", "+5", "%2B5", "%205", "0x10", "all", "9223372036854775808", "99999999999999999999", "%zz",
	} {
		status, body := s.get("offset=" + text)
		if status != http.StatusBadRequest {
			t.Errorf("offset=%s: status %d", text, status)
			continue
		}
		checkDetails(t, body, "offset must be a whole number from 0")
	}
}

func TestRanges(t *testing.T) {
	all := sketch.AllDays()
	span := func(from, to string) sketch.Range { return sketch.Range{From: day(t, from), To: day(t, to)} }
	tests := []struct {
		query string
		want  sketch.Range // empty in both senses: any empty range will do
	}{
		{"", all},
		{"dateFrom=2026-01-01&dateTo=2026-02-01", span("2026-01-01", "2026-02-01")},
		{"dateTo=2026-02-01&dateFrom=2026-01-01", span("2026-01-01", "2026-02-01")},
		{"dateFrom=2026-01-01T23:59:59.9&dateTo=2026-01-02T00:00", span("2026-01-01", "2026-01-02")},
		{"dateFrom=1999-12-31&dateTo=2000-01-02", span("2000-01-01", "2000-01-02")},
		{"dateFrom=0000-01-01&dateTo=9999-12-31", span("2000-01-01", "9999-12-31")},
		{"dateFrom=0000-01-01T00:00%2B23:59", all},
		{"dateTo=9999-12-31T23:59-23:59", all},
		// Equal after truncation to days, whatever their order was before.
		{"dateFrom=2026-01-01&dateTo=2026-01-01", sketch.Range{}},
		{"dateFrom=2026-01-01T23:00&dateTo=2026-01-01T01:00", sketch.Range{}},
		{"dateFrom=2026-01-02T00:30%2B01:00&dateTo=2026-01-01", sketch.Range{}},
		// All of it before the first day, or after the last: nobody was there.
		{"dateTo=2000-01-01", sketch.Range{}},
		{"dateTo=1999-12-31", sketch.Range{}},
		{"dateTo=0000-01-01T00:00%2B23:59", sketch.Range{}},
		{"dateFrom=9999-12-31T23:59-23:59", sketch.Range{}},
		{"dateFrom=1990-01-01&dateTo=1991-01-01", sketch.Range{}},
	}
	ranker := new(ranks)
	s := newSite(t, ranker)
	for _, test := range tests {
		status, body := s.get(test.query)
		if status != http.StatusOK {
			t.Errorf("%s: status %d: %s", test.query, status, body)
			continue
		}
		if ranker.within != test.want && (!ranker.within.Empty() || !test.want.Empty()) {
			t.Errorf("%s asks for %v, want %v", test.query, ranker.within, test.want)
		}
		if ranker.number != s.project.Number {
			t.Errorf("%s asks for project %d, want %d", test.query, ranker.number, s.project.Number)
		}
	}
	for _, reversed := range []string{
		"dateFrom=2026-01-02&dateTo=2026-01-01",
		"dateFrom=2026-01-02T00:00&dateTo=2026-01-01T23:59",
		"dateFrom=2026-01-01T23:30-01:00&dateTo=2026-01-01",
		"dateFrom=9999-12-31&dateTo=0000-01-01",
		"dateFrom=1991-01-01&dateTo=1990-01-01",
	} {
		status, body := s.get(reversed)
		if status != http.StatusBadRequest {
			t.Errorf("%s: status %d", reversed, status)
			continue
		}
		checkDetails(t, body, "dateFrom must not be after dateTo")
	}
}

func TestEveryBadParameterIsNamed(t *testing.T) {
	s := newSite(t, new(ranks))
	tests := []struct {
		query string
		want  []string
	}{
		{"dateFrom=x&dateTo=y&limit=0&offset=-1", []string{"dateFrom must be", "dateTo must be", "limit must be", "offset must be"}},
		{"offset=&limit=&dateTo=&dateFrom=", []string{"dateFrom must be", "dateTo must be", "limit must be", "offset must be"}},
		{"offset&limit&dateTo&dateFrom", []string{"dateFrom must be", "dateTo must be", "limit must be", "offset must be"}},
		{"dateFrom=2026-01-01&dateFrom=2026-01-01", []string{"dateFrom must be given once"}},
		{"dateFrom=2026-01-01&dateFrom=", []string{"dateFrom must be given once"}},
		{"dateFrom=x&dateTo=2026-01-01&limit=5&limit=5&offset=0", []string{"dateFrom must be a date", "limit must be given once"}},
		{"offset=0&offset=1&dateTo=2026-02-30", []string{"dateTo must be a date", "offset must be given once"}},
		{"limit=1&limi%74=2", []string{"limit must be given once"}},
		// A bad date is not compared with another.
		{"dateFrom=2026-01-02&dateTo=2026-02-30", []string{"dateTo must be a date"}},
		{"dateFrom=2026-01-02&dateTo=2026-01-01&limit=x", []string{"limit must be"}},
		// Bad percent-encoding is a bad value of that parameter.
		{"dateFrom=%zz&limit=0", []string{"dateFrom must be a date", "limit must be"}},
		{"limit=5%&offset=-1", []string{"limit must be", "offset must be"}},
		{"limit=5;offset=2", []string{"limit must be"}},
		{"accuracy=1&limit=x", []string{"limit must be", "accuracy must be true or false"}},
		{"accuracy=true&accuracy=true", []string{"accuracy must be given once"}},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			status, body := s.get(test.query)
			if status != http.StatusBadRequest {
				t.Fatalf("status %d", status)
			}
			checkDetails(t, body, test.want...)
		})
	}
}

func TestUnknownParametersAreIgnored(t *testing.T) {
	ranker := new(ranks)
	s := newSite(t, ranker)
	for _, text := range []string{
		"page=2", "Limit=0", "LIMIT=0", "datefrom=x", "date_from=x", "from=x", "utm_source=a&utm_source=b", "limit[]=0", "a=b;c=d",
		"=", "&", "&&&", "=x", "x", "x=%zz", "%zz=x", "%zz", "limit%zz=0", "%20limit=0",
	} {
		if status, body := s.get(text); status != http.StatusOK || ranker.within != sketch.AllDays() {
			t.Errorf("%s: status %d, asks for %v: %s", text, status, ranker.within, body)
		}
	}
}

// Whatever the query string is, the answer is a page or names what is wrong, and
// the ranker is asked for days that can be.
func FuzzParameters(f *testing.F) {
	for _, date := range dates {
		f.Add("dateFrom=" + date.text)
	}
	for _, text := range wrongDates {
		f.Add("dateTo=" + text)
	}
	f.Add("limit=250&offset=9223372036854775807&dateFrom=2026-01-01&dateTo=2026-01-02")
	f.Add("limit=0&limit=1;offset=%zz&&=&dateFrom")
	f.Fuzz(func(t *testing.T, text string) {
		ranker := &ranks{answer: func(sketch.ProjectNumber, sketch.Range) (*sketch.Ranking, error) {
			return sketch.NewRanking(1, sketch.Count{}, manyRows(300)), nil
		}}
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.URL = &url.URL{Path: "/", RawQuery: text}
		exports := query.New(query.Options{Ranker: ranker})
		defer ranker.checkClosed(t)
		defer exports.Close()
		err := exports.Visitors(recorder, request, access.Project{Number: 7})
		if err != nil {
			if ranker.asked > 0 {
				t.Fatalf("refused with %v after the ranker was asked", err)
			}
			return
		}
		var page query.Page
		if err := json.Unmarshal(recorder.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		if len(page.Visitors) > api.MaxLimit {
			t.Fatalf("%d rows", len(page.Visitors))
		}
		if w := ranker.within; w.From < sketch.FirstDay || w.To > sketch.AllDays().To {
			t.Fatalf("asked for %v", w)
		}
	})
}
