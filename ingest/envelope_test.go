package ingest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"footfall/ingest"
	"footfall/internal/access"
	"footfall/internal/forwarded"
	"footfall/sketch"
)

// envelope returns an event in its envelope, the payload as an object or as text.
func envelope(eventType, payload string, asText bool) string {
	if asText {
		text, err := json.Marshal(payload)
		if err != nil {
			panic(err)
		}
		payload = string(text)
	}
	return fmt.Sprintf(`{"eventType":%q,"payload":%s}`, eventType, payload)
}

func TestEnvelope(t *testing.T) {
	const view = "docs.content.view"
	user := `{"event_id":"e1","user_id":"u1","anon_id":"a1","session_id":"s","created_at":"2026-02-28T10:00:00Z","path":"/guides/","user_agent":"` + browser + `","ip":"192.0.2.1"}`
	anonymous := `{"user_id":null,"anon_id":"a1","created_at":"2026-02-28T10:00:00Z","path":"/guides","user_agent":"` + agent + `"}`
	address := `{"user_id":"","path":"/","user_agent":"` + browser + `","ip":"192.0.2.1"}`
	tests := []struct {
		name  string
		text  string
		same  string // an event that must make the same visit; empty where none is made
		fault string
	}{
		{"of a user", envelope(view, user, false), `{"path":"/guides","visitorId":"u1","traffic":"human","timestamp":"2026-02-28T00:00:00Z"}`, ""},
		{"as text", envelope(view, user, true), `{"path":"/guides","visitorId":"u1","traffic":"human","timestamp":"2026-02-28T00:00:00Z"}`, ""},
		{"anonymous", envelope(view, anonymous, false), `{"path":"/guides","visitorId":"a1","traffic":"ai","timestamp":"2026-02-28T00:00:00Z"}`, ""},
		{"by address", envelope(view, address, false), `{"path":"/","ip":"192.0.2.1","userAgent":"` + browser + `"}`, ""},
		{"of another type", envelope("docs.search.query", `{"query":"x"}`, false), "", ""},
		{"of a crawler", envelope(view, `{"user_id":"u","path":"/","user_agent":"`+crawler+`"}`, false), "", ""},
		{"without payload", `{"eventType":"docs.content.view"}`, "", "payload is required with eventType docs.content.view"},
		{"with a number for a payload", `{"eventType":"docs.content.view","payload":1}`, "", "payload must be a string, not a number"},
		{"with a broken payload", envelope(view, `{"path":`, true), "", "payload: not JSON from byte 8 on: unexpected EOF"},
		{"without a path", envelope(view, `{"user_id":"u","user_agent":"x"}`, false), "", "path is required"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := newInlet(t)
			a := in.post(asLines, test.text)
			got := in.committed.visits()
			switch {
			case test.fault != "":
				if a.status != http.StatusBadRequest || len(a.Errors) != 1 || a.Errors[0].Error != test.fault {
					t.Errorf("status %d: %s, want %q", a.status, a.text, test.fault)
				}
			case test.same == "":
				if a.status != http.StatusAccepted || a.Ignored != 1 || len(got) != 0 {
					t.Errorf("status %d: %s", a.status, a.text)
				}
			default:
				in.post(asLines, test.same)
				want := in.committed.visits()
				if len(got) != 1 || len(want) != 1 || got[0] != want[0] {
					t.Errorf("made %+v, want %+v: %s", got, want, a.text)
				}
			}
		})
	}
}

// TestImportFormats imports a line of each format that an import takes, all of
// one visitor behind a proxy, who must count once.
func TestImportFormats(t *testing.T) {
	const ua = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	lines := []string{
		`198.51.100.7 - - [28/Feb/2026:10:00:00 +0000] "GET /guides/ HTTP/1.1" 200 10 "-" "` + ua + `"`,
		`10.0.0.1 - - [28/Feb/2026:10:00:00 +0000] "GET /guides HTTP/1.1" 200 10 "-" "` + ua + `" "203.0.113.9, 198.51.100.7"`,
		`{"time_iso8601":"2026-02-28T10:00:00+00:00","remote_addr":"10.0.0.1","request":"GET /guides?x=1 HTTP/1.1","status":"200","http_user_agent":"` + ua + `","http_x_forwarded_for":"198.51.100.7"}`,
		`{"level":"info","ts":1772272800.5,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"198.51.100.7","client_ip":"198.51.100.7","proto":"HTTP/2.0","method":"GET","host":"docs.example.com","uri":"/guides","headers":{"User-Agent":["` + ua + `"]}},"status":200}`,
	}
	project := access.Project{ID: "docs", Number: 1, Secret: [16]byte{1}}
	for i, line := range lines {
		committed := new(batches)
		report, err := newPipeline(t, committed).Import(t.Context(), project, ingest.Chunk{
			Source:  sketch.SourceOf([]byte(line)),
			Data:    []byte(line + "\n"),
			End:     true,
			Trusted: forwarded.Trusted{netip.MustParsePrefix("10.0.0.0/8")},
		})
		visits := committed.visits()
		if err != nil || report.Human != 1 || len(visits) != 1 {
			t.Errorf("line %d: %+v (%v)", i, report, err)
			continue
		}
		first := new(batches)
		if _, err := newPipeline(t, first).Import(t.Context(), project, ingest.Chunk{
			Source: sketch.SourceOf([]byte(lines[0])), Data: []byte(lines[0] + "\n"), End: true,
		}); err != nil {
			t.Fatal(err)
		}
		if want := first.visits(); visits[0] != want[0] {
			t.Errorf("line %d makes %+v, want %+v", i, visits[0], want[0])
		}
	}
}

// TestImportEvents imports exported events, among them ones that are ignored, of
// another type and broken.
func TestImportEvents(t *testing.T) {
	data := envelope("docs.content.view", `{"user_id":"u1","path":"/","user_agent":"`+browser+`"}`, false) + "\n" +
		envelope("docs.content.view", `{"anon_id":"u2","path":"/","user_agent":"`+agent+`"}`, true) + "\n" +
		envelope("docs.search.query", `{}`, false) + "\n" +
		envelope("docs.content.view", `{"anon_id":"u2","user_agent":"x"}`, false) + "\n"
	committed := new(batches)
	report, err := newPipeline(t, committed).Import(t.Context(), access.Project{Number: 1}, ingest.Chunk{
		Source: sketch.SourceOf([]byte(data)), Data: []byte(data), End: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Lines != 4 || report.Human != 1 || report.AI != 1 || report.Malformed != 1 ||
		report.MalformedLines[0] != 4 || report.Ignored[ingest.IgnoredNotViewOrCrawler] != 1 {
		t.Errorf("the report is %+v", report)
	}
	if n := len(committed.visits()); n != 2 {
		t.Errorf("%d visits, want 2", n)
	}
}

// TestCutOffBehindProxies: where proxies are trusted, a line that ends after its
// user agent may lack the client, and is left until it has its end.
func TestCutOffBehindProxies(t *testing.T) {
	const line = `10.0.0.1 - - [28/Feb/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 10 "-" "` + browser + `"`
	for text, want := range map[string]int64{line: 0, line + ` "198.51`: 0, line + ` "198.51.100.7"`: 1} {
		report, err := newPipeline(t, new(batches)).Import(t.Context(), access.Project{Number: 1}, ingest.Chunk{
			Source: sketch.SourceOf([]byte(text)), Data: []byte(text), End: true,
			Trusted: forwarded.Trusted{netip.MustParsePrefix("10.0.0.0/8")},
		})
		if err != nil || report.Human != want {
			t.Errorf("%q: %d views, want %d (%v)", text, report.Human, want, err)
		}
	}
}
