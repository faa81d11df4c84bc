package gate

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// base is where the agent's base URL ends. What follows is added to the path of
// the upstream.
const base = "/v1"

// route is one call of the model's API that may pass.
type route struct {
	method string
	// path follows the base. In it, {model} stands for the configured model.
	path string
	// form is what a body may hold; nil for a request without a body.
	form *form
	// anthropic says whose API it is: where the key goes, how tokens are counted.
	anthropic bool
	// metered says that the call costs tokens.
	metered bool
	// forwarded is a query that passes as it is.
	forwarded string
	// ignored is a query's parameter that is taken and not passed on.
	ignored string
}

var routes = []route{
	{method: http.MethodPost, path: "/chat/completions", form: &chatForm, metered: true},
	{method: http.MethodPost, path: "/responses", form: &responsesForm, metered: true},
	// Anthropic's client asks for its newer API by this query.
	{method: http.MethodPost, path: "/messages", form: &messagesForm, anthropic: true, metered: true, forwarded: "beta=true"},
	{method: http.MethodPost, path: "/messages/count_tokens", form: &messagesForm, anthropic: true, forwarded: "beta=true"},
	// Codex says which version asks.
	{method: http.MethodGet, path: "/models", forwarded: "beta=true", ignored: "client_version"},
	{method: http.MethodGet, path: "/models/{model}", forwarded: "beta=true", ignored: "client_version"},
}

// match finds a request's route and the query to forward. Paths are compared as
// they are: one that had to be cleaned first could lead elsewhere at the upstream.
func (g *Gate) match(r *http.Request) (route, error) {
	if err := checkTarget(r); err != nil {
		return route{}, err
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), base)
	var methods []string
	for _, candidate := range routes {
		if !ok || !candidate.matches(path, g.model) {
			continue
		}
		if candidate.method == r.Method {
			return candidate, candidate.checkQuery(r.URL)
		}
		methods = append(methods, candidate.method)
	}
	if methods != nil {
		allow := strings.Join(methods, ", ")
		return route{}, &refusal{
			status:  http.StatusMethodNotAllowed,
			message: "this path takes " + allow + " alone",
			allow:   allow,
			final:   true,
		}
	}
	return route{}, &refusal{
		status:  http.StatusNotFound,
		message: "this path does not pass; chat/completions, responses, messages and models do, under " + base,
		final:   true,
	}
}

// checkTarget refuses what asks for another host. Nothing in a request chooses the
// host anyway; but an agent that meant another one should not get this one's
// answer.
func checkTarget(r *http.Request) error {
	if r.Method == http.MethodConnect || r.URL.Scheme != "" || r.URL.Host != "" || !strings.HasPrefix(r.RequestURI, "/") {
		return forbidden("it is no proxy to other hosts")
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if !loopback(strings.Trim(host, "[]")) {
		return forbidden("it stands for no other host than the model's; ask it as localhost")
	}
	return nil
}

// matches compares a path with the route's. A model's name may hold slashes, which
// clients write with or without escaping.
func (t route) matches(path, model string) bool {
	prefix, ok := strings.CutSuffix(t.path, "{model}")
	if !ok {
		return path == t.path
	}
	name, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return false
	}
	name, err := url.PathUnescape(name)
	return err == nil && name == model
}

func (t route) checkQuery(u *url.URL) error {
	if u.RawQuery == "" || u.RawQuery == t.forwarded {
		return nil
	}
	name, value, _ := strings.Cut(u.RawQuery, "=")
	if t.ignored != "" && name == t.ignored && !strings.ContainsAny(value, "&;") {
		return nil
	}
	return forbidden("the query of this path does not pass")
}

// target is the address at the upstream.
func (g *Gate) target(t route, asked *url.URL) *url.URL {
	// A slash in the model's name stays escaped: it is one segment of the path.
	target := g.upstream.JoinPath(strings.ReplaceAll(t.path, "{model}", url.PathEscape(g.model)))
	if t.forwarded != "" && asked.RawQuery == t.forwarded {
		target.RawQuery = t.forwarded
	}
	return target
}
