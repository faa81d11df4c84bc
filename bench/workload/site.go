package workload

import (
	"fmt"
	"strings"
)

// document is one document of the site.
type document struct {
	path string // normalised, which is how it is counted
	// requested are the ways in which clients write the path, where it is not as
	// it stands.
	requested []string
}

// documents are the site's, the most read first. Each has a Markdown twin for
// AI agents, at its path with .md.
var documents = []document{
	{path: "/"},
	{path: "/quickstart"},
	{path: "/api-reference/introduction"},
	{path: "/guides/authentication"},
	{path: "/installation"},
	{path: "/api-reference/messages/create"},
	{path: "/guides/rate-limits"},
	{path: "/guides/webhooks"},
	{path: "/sdks/python"},
	{path: "/sdks/typescript"},
	{path: "/pricing"},
	{path: "/api-reference/errors"},
	{path: "/guides/streaming"},
	{path: "/changelog"},
	{path: "/api-reference/authentication"},
	{path: "/guides/pagination"},
	{path: "/sdks/go"},
	{path: "/concepts/projects"},
	{path: "/concepts/environments"},
	{path: "/api-reference/messages/list"},
	{path: "/api-reference/messages/retrieve"},
	{path: "/integrations/github"},
	{path: "/integrations/slack"},
	{path: "/guides/error-handling"},
	{path: "/guides/idempotency"},
	{path: "/api-reference/projects/create"},
	{path: "/api-reference/projects/list"},
	{path: "/guides/deploy-to-production"},
	{path: "/sdks/java"},
	{path: "/integrations/vercel"},
	{path: "/concepts/permissions"},
	{path: "/guides/migrate-from-v1"},
	{path: "/api-reference/webhooks/create"},
	{path: "/api-reference/webhooks/delete"},
	{path: "/sdks/c%2B%2B", requested: []string{"/sdks/c%2B%2B", "/sdks/c%2b%2b"}},
	{path: "/guides/single-sign-on"},
	{path: "/integrations/zapier"},
	{path: "/integrations/terraform"},
	{path: "/guides/getting%20started", requested: []string{"/guides/getting%20started"}},
	{path: "/api-reference/keys/create"},
	{path: "/api-reference/keys/rotate"},
	{path: "/concepts/events"},
	{path: "/guides/observability"},
	{path: "/guides/self-hosting"},
	{path: "/sdks/ruby"},
	{path: "/sdks/rust"},
	{path: "/blog/café-case-study", requested: []string{
		"/blog/caf%C3%A9-case-study", "/blog/caf%c3%a9-case-study",
		`/blog/caf\xc3\xa9-case-study`, // sent without encoding; the server escapes what it logs
	}},
	{path: "/api-reference/search"},
	{path: "/guides/testing"},
	{path: "/guides/security"},
	{path: "/integrations/kubernetes"},
	{path: "/troubleshooting"},
	{path: "/troubleshooting/connection-errors"},
	{path: "/ja/クイックスタート", requested: []string{
		"/ja/%E3%82%AF%E3%82%A4%E3%83%83%E3%82%AF%E3%82%B9%E3%82%BF%E3%83%BC%E3%83%88",
		"/ja/%e3%82%af%e3%82%a4%e3%83%83%e3%82%af%e3%82%b9%e3%82%bf%e3%83%bc%e3%83%88",
	}},
	{path: "/de/überblick", requested: []string{"/de/%C3%BCberblick", "/de/%c3%bcberblick"}},
	{path: "/support"},
	{path: "/legal/privacy"},
	{path: "/legal/terms"},
	{path: "/guides/~advanced", requested: []string{"/guides/~advanced", "/guides/%7Eadvanced", "/guides/%7eadvanced"}},
	{path: "/glossary"},
}

// forAgents are the paths that list the site for AI agents, as llmstxt.org
// proposes.
var forAgents = []document{{path: "/llms.txt"}, {path: "/llms-full.txt"}}

// site is the pages that can be viewed: the documents, their Markdown twins in
// the same order, and those for agents.
type site struct {
	pages      []document
	paths      []string
	popularity *choice // of the documents
}

func newSite() *site {
	s := &site{popularity: newChoice(zipfWeights(len(documents), 1))}
	s.pages = append(s.pages, documents...)
	for _, d := range documents {
		s.pages = append(s.pages, d.markdown())
	}
	s.pages = append(s.pages, forAgents...)
	for _, p := range s.pages {
		s.paths = append(s.paths, p.path)
	}
	return s
}

func (d document) markdown() document {
	if d.path == "/" {
		return document{path: "/index.md"}
	}
	twin := document{path: d.path + ".md"}
	for _, written := range d.requested {
		twin.requested = append(twin.requested, written+".md")
	}
	return twin
}

// markdown returns the page that is the twin of a document.
func (s *site) markdown(document int) int { return len(documents) + document }

// agentList returns one of the pages that list the site for agents.
func (s *site) agentList(r *random) int { return 2*len(documents) + r.below(len(forAgents)) }

// following returns the document read after another one: half the time a
// neighbour in the navigation, else any.
func (s *site) following(r *random, document int) int {
	if r.percent(50) {
		return (document + r.between(1, 3)) % len(documents)
	}
	return s.popularity.draw(r)
}

// queries come behind a path and do not count.
var queries = []string{
	"?utm_source=newsletter&utm_medium=email", "?ref=github", "?q=rate%20limits", "?lang=en", "?v=2", "?", "?plan=pro#limits",
	"?next=/quickstart/",
}

// target returns a way to ask for a page: mostly its path, and now and then
// something that means the same page.
func (s *site) target(r *random, page int) string {
	target := s.pages[page].path
	if requested := s.pages[page].requested; requested != nil {
		target = pick(r, requested)
	}
	document := page < len(documents)
	if slash := strings.LastIndexByte(target, '/'); r.perMille(5) {
		target = target[:slash] + "/" + target[slash:]
	}
	if hyphen := strings.LastIndexByte(target, '-'); hyphen >= 0 && r.perMille(5) {
		target = target[:hyphen] + pick(r, []string{"%2D", "%2d"}) + target[hyphen+1:]
	}
	if document && target != "/" && r.perMille(40) {
		target += "/"
	}
	if document && r.perMille(60) {
		target += pick(r, queries)
	} else if r.perMille(3) {
		target += "#overview" // Browsers keep fragments to themselves; some clients do not.
	}
	return target
}

// Targets that are no pages.
var (
	assets = []string{
		"/assets/main.3f9a1c.css", "/assets/theme.b71e02.css", "/assets/app.8c2d41.js", "/assets/search.mjs?v=4",
		"/assets/vendor.5be7d0.js", "/assets/app.8c2d41.js.map", "/images/logo.svg", "/images/hero.webp", "/images/diagram-overview.png",
		"/images/screenshot.JPG", "/fonts/inter.woff2", "/favicon.ico", "/media/intro.mp4", "/assets/search-index.json",
	}
	feeds = []string{"/sitemap.xml", "/changelog/rss.xml", "/feed.atom", "/openapi.json"}
	// absent are answered with 404.
	absent = []string{
		"/docs/old-quickstart", "/v0/api", "/guides/webhook", "/api-reference/message", "/favicon.png", "/.well-known/traffic-advice",
		"/quickstart.html.bak", "/guides/authentification",
	}
	// probed are what scanners look for.
	probed = []string{
		"/wp-login.php", "/.env", "/.git/config", "/xmlrpc.php", "/admin/", "/phpmyadmin/index.php", "/wp-content/plugins/", "/actuator/health",
		"/cgi-bin/luci/;stok=/locale",
	}
)

// robots is asked for by crawlers before anything else.
const robots = "/robots.txt"

// The parts that manyPaths puts together.
var (
	areas = []string{
		"guides", "api-reference", "concepts", "sdks", "tutorials", "integrations", "cookbook", "admin", "reference", "how-to",
	}
	subjects = []string{
		"authentication", "billing", "webhooks", "projects", "messages", "files", "search", "events", "users", "teams", "roles", "keys",
		"queues", "schedules", "exports", "imports", "metrics", "alerts", "logs", "traces", "models", "datasets", "pipelines", "storage",
	}
	leaves = []string{
		"overview", "create", "list", "retrieve", "update", "delete", "limits", "errors", "examples", "pagination", "filtering", "faq",
		"setup", "security", "testing", "migration", "python", "typescript", "go", "curl",
	}
)

// manyPaths returns n distinct normalised paths, as a large site has them: those
// of the documents that are plain ASCII, and then combinations of area, subject
// and leaf, under a version from the second round on.
func manyPaths(n int) []string {
	paths := make([]string, 0, n)
	for _, d := range documents {
		if len(paths) < n && d.requested == nil {
			paths = append(paths, d.path)
		}
	}
	for i := 0; len(paths) < n; i++ {
		area, rest := areas[i%len(areas)], i/len(areas)
		subject, rest := subjects[rest%len(subjects)], rest/len(subjects)
		leaf, version := leaves[rest%len(leaves)], rest/len(leaves)
		path := "/" + area + "/" + subject + "/" + leaf
		if version > 0 {
			path = fmt.Sprintf("/v%d%s", version+1, path)
		}
		// Combinations that are documents come once.
		if !isDocument(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

func isDocument(path string) bool {
	for _, d := range documents {
		if d.path == path {
			return true
		}
	}
	return false
}
