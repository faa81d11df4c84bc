package agentjobs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"footfall/agentjobs"
	"footfall/internal/access"
)

// route is one of the endpoints, for a project and a job.
type route struct{ method, path string }

func routes(project, job string) []route {
	base := "/v2/agent/" + project
	return []route{
		{http.MethodPost, base + "/job"},
		{http.MethodGet, base + "/jobs"},
		{http.MethodGet, base + "/job/" + job},
		{http.MethodPost, base + "/job/" + job + "/message"},
		{http.MethodPost, base + "/job/" + job + "/cancel"},
		{http.MethodPost, base + "/job/" + job + "/archive"},
		{http.MethodGet, base + "/job/" + job + "/log"},
	}
}

// send sends a request with nothing but what it is given.
func (b *bench) send(method, target, body string, header http.Header) answer {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, target, strings.NewReader(body))
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	b.router.ServeHTTP(w, r)
	return answer{status: w.Code, header: w.Header(), text: w.Body.String()}
}

// refused holds an answer to the shape of errors and returns what it says.
func (b *bench) refused(a answer, status int) string {
	b.t.Helper()
	var body struct {
		Error   string `json:"error"`
		Details []struct {
			Message string `json:"message"`
		} `json:"details"`
	}
	decoder := json.NewDecoder(strings.NewReader(a.text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		b.t.Errorf("%q: %v", a.text, err)
	}
	if a.status != status || body.Error == "" || len(body.Details) == 0 {
		b.t.Errorf("status %d, want %d: %s", a.status, status, a.text)
	}
	return body.Error
}

func (b *bench) newKey(scope access.Scope, project string) string {
	b.t.Helper()
	key, _, err := b.registry.CreateKey(access.KeySpec{Scope: scope, Project: project})
	if err != nil {
		b.t.Fatal(err)
	}
	return key
}

func bearer(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }

// Only a key with scope admin that covers the project learns anything.
func TestKeys(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	if _, err := b.registry.CreateProject("other"); err != nil {
		t.Fatal(err)
	}
	job := b.post("say hello").ID
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"none":                     {nil, 401},
		"malformed":                {http.Header{"Authorization": {"Basic abc"}}, 401},
		"unknown":                  {bearer(b.key + "x"), 401},
		"read":                     {bearer(b.newKey(access.Read, "docs")), 403},
		"ingest":                   {bearer(b.newKey(access.Ingest, "docs")), 403},
		"read of all":              {bearer(b.newKey(access.Read, "")), 403},
		"admin of another project": {bearer(b.newKey(access.Admin, "other")), 403},
	} {
		for _, route := range routes("docs", job) {
			a := b.send(route.method, route.path, prompt("say no"), c.header)
			b.refused(a, c.status)
			if strings.Contains(a.text, job) {
				t.Errorf("%s: %s %s tells %s", name, route.method, route.path, a.text)
			}
		}
		// Nor whether there is such a project.
		for _, route := range routes("nowhere", job) {
			b.refused(b.send(route.method, route.path, prompt("say no"), c.header), c.status)
		}
	}
	all := bearer(b.newKey(access.Admin, ""))
	for _, route := range routes("nowhere", job) {
		b.refused(b.send(route.method, route.path, "{", all), http.StatusNotFound)
	}
	if a := b.send(http.MethodGet, "/v2/agent/docs/job/"+job, "", all); a.status != http.StatusOK {
		t.Errorf("status %d for a key of all projects: %s", a.status, a.text)
	}
	if j := b.job(job); j.Status != agentjobs.Active || j.Messages != 1 {
		t.Errorf("the job became %+v", j)
	}
}

// A job that the project does not have is a 404, whatever else is wrong.
func TestUnknownJobs(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	b.addOther()
	all := bearer(b.newKey(access.Admin, ""))
	theirs := b.want(b.send(http.MethodPost, "/v2/agent/other/job", prompt("say hello"), all), http.StatusCreated).ID
	mine := b.post("say hello").ID
	for _, id := range []string{
		theirs, uuid.NewString(), strings.ToUpper(mine), "urn:uuid:" + mine, "{" + mine + "}", strings.ReplaceAll(mine, "-", ""),
		mine[:35], mine + "0", "1", "..", "%00", "%2e%2e%2fjobs", "job%20id",
	} {
		for _, route := range routes("docs", id) {
			if !strings.Contains(route.path, "/job/") {
				continue
			}
			header := bearer(b.key)
			header.Set("Content-Type", "text/plain")
			header.Set("Idempotency-Key", "not valid")
			b.refused(b.send(route.method, route.path+"?after=x", "{", header), http.StatusNotFound)
		}
	}
	if j := b.want(b.send(http.MethodGet, "/v2/agent/other/job/"+theirs, "", all), http.StatusOK); j.Status != agentjobs.Active || j.Messages != 1 {
		t.Errorf("the other project's job became %+v", j)
	}
}

func TestMethods(t *testing.T) {
	b := newBench(t, nil)
	for _, route := range routes("docs", uuid.NewString()) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if method == route.method {
				continue
			}
			a := b.send(method, route.path, "", bearer(b.key))
			b.refused(a, http.StatusMethodNotAllowed)
			if a.header.Get("Allow") != route.method {
				t.Errorf("%s %s: Allow %q", method, route.path, a.header.Get("Allow"))
			}
		}
	}
	b.refused(b.send(http.MethodGet, "/v2/agent/docs", "", bearer(b.key)), http.StatusNotFound)
	b.refused(b.send(http.MethodPost, "/v2/agent/docs/job/", prompt("say"), bearer(b.key)), http.StatusNotFound)
}

// A job is told with all of its fields, in every state.
func TestShapeOfAJob(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	release := b.hold()
	a := b.do(http.MethodPost, "/job", prompt("write docs/new.md hello"))
	id := b.want(a, http.StatusCreated).ID
	if u, err := uuid.Parse(id); err != nil || u.Version() != 7 || u.String() != id {
		t.Errorf("the ID is %q", id)
	}
	if a.header.Get("Content-Type") != "application/json; charset=utf-8" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the header is %v", a.header)
	}
	none := map[string]any{"files": 0., "insertions": 0., "deletions": 0.}
	want := map[string]any{
		"id": id, "status": "active", "source": map[string]any{"repository": b.git.URL(repository), "ref": "footfall/" + id},
		"model": modelName, "prLink": nil, "archivedAt": nil, "baseRef": "main", "failureReason": nil, "messages": 1., "diffStat": none,
	}
	b.shape(a, want)
	b.shape(b.do(http.MethodGet, "/job/"+id, ""), want)
	release()
	b.await(id)
	want["status"], want["prLink"] = "completed", b.forge.URL+"/"+repository+"/pull/1"
	want["diffStat"] = map[string]any{"files": 1., "insertions": 1., "deletions": 0.}
	b.shape(b.do(http.MethodGet, "/job/"+id, ""), want)
	want["status"], want["archivedAt"] = "archived", "time"
	b.shape(b.do(http.MethodPost, "/job/"+id+"/archive", ""), want)
	var page map[string]any
	if err := json.Unmarshal([]byte(b.do(http.MethodGet, "/jobs", "").text), &page); err != nil || len(page) != 2 || page["hasMore"] != false {
		t.Errorf("a page is %v, %v", page, err)
	}
	first, err := json.Marshal(page["jobs"].([]any)[0])
	if err != nil {
		t.Fatal(err)
	}
	b.shape(answer{text: string(first)}, want)
}

// shape compares an answer with what is wanted; its times are looked at for their form.
func (b *bench) shape(a answer, want map[string]any) {
	b.t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(a.text), &got); err != nil {
		b.t.Fatalf("%s: %v", a.text, err)
	}
	for _, name := range []string{"createdAt", "updatedAt", "archivedAt"} {
		text, is := got[name].(string)
		when, err := time.Parse(time.RFC3339, text)
		if name == "archivedAt" && want[name] == nil {
			continue // It is compared with null below.
		}
		if !is || err != nil || !strings.HasSuffix(text, "Z") || time.Since(when).Abs() > time.Hour {
			b.t.Errorf("%s is %v", name, got[name])
		}
	}
	wanted := maps.Clone(want)
	wanted["createdAt"], wanted["updatedAt"] = got["createdAt"], got["updatedAt"]
	if want["archivedAt"] != nil {
		wanted["archivedAt"] = got["archivedAt"]
	}
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(wanted))) || fmt.Sprint(got) != fmt.Sprint(wanted) {
		b.t.Errorf("the job is told as\n%v, want\n%v", got, wanted)
	}
}
