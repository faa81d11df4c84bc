package accesslog_test

import (
	"strings"
	"testing"

	"footfall/ingest/accesslog"
)

func TestIsView(t *testing.T) {
	tests := []struct {
		method string
		status int
		want   bool
	}{
		{"GET", 200, true},
		{"GET", 206, true},
		{"GET", 299, true},
		{"GET", 304, true},
		{"GET", 0, false},
		{"GET", 101, false},
		{"GET", 199, false},
		{"GET", 300, false},
		{"GET", 301, false},
		{"GET", 303, false},
		{"GET", 305, false},
		{"GET", 404, false},
		{"GET", 500, false},
		{"HEAD", 200, false},
		{"POST", 200, false},
		{"get", 200, false},
		{"GETX", 200, false},
		{"", 200, false},
	}
	for _, test := range tests {
		if got := accesslog.IsView([]byte(test.method), test.status); got != test.want {
			t.Errorf("IsView(%q, %d) = %t", test.method, test.status, got)
		}
	}
}

func TestIsPage(t *testing.T) {
	pages := []string{
		"/", "/docs", "/docs/start", "/docs/start.html", "/docs/start.HTM", "/llms.txt", "/start.md", "/start.MD",
		"/index.php", "/paper.pdf", "/v1.2", "/v1.2/changes", "/node.js/intro", "/a.css/b", "/.", "/..", "/a.", "/...",
		"/css", "/js", "/json", "/robots", "/docs/robots.txt", "/Robots.txt", "/a.cssx", "/a.xcss", "/a.css.html",
		"/a.css-", "/a.js ", "/woff2", "/a.woff22", "/a.web", "/é.é", "",
	}
	for _, path := range pages {
		if !accesslog.IsPage([]byte(path)) {
			t.Errorf("IsPage(%q) = false", path)
		}
	}

	for _, path := range []string{"/robots.txt", "/a.tar.gz", "/a/.json", "/.xml", "a.png", "/v1.2.zip", "/a b.Svg", "/é.png"} {
		if accesslog.IsPage([]byte(path)) {
			t.Errorf("IsPage(%q) = true", path)
		}
	}

	const assets = ".css .js .mjs .map .png .jpg .jpeg .gif .webp .avif .svg .ico .woff .woff2 .ttf .otf " +
		".eot .mp3 .mp4 .webm .ogg .wav .zip .gz .tgz .bz2 .xz .7z .rar .xml .json .rss .atom"
	for _, ending := range strings.Fields(assets) {
		for _, path := range []string{"/docs/a" + ending, "/a" + strings.ToUpper(ending), "/x.html" + ending} {
			if accesslog.IsPage([]byte(path)) {
				t.Errorf("IsPage(%q) = true", path)
			}
		}
		for _, path := range []string{"/docs" + ending + "/a", "/a" + ending + ".html", "/a" + ending[1:]} {
			if !accesslog.IsPage([]byte(path)) {
				t.Errorf("IsPage(%q) = false", path)
			}
		}
	}
}
