package forge_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/forge"
)

// descriptionVariable names the file of GitHub's OpenAPI description, in JSON.
const descriptionVariable = "FOOTFALL_GITHUB_OPENAPI"

// TestRealGitHubDescription holds both sides of the exchange against GitHub's
// description: our requests, and the answers of the stand-in that all other
// tests trust.
func TestRealGitHubDescription(t *testing.T) {
	path := os.Getenv(descriptionVariable)
	if path == "" {
		t.Skipf("%s does not name GitHub's OpenAPI description", descriptionVariable)
	}
	v := &validator{t: t, router: loadDescription(t, path), seen: map[string]int{}}
	scene := func(t *testing.T, draft bool) *scene {
		s := play(t, forge.GitHub, func(o *forge.Options) { o.Transport, o.Draft = v, draft })
		v.prefix = strings.TrimSuffix(s.host.APIURL, "/")
		return s
	}

	s := scene(t, true)
	if err := s.forge.Check(t.Context(), "main"); err != nil {
		t.Error(err)
	}
	first := s.ensure(t, "work/1")
	s.ensure(t, "work/1") // A list with an entry.
	s.host.Merge(first.Number)
	if _, err := s.forge.PullRequest(t.Context(), first.Number); err != nil {
		t.Error(err)
	}
	second := s.ensure(t, "work/1")
	s.host.Close(second.Number)
	if _, err := s.forge.PullRequest(t.Context(), second.Number); err != nil {
		t.Error(err)
	}

	s = scene(t, false)
	for range 60 { // A list of more than one page.
		s.host.Open(forgehost.Pull{Repository: repository, Head: "work/2", Base: "next"})
	}
	s.ensure(t, "work/2")
	refusals := map[string]error{
		"GET repos/{owner}/{repo}/branches/{branch} 404": s.forge.Check(t.Context(), "gone"),
	}
	_, refusals["GET pulls/{pull_number} 404"] = s.forge.PullRequest(t.Context(), 900)
	_, refusals["POST pulls 422, base"] = s.forge.EnsurePullRequest(t.Context(), "work/1", "gone", "title", "")
	_, refusals["POST pulls 422, head"] = s.forge.EnsurePullRequest(t.Context(), "gone", "main", "title", "")
	_, refusals["POST pulls 422, commits"] = s.forge.EnsurePullRequest(t.Context(), "behind", "main", "title", "")
	for what, err := range refusals {
		if f := failure(t, err); f.Status != 404 && f.Status != 422 {
			t.Errorf("%s: %v", what, f)
		}
	}

	for _, operation := range []string{"repos/get", "repos/get-branch", "pulls/list", "pulls/create", "pulls/get"} {
		if v.seen[operation] == 0 {
			t.Errorf("the operation %s was not validated", operation)
		}
	}
	t.Logf("validated: %v", v.seen)
	v.mustRefuse()
}

// used are the paths that we ask.
var used = []string{
	"/repos/{owner}/{repo}", "/repos/{owner}/{repo}/branches/{branch}",
	"/repos/{owner}/{repo}/pulls", "/repos/{owner}/{repo}/pulls/{pull_number}",
}

var reference = regexp.MustCompile(`"#/components/([a-z]+)/([^"]+)"`)

// loadDescription reads the description, less what we do not use: it has a
// thousand paths, and resolving them all takes many times as long.
func loadDescription(t *testing.T, path string) routers.Router {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		OpenAPI    string                                `json:"openapi"`
		Info       json.RawMessage                       `json:"info"`
		Servers    json.RawMessage                       `json:"servers"`
		Paths      map[string]json.RawMessage            `json:"paths"`
		Components map[string]map[string]json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	paths, components := map[string]json.RawMessage{}, map[string]map[string]json.RawMessage{}
	var keep func(json.RawMessage)
	keep = func(part json.RawMessage) {
		for _, found := range reference.FindAllSubmatch(part, -1) {
			kind, name := string(found[1]), string(found[2])
			if components[kind] == nil {
				components[kind] = map[string]json.RawMessage{}
			}
			if components[kind][name] == nil {
				components[kind][name] = all.Components[kind][name]
				keep(all.Components[kind][name])
			}
		}
	}
	for _, p := range used {
		if all.Paths[p] == nil {
			t.Fatalf("the description has no path %s", p)
		}
		paths[p] = all.Paths[p]
		keep(paths[p])
	}
	all.Paths, all.Components = paths, components
	if text, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	description, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("loading the description: %v", err)
	}
	router, err := legacy.NewRouter(description, openapi3.DisableExamplesValidation(), openapi3.DisableSchemaPatternValidation())
	if err != nil {
		t.Fatalf("routing by the description: %v", err)
	}
	return router
}

// validator is a transport that validates what it carries.
type validator struct {
	t      *testing.T
	router routers.Router
	prefix string // in the place of https://api.github.com

	mu   sync.Mutex
	seen map[string]int // operations, by how often an answer of them was valid
}

func (v *validator) RoundTrip(r *http.Request) (*http.Response, error) {
	direct := &http.Transport{DisableKeepAlives: true}
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	response, err := direct.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	operation, err := v.validate(r, sent, response.StatusCode, response.Header, body)
	if err != nil {
		v.t.Errorf("%s %s, status %d: %v", r.Method, r.URL, response.StatusCode, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen[operation]++
	return response, nil
}

func (v *validator) validate(r *http.Request, sent []byte, status int, header http.Header, body []byte) (string, error) {
	described := r.Clone(r.Context())
	at, err := url.Parse("https://api.github.com" + strings.TrimPrefix(r.URL.String(), v.prefix))
	if err != nil {
		return "", err
	}
	described.URL, described.Host, described.Body = at, at.Host, io.NopCloser(bytes.NewReader(sent))
	route, parameters, err := v.router.FindRoute(described)
	if err != nil {
		return "", err
	}
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, RejectWhenRequestBodyNotSpecified: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}
	request := &openapi3filter.RequestValidationInput{Request: described, PathParams: parameters, Route: route, Options: options}
	if err := openapi3filter.ValidateRequest(r.Context(), request); err != nil {
		return "", err
	}
	answer := &openapi3filter.ResponseValidationInput{RequestValidationInput: request, Status: status, Header: header, Options: options}
	answer.SetBodyBytes(body)
	return route.Operation.OperationID, openapi3filter.ValidateResponse(r.Context(), answer)
}

// mustRefuse shows that validating finds what is wrong.
func (v *validator) mustRefuse() {
	v.t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	for name, c := range map[string]struct {
		method, path, sent string
		status             int
		body               string
	}{
		"a query":     {"GET", "/repos/acme/docs/pulls?state=sleeping", "", 200, "[]"},
		"a number":    {"GET", "/repos/acme/docs/pulls/one", "", 404, "{}"},
		"a request":   {"POST", "/repos/acme/docs/pulls", `{"title": "x", "head": "y"}`, 422, `{"message": "x", "documentation_url": "y"}`},
		"an answer":   {"GET", "/repos/acme/docs/pulls/1", "", 200, `{"number": 1}`},
		"a status":    {"GET", "/repos/acme/docs/pulls/1", "", 409, `{"message": "x"}`},
		"an unknown":  {"GET", "/repos/acme/docs/pull/1", "", 404, `{}`},
		"a type":      {"GET", "/repos/acme/docs/pulls", "", 200, `{}`},
		"an error":    {"POST", "/repos/acme/docs/pulls", `{"title": "x", "head": "y", "base": "z"}`, 422, `{"message": 7}`},
		"a null body": {"GET", "/repos/acme/docs", "", 200, `null`},
	} {
		r, err := http.NewRequestWithContext(v.t.Context(), c.method, v.prefix+c.path, nil)
		if err != nil {
			v.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if _, err := v.validate(r, []byte(c.sent), c.status, header, []byte(c.body)); err == nil {
			v.t.Errorf("%s that is wrong was found valid", name)
		}
	}
}
