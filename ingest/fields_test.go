package ingest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"footfall/internal/access/accesstest"
	"footfall/sketch"
)

func TestFieldsThatAreRefused(t *testing.T) {
	in := newInlet(t)
	const (
		required  = "path is required"
		control   = "path must not contain control characters"
		tooLong   = "path must have at most 1,024 bytes"
		who       = "visitorId, or ip and userAgent together, is required"
		visitorID = "visitorId must have 1 to 256 bytes"
		ip        = "ip must be an IPv4 or IPv6 address"
		traffic   = "traffic must be human or ai"
		noTraffic = "traffic, or userAgent from which it is derived, is required"
		timestamp = "timestamp must be a date and time as RFC 3339 has it"
		early     = "timestamp must not be before 2000-01-01"
		ahead     = "timestamp must not be more than 24 hours ahead"
	)
	type changes = map[string]any
	address := func(ip, userAgent any) changes {
		return changes{"visitorId": nil, "ip": ip, "userAgent": userAgent}
	}
	tests := []struct {
		changes changes
		want    string
	}{
		{changes{"path": nil}, required},
		{changes{"path": ""}, required},
		{changes{"path": "/a\nb"}, control},
		{changes{"path": "/a\x00"}, control},
		{changes{"path": "/a\x7f"}, control},
		{changes{"path": "/a\u0085"}, control},
		{changes{"path": "/a\u009b"}, control},
		{changes{"path": "/a%00"}, control},
		{changes{"path": "/a%0Ab"}, control},
		{changes{"path": "/a%1fb"}, control},
		{changes{"path": "/a%7F"}, control},
		{changes{"path": "/a%C2%85"}, control},
		{changes{"path": "/" + strings.Repeat("x", 1024)}, tooLong},
		{changes{"path": strings.Repeat("x", 1024)}, tooLong},
		{changes{"path": "/" + strings.Repeat("x", 1024) + "/"}, tooLong},
		{changes{"path": "/" + strings.Repeat("x", 1022) + "/x"}, tooLong},
		{changes{"path": "/" + strings.Repeat("ö", 512)}, tooLong},
		{changes{"path": "/" + strings.Repeat(" ", 342)}, tooLong}, // 1,027 bytes once escaped

		{changes{"visitorId": nil}, who},
		{changes{"visitorId": ""}, visitorID},
		{changes{"visitorId": strings.Repeat("v", 257)}, visitorID},
		{changes{"visitorId": strings.Repeat("ö", 128) + "v"}, visitorID},
		{changes{"visitorId": "", "ip": "192.0.2.1", "userAgent": browser}, visitorID},
		{address("192.0.2.1", nil), who},
		{address(nil, browser), who},
		{address("", browser), who},
		{address("192.0.2.1", ""), who},
		{address("192.0.2", browser), ip},
		{address("192.0.2.256", browser), ip},
		{address("192.0.2.01", browser), ip},
		{address("192.0.2.1:80", browser), ip},
		{address("192.0.2.0/24", browser), ip},
		{address(" 192.0.2.1", browser), ip},
		{address("[2001:db8::1]", browser), ip},
		{address("2001:db8:::1", browser), ip},
		{address("localhost", browser), ip},

		{changes{"traffic": nil}, noTraffic},
		{changes{"traffic": nil, "userAgent": ""}, noTraffic},
		{changes{"traffic": ""}, traffic},
		{changes{"traffic": "bot"}, traffic},
		{changes{"traffic": "Human"}, traffic},
		{changes{"traffic": "ai "}, traffic},
		{changes{"traffic": "", "userAgent": browser}, traffic},

		{changes{"timestamp": ""}, timestamp},
		{changes{"timestamp": "2026-02-28"}, timestamp},
		{changes{"timestamp": "2026-02-28T12:00:00"}, timestamp},
		{changes{"timestamp": "2026-02-28T12:00Z"}, timestamp},
		{changes{"timestamp": "2026-02-28 12:00:00Z"}, timestamp},
		{changes{"timestamp": "2026-02-28T1:00:00Z"}, timestamp},
		{changes{"timestamp": "2026-02-28T12:00:00,5Z"}, timestamp},
		{changes{"timestamp": "2026-02-28T12:00:00.Z"}, timestamp},
		{changes{"timestamp": "2026-02-28T12:00:00+0100"}, timestamp},
		{changes{"timestamp": "2026-02-28T12:00:00+24:00"}, timestamp},
		{changes{"timestamp": "2026-02-28T12:00:00+01:60"}, timestamp},
		{changes{"timestamp": "2026-02-28T24:00:00Z"}, timestamp},
		{changes{"timestamp": "2026-02-30T12:00:00Z"}, timestamp},
		{changes{"timestamp": "2026-02-29T12:00:00Z"}, timestamp},
		{changes{"timestamp": " 2026-02-28T12:00:00Z"}, timestamp},
		{changes{"timestamp": "1772366400"}, timestamp},
		{changes{"timestamp": "Sat, 28 Feb 2026 12:00:00 GMT"}, timestamp},
		{changes{"timestamp": "1999-12-31T23:59:59.999999999Z"}, early},
		{changes{"timestamp": "2000-01-01T00:59:59+01:00"}, early},
		{changes{"timestamp": "0001-01-01T00:00:00Z"}, early},
		{changes{"timestamp": "2026-03-02T12:00:00.000000001Z"}, ahead},
		{changes{"timestamp": "2026-03-02T13:00:01+01:00"}, ahead},
		{changes{"timestamp": "9999-12-31T23:59:59Z"}, ahead},

		// Wrong types name the field.
		{changes{"path": 5}, "path must be a string, not a number"},
		{changes{"path": []string{"/"}}, "path must be a string, not an array"},
		{changes{"visitorId": 12345}, "visitorId must be a string, not a number"},
		{changes{"visitorId": map[string]any{"a": 1}}, "visitorId must be a string, not an object"},
		{changes{"traffic": true}, "traffic must be a string, not a boolean"},
		{changes{"timestamp": 1772366400}, "timestamp must be a string, not a number"},
		{changes{"ip": 1.5}, "ip must be a string, not a number"},
		{changes{"userAgent": false}, "userAgent must be a string, not a boolean"},
	}
	for _, test := range tests {
		body := event(test.changes)
		t.Run(body[:min(len(body), 100)], func(t *testing.T) {
			a := in.post(asJSON, body)
			if a.status != http.StatusBadRequest || a.Rejected != 1 || a.Accepted != 0 || len(a.Errors) != 1 {
				t.Fatalf("status %d: %s", a.status, a.text)
			}
			if a.Errors[0].Index != 0 || !strings.HasPrefix(a.Errors[0].Error, test.want) {
				t.Errorf("%+v, want %q", a.Errors[0], test.want)
			}
			if visits := in.committed.visits(); len(visits) != 0 {
				t.Errorf("committed %v", visits)
			}
		})
	}
}

// Text that is no UTF-8, in the two ways that JSON can hold it.
func TestInvalidUTF8(t *testing.T) {
	in := newInlet(t)
	good := event(nil)
	for _, text := range []string{"a\xffb", "\xc3", "\xed\xa0\x80", `\ud800`, `\udc00\ud800`, `a\uDBFFb`} {
		for name, bad := range map[string]string{
			"path":      `{"path":"/` + text + `","visitorId":"v","traffic":"human"}`,
			"visitorId": `{"path":"/","visitorId":"` + text + `","traffic":"human"}`,
			"userAgent": `{"path":"/","ip":"192.0.2.1","userAgent":"` + text + `"}`,
		} {
			for _, test := range []struct{ form, contentType, body string }{
				{"object", asJSON, bad},
				{"array", asJSON, "[" + good + "," + bad + "]"},
				{"lines", asLines, good + "\n" + bad},
			} {
				a := in.post(test.contentType, test.body)
				accepted := strings.Count(test.body, good)
				if a.Accepted != accepted || a.Rejected != 1 || len(a.Errors) != 1 ||
					a.Errors[0].Index != accepted || a.Errors[0].Error != name+" must be valid UTF-8" {
					t.Errorf("%s with %q as %s: %s", name, text, test.form, a.text)
				}
				in.committed.visits()
			}
		}
	}
	// What is escaped, and escapes that are whole, are text.
	a := in.post(asJSON, `{"path":"/\ud83d\udc63\u00f6\/x","visitorId":"\u0000\ufffd","traffic":"human"}`)
	if visits := in.committed.visits(); a.status != http.StatusAccepted || visits[0].Path != "/👣ö/x" {
		t.Errorf("status %d, %v", a.status, visits)
	}
}

func TestTraffic(t *testing.T) {
	in := newInlet(t)
	tests := []struct {
		traffic, userAgent any
		want               sketch.Traffic
		ignored            bool
	}{
		{"human", nil, sketch.Human, false},
		{"ai", nil, sketch.AI, false},
		// What is given counts, whatever could be derived.
		{"human", agent, sketch.Human, false},
		{"ai", browser, sketch.AI, false},
		{"human", crawler, sketch.Human, false},
		{"ai", "-", sketch.AI, false},
		{nil, browser, sketch.Human, false},
		{nil, agent, sketch.AI, false},
		{nil, crawler, 0, true},
		{nil, "-", 0, true},
	}
	for _, test := range tests {
		for _, who := range []map[string]any{{}, {"visitorId": nil, "ip": "192.0.2.1"}} {
			if who["ip"] != nil && test.userAgent == nil {
				continue // Who came is not known.
			}
			who["traffic"], who["userAgent"] = test.traffic, test.userAgent
			body := event(who)
			a := in.post(asJSON, body)
			visits := in.committed.visits()
			switch {
			case a.status != http.StatusAccepted || a.Rejected != 0:
				t.Errorf("%s: status %d: %s", body, a.status, a.text)
			case test.ignored && (a.Ignored != 1 || a.Accepted != 0 || len(visits) != 0):
				t.Errorf("%s: %s, committed %v, want it ignored", body, a.text, visits)
			case !test.ignored && (a.Accepted != 1 || len(visits) != 1 || visits[0].Traffic != test.want):
				t.Errorf("%s: %s, committed %v, want %v", body, a.text, visits, test.want)
			}
		}
	}
}

func TestTimestamps(t *testing.T) {
	in := newInlet(t)
	for timestamp, want := range map[any]string{
		nil:                                   "2026-03-01",
		"2026-03-01T12:00:00Z":                "2026-03-01",
		"2026-02-28T23:59:59.999999999Z":      "2026-02-28",
		"2026-03-01T00:00:00Z":                "2026-03-01",
		"2026-03-01T00:30:00+01:00":           "2026-02-28",
		"2026-02-28T23:30:00-01:00":           "2026-03-01",
		"2026-03-01T12:00:00.123456789+00:00": "2026-03-01",
		"2024-02-29T12:00:00Z":                "2024-02-29",
		// Exactly 24 hours ahead, and the first instant there is.
		"2026-03-02T12:00:00Z":      "2026-03-02",
		"2026-03-02T13:00:00+01:00": "2026-03-02",
		"2000-01-01T00:00:00Z":      "2000-01-01",
		"1999-12-31T23:00:00-01:00": "2000-01-01",
	} {
		a := in.post(asJSON, event(map[string]any{"timestamp": timestamp}))
		visits := in.committed.visits()
		if a.status != http.StatusAccepted || len(visits) != 1 || visits[0].Day.String() != want {
			t.Errorf("%v: status %d, committed %v, want %s: %s", timestamp, a.status, visits, want, a.text)
		}
	}
}

func TestVisitors(t *testing.T) {
	in := newInlet(t)
	hash := func(changes map[string]any) sketch.Hash {
		t.Helper()
		a := in.post(asJSON, event(changes))
		visits := in.committed.visits()
		if a.status != http.StatusAccepted || len(visits) != 1 {
			t.Fatalf("%v: status %d: %s", changes, a.status, a.text)
		}
		return visits[0].Visitor
	}
	address := func(ip, userAgent string) map[string]any {
		return map[string]any{"visitorId": nil, "ip": ip, "userAgent": userAgent}
	}
	id := func(id string) map[string]any { return map[string]any{"visitorId": id} }
	long := strings.Repeat("v", 256)

	// Each is one visitor, and none is one of the others.
	groups := [][]map[string]any{
		{
			id("v"),
			{"visitorId": "v", "path": "/other", "traffic": "ai", "timestamp": "2020-01-01T00:00:00Z"},
			// An ID is enough; what else is sent does not change who it is.
			{"visitorId": "v", "ip": "192.0.2.1", "userAgent": browser},
			{"visitorId": "v", "ip": "nonsense"},
		},
		{id("V")},
		{id("v ")},
		{id("\x00")},
		{id(long)},
		{id(long[1:])},
		{id("192.0.2.1")},
		{id("192.0.2.1" + browser)},
		{id("ö")},
		{id("o\u0308")},
		{address("192.0.2.1", browser), address("::ffff:192.0.2.1", browser), address("::FFFF:C000:0201", browser)},
		{address("192.0.2.2", browser)},
		{address("192.0.2.1", agent)},
		{address("192.0.2.1", strings.ToLower(browser))},
		{address("::192.0.2.1", browser)},
		{address("2001:db8::1", browser), address("2001:0DB8:0:0:0:0:0:1", browser)},
		{address("fe80::1", browser), address("fe80::1%eth0", browser), address("fe80::1%eth1", browser)},
	}
	seen := make(map[sketch.Hash]int)
	for i, group := range groups {
		want := hash(group[0])
		if other, taken := seen[want]; taken {
			t.Errorf("%v is the same visitor as %v", group[0], groups[other][0])
		}
		seen[want] = i
		for _, same := range group {
			if got := hash(same); got != want {
				t.Errorf("%v is another visitor than %v", same, group[0])
			}
		}
	}
}

// The same visitor is another one in another project, so that nobody can follow
// them from site to site, and after a project was deleted.
func TestVisitorsOfProjectsDiffer(t *testing.T) {
	in := newInlet(t)
	accesstest.Project(t, in.registry, "wiki")
	hashes := make(map[sketch.Hash]bool)
	for _, project := range []string{"docs", "wiki", "docs"} {
		request := in.request(asJSON, strings.NewReader(event(nil)))
		request.URL.Path = fmt.Sprintf("/v1/analytics/%s/events", project)
		if a := in.do(request); a.status != http.StatusAccepted {
			t.Fatalf("status %d: %s", a.status, a.text)
		}
		hashes[in.committed.visits()[0].Visitor] = true
		if project == "wiki" {
			if _, err := in.registry.DeleteProject("docs"); err != nil {
				t.Fatal(err)
			}
			accesstest.Project(t, in.registry, "docs")
		}
	}
	if len(hashes) != 3 {
		t.Errorf("%d visitors, want 3", len(hashes))
	}
}

func TestEventsGoToTheirProject(t *testing.T) {
	in := newInlet(t)
	in.post(asJSON, event(nil))
	if len(in.committed.taken) != 1 {
		t.Fatalf("%d batches", len(in.committed.taken))
	}
	batch := in.committed.taken[0]
	if batch.Project != in.project.Number || !batch.Mark.IsZero() {
		t.Errorf("project %d, mark %+v; want project %d and no mark", batch.Project, batch.Mark, in.project.Number)
	}
}

// The text of events is gone once they are visits: only the hash is left.
func TestIdentitiesAreNotKept(t *testing.T) {
	in := newInlet(t)
	in.post(asJSON, `[`+event(map[string]any{"visitorId": "secret-visitor"})+`,`+
		event(map[string]any{"visitorId": nil, "ip": "203.0.113.99", "userAgent": browser})+`]`)
	kept := fmt.Sprintf("%+v", in.committed.taken)
	for _, identity := range []string{"secret-visitor", "203.0.113.99", "Firefox"} {
		if strings.Contains(kept, identity) {
			t.Errorf("%s was kept: %s", identity, kept)
		}
	}
}
