package agentjobs_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"footfall/agentjobs"
)

// What a client may post, to a new job and to one that there is.
func TestPrompts(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	job := b.post("say hello").ID
	const most = 32 << 10
	for name, c := range map[string]struct {
		body   string
		status int // 0 where it is taken
		says   string
	}{
		"empty body":             {"", 400, "JSON"},
		"no JSON":                {"hello", 400, "JSON"},
		"cut":                    {`{"prompt":"hello"`, 400, "JSON"},
		"more after it":          {`{"prompt":"hello"} {}`, 400, "JSON"},
		"array":                  {`["hello"]`, 400, "JSON"},
		"text":                   {`"hello"`, 400, "JSON"},
		"null":                   {`null`, 400, "prompt"},
		"missing":                {`{}`, 400, "prompt is required"},
		"other case":             {`{"Prompt":"hello"}`, 400, "prompt is required"},
		"prompt null":            {`{"prompt":null}`, 400, "prompt is required"},
		"prompt a number":        {`{"prompt":1}`, 400, "prompt"},
		"prompt an object":       {`{"prompt":{}}`, 400, "prompt"},
		"prompt twice":           {`{"prompt":"a","prompt":"b"}`, 400, "each name once"},
		"prompt twice, escaped":  {`{"prompt":"a","\u0070rompt":"b"}`, 400, "each name once"},
		"empty":                  {prompt(""), 400, "blank"},
		"blank":                  {prompt(" \t\r\n"), 400, "blank"},
		"blank beyond ASCII":     {prompt("\u00a0\u2003\u3000\u0085\u2028"), 400, "blank"},
		"NUL":                    {`{"prompt":"a\u0000b"}`, 400, "NUL"},
		"NUL alone":              {`{"prompt":"\u0000"}`, 400, "NUL"},
		"control character, raw": {"{\"prompt\":\"a\x01b\"}", 400, "JSON"},
		"invalid UTF-8":          {"{\"prompt\":\"a\xffb\"}", 400, "UTF-8"},
		"surrogate in UTF-8":     {"{\"prompt\":\"a\xed\xa0\x80b\"}", 400, "UTF-8"},
		"lone surrogate":         {`{"prompt":"a\ud800b"}`, 400, "UTF-8"},
		"surrogates swapped":     {`{"prompt":"a\udc00\ud800b"}`, 400, "UTF-8"},
		"too long":               {prompt(strings.Repeat("a", most+1)), 400, "32768"},
		"too long beyond ASCII":  {prompt(strings.Repeat("é", most/2) + "a"), 400, "32768"},
		"far too long":           {prompt(strings.Repeat("a", 6*most+4<<10)), 413, "bytes"},
		"far too long, no JSON":  {strings.Repeat(" ", 1<<20), 413, "bytes"},
		"longest":                {prompt(strings.Repeat("a", most)), 0, ""},
		"longest, escaped":       {`{"prompt":"` + strings.Repeat(`\u0061`, most) + `"}`, 0, ""},
		"longest beyond ASCII":   {prompt(strings.Repeat("é", most/2)), 0, ""},
		"one byte":               {prompt("a"), 0, ""},
		"surrogates":             {`{"prompt":"\ud83d\ude00"}`, 0, ""},
		"other fields":           {`{"prompt":"hello","model":"x","prompts":[{}],"a":1}`, 0, ""},
		"white space around it":  {" \r\n\t{ \"prompt\" : \"hello\" } \n", 0, ""},
		"shell and option":       {prompt("--upload-pack=$(touch x); `x` | ' \" \\ \r\n&& -rf"), 0, ""},
	} {
		for _, path := range []string{"/job", "/job/" + job + "/message"} {
			before := b.job(job).Messages
			a := b.do(http.MethodPost, path, c.body)
			if c.status != 0 {
				if says := b.refused(a, c.status); !strings.Contains(says, c.says) {
					t.Errorf("%s to %s: %q", name, path, says)
				}
				if b.job(job).Messages != before {
					t.Errorf("%s to %s was refused and taken", name, path)
				}
				continue
			}
			if a.status != http.StatusOK && a.status != http.StatusCreated {
				t.Errorf("%s to %s: status %d: %s", name, path, a.status, a.text)
			}
		}
	}
}

func TestHeadersOfABody(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	job := b.post("say hello").ID
	for _, path := range []string{"/job", "/job/" + job + "/message"} {
		for _, header := range [][2]string{
			{"Content-Type", "text/plain"},
			{"Content-Type", "application/x-www-form-urlencoded"},
			{"Content-Type", "application/json2"},
			{"Content-Type", "application/json; charset"},
			{"Content-Type", ";"},
			{"Content-Encoding", "gzip"},
			{"Content-Encoding", "identity"},
		} {
			says := b.refused(b.do(http.MethodPost, path, prompt("say no"), header[0], header[1]), http.StatusUnsupportedMediaType)
			if !strings.Contains(says, header[0]) {
				t.Errorf("%s: %q", header, says)
			}
			// Before what is wrong with the body.
			b.refused(b.do(http.MethodPost, path, "{", header[0], header[1]), http.StatusUnsupportedMediaType)
		}
		for _, header := range []string{"application/json", "APPLICATION/JSON ; charset=UTF-8"} {
			if a := b.do(http.MethodPost, path, prompt("say yes"), "Content-Type", header); a.status >= 300 {
				t.Errorf("%s: status %d", header, a.status)
			}
		}
	}
}

// Without a repository a client learns how one is set, and nothing is queued.
func TestNoRepository(t *testing.T) {
	b := newBench(t, nil)
	if _, err := b.registry.CreateProject("bare"); err != nil {
		t.Fatal(err)
	}
	header := bearer(b.newKey("admin", "bare"))
	says := b.refused(b.send(http.MethodPost, "/v2/agent/bare/job", prompt("say hello"), header), http.StatusBadRequest)
	a := b.send(http.MethodPost, "/v2/agent/bare/job", prompt("say hello"), header)
	if !strings.Contains(says, "no repository") || !strings.Contains(a.text, "footfall agent settings --project") || !strings.Contains(a.text, "--repo") {
		t.Errorf("a project without a repository is told %s", a.text)
	}
	if a := b.send(http.MethodGet, "/v2/agent/bare/jobs", "", header); a.text != `{"jobs":[],"hasMore":false}`+"\n" {
		t.Errorf("its jobs are %s", a.text)
	}
}

func TestList(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	var newest []string
	for range 5 {
		newest = append([]string{b.post("say hello").ID}, newest...)
	}
	cancelled := newest[1]
	b.want(b.do(http.MethodPost, "/job/"+cancelled+"/cancel", ""), http.StatusOK)
	archived := newest[3]
	b.want(b.do(http.MethodPost, "/job/"+archived+"/cancel", ""), http.StatusOK)
	b.want(b.do(http.MethodPost, "/job/"+archived+"/archive", ""), http.StatusOK)
	for query, want := range map[string]struct {
		ids  []string
		more bool
	}{
		"":                                {newest, false},
		"?":                               {newest, false},
		"?limit=250":                      {newest, false},
		"?limit=1":                        {newest[:1], true},
		"?limit=2&offset=1":               {newest[1:3], true},
		"?limit=2&offset=3":               {newest[3:], false},
		"?offset=4":                       {newest[4:], false},
		"?offset=5":                       {nil, false},
		"?offset=9223372036854775807":     {nil, false},
		"?status=active":                  {[]string{newest[0], newest[2], newest[4]}, false},
		"?status=active&limit=2":          {[]string{newest[0], newest[2]}, true},
		"?status=active&limit=1&offset=2": {[]string{newest[4]}, false},
		"?status=failed":                  {[]string{cancelled}, false},
		"?status=archived":                {[]string{archived}, false},
		"?status=completed":               {nil, false},
		"?page=2&sort=%zz;":               {newest, false},
		"?limit=%35":                      {newest, false},
	} {
		page := b.page(b.do(http.MethodGet, "/jobs"+query, ""))
		var ids []string
		for _, j := range page.Jobs {
			ids = append(ids, j.ID)
		}
		if strings.Join(ids, " ") != strings.Join(want.ids, " ") || page.HasMore != want.more {
			t.Errorf("%q: %q, more %v; want %q", query, ids, page.HasMore, want.ids)
		}
	}
	for query, says := range map[string]string{
		"limit=0": "limit", "limit=251": "limit", "limit=-1": "limit", "limit=%2B1": "limit", "limit=1.5": "limit", "limit=": "limit",
		"limit=1&limit=1": "limit must be given once", "limit=x": "limit",
		"offset=-1": "offset", "offset=1.5": "offset", "offset=": "offset", "offset=9223372036854775808": "offset", "offset=0&offset=0": "offset must be given once",
		"status=": "status", "status=done": "status", "status=ACTIVE": "status", "status=active&status=active": "status must be given once",
	} {
		if got := b.refused(b.do(http.MethodGet, "/jobs?"+query, ""), http.StatusBadRequest); !strings.Contains(got, says) {
			t.Errorf("%s: %q", query, got)
		}
	}
	if got := b.refused(b.do(http.MethodGet, "/jobs?limit=0&offset=x&status=y", ""), http.StatusBadRequest); !strings.Contains(got, "limit") || !strings.Contains(got, "offset") || !strings.Contains(got, "status") {
		t.Errorf("three faults: %q", got)
	}
}

func (b *bench) page(a answer) (page agentjobs.Page) {
	b.t.Helper()
	if a.status != http.StatusOK {
		b.t.Fatalf("status %d: %s", a.status, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), &page); err != nil {
		b.t.Fatalf("%s: %v", a.text, err)
	}
	return page
}
