package ingest_test

import (
	"net/http"
	"strings"
	"testing"
)

// paths are paths and full URLs as they are sent, and what becomes of them.
var paths = []struct{ sent, kept string }{
	{"/", "/"},
	{"/guide", "/guide"},
	{"guide", "/guide"},
	{"guide/install", "/guide/install"},
	{"/Guide/INSTALL.html", "/Guide/INSTALL.html"},

	// Query and fragment go.
	{"/guide?page=2", "/guide"},
	{"/guide#top", "/guide"},
	{"/guide?page=2#top", "/guide"},
	{"/guide#top?page=2", "/guide"},
	{"/guide/?a=/b/", "/guide"},
	{"?page=2", "/"},
	{"#top", "/"},
	{"/guide%3Fpage", "/guide%3Fpage"},
	{"/guide%23top", "/guide%23top"},

	// Slashes.
	{"/guide/", "/guide"},
	{"/guide///", "/guide"},
	{"//guide", "/guide"},
	{"//guide//install//", "/guide/install"},
	{"///", "/"},
	{"/guide%2Finstall", "/guide%2Finstall"},
	{"/guide%2f", "/guide%2F"},
	{`/a\b`, "/a%5Cb"},

	// Full URLs.
	{"https://example.org/guide", "/guide"},
	{"http://example.org/guide/?a#b", "/guide"},
	{"HTTPS://user:word@Example.org:8443//guide", "/guide"},
	{"https://example.org", "/"},
	{"https://example.org/", "/"},
	{"https://example.org?page=2", "/"},
	{"https://example.org#top", "/"},
	{"https://[2001:db8::1]:443/guide", "/guide"},
	{"https:///guide", "/guide"},
	{"app+web-2.0://host/guide", "/guide"},
	{"/redirect?to=https://example.org/guide", "/redirect"},
	{"/proxy/https://example.org/guide", "/proxy/https:/example.org/guide"},
	{"2001://example.org/guide", "/2001:/example.org/guide"},
	{"://example.org", "/:/example.org"},
	{"mailto:x", "/mailto:x"},

	// Percent-encoding: one form for each character.
	{"/%67uide", "/guide"},
	{"/a%2Db%2Ec%5Fd%7Ee", "/a-b.c_d~e"},
	{"/a%2fb%3a%40", "/a%2Fb%3A%40"},
	{"/a%2Bb+c", "/a%2Bb+c"},
	{"/a b", "/a%20b"},
	{"/a%20b", "/a%20b"},
	{`/"<>^` + "`{|}[]", "/%22%3C%3E%5E%60%7B%7C%7D%5B%5D"},
	{"/!$&'()*+,;=:@", "/!$&'()*+,;=:@"},
	{"/100%", "/100%25"},
	{"/100%25", "/100%25"},
	{"/100%zz%4", "/100%25zz%254"},
	{"/%2561", "/%2561"},
	{"/%25%36%31", "/%2561"},
	{"/%%36%31", "/%2561"},

	// Beyond ASCII.
	{"/größe", "/größe"},
	{"/gr%C3%B6%c3%9fe", "/größe"},
	{"/%E6%97%A5%E6%9C%AC", "/日本"},
	{"/%F0%9F%91%A3", "/👣"},
	{"/👣", "/👣"},
	{"/%C3", "/%C3"},
	{"/%c3x", "/%C3x"},
	{"/%C3%C3%B6", "/%C3ö"},
	{"/%ff%FE", "/%FF%FE"},
	{"/%ED%A0%80", "/%ED%A0%80"},
	{"/%C0%AF", "/%C0%AF"},
	// What shows nothing, or turns the text around, stands escaped.
	{"/a\u202eb", "/a%E2%80%AEb"},
	{"/a%E2%80%AEb", "/a%E2%80%AEb"},
	{"/a\u200bb", "/a%E2%80%8Bb"},
	{"/a\u00a0b", "/a%C2%A0b"},
	{"/\ufffd", "/\ufffd"},

	// Dots are not the path's to resolve: a file system decides what they mean.
	{"/a/../b/./c", "/a/../b/./c"},

	{"/" + strings.Repeat("x", 1023), "/" + strings.Repeat("x", 1023)},
	{strings.Repeat("x", 1023), "/" + strings.Repeat("x", 1023)},
	{"/" + strings.Repeat("x", 1023) + "///", "/" + strings.Repeat("x", 1023)},
	{"//" + strings.Repeat("x", 1023) + "?" + strings.Repeat("y", 5000), "/" + strings.Repeat("x", 1023)},
	{"/" + strings.Repeat("%78", 1023), "/" + strings.Repeat("x", 1023)},
	{"/" + strings.Repeat("ö", 511) + "x", "/" + strings.Repeat("ö", 511) + "x"},
}

func TestPaths(t *testing.T) {
	in := newInlet(t)
	for _, test := range paths {
		for _, sent := range []string{test.sent, test.kept} {
			a := in.post(asJSON, event(map[string]any{"path": sent}))
			visits := in.committed.visits()
			if a.status != http.StatusAccepted || len(visits) != 1 {
				t.Errorf("%q: status %d: %s", sent, a.status, a.text)
				continue
			}
			if visits[0].Path != test.kept {
				t.Errorf("%q is kept as %q, want %q", sent, visits[0].Path, test.kept)
			}
		}
	}
}
