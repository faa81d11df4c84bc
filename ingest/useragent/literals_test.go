package useragent

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRequiredLiterals(t *testing.T) {
	tests := map[string][]string{
		`Googlebot\/`:                    {"Googlebot/"},
		`^curl`:                          {"curl"},
		`(^| )PTST\/`:                    {" PTST/", "PTST/"},
		`AdsBot-Google([^-]|$)`:          {"AdsBot-Google"},
		`[wW]get`:                        {"Wget", "wget"},
		`(sistrix|SISTRIX) [cC]rawler`:   {"SISTRIX Crawler", "SISTRIX crawler", "sistrix Crawler", "sistrix crawler"},
		`Automaton|Newsify Feed Fetcher`: {"Automaton", "Newsify Feed Fetcher"},
		`Spider[\s\S]*spider\.com`:       {"spider.com"},
		`(?i)bok`:                        {"BOK", "BOk", "BO\u212A", "BoK", "Bok", "Bo\u212A", "bOK", "bOk", "bO\u212A", "boK", "bok", "bo\u212A"},
		`Traffic\/[0-2]\.\d+ Feed`:       {"Traffic/0.", "Traffic/1.", "Traffic/2."},
		`Traffic\/.\d+ Feed`:             {"Traffic/"},
		`(abc)+x`:                        {"abc"},
		`abc?`:                           nil,
		`(?i)abc`:                        {"ABC", "ABc", "AbC", "Abc", "aBC", "aBc", "abC", "abc"},
		`(?i)abcdef`:                     nil,
		`ab`:                             nil,
		`abc|.`:                          nil,
		`.*`:                             nil,
		`(abc)*`:                         nil,
		"abc\uFFFD":                      nil,
		"abc[\uFFFDx]":                   {"abc"},
	}
	for pattern, want := range tests {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got := requiredLiterals(tree.Simplify(), 3)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s requires %q, want %q", pattern, got, want)
		}
	}
}

// drawPattern draws an expression over a few letters, among them k and s, which
// fold to letters beyond ASCII, and U+FFFD, which matches bytes that are not UTF-8.
func drawPattern(t *rapid.T, depth int) string {
	kinds := []string{"text", "text", "class"}
	if depth > 0 {
		kinds = append(kinds, "concat", "concat", "concat", "alternate", "repeat", "anchor")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "class":
		return rapid.SampledFrom([]string{".", "[ab]", "[kK]", "[sS]", "[^a]", "[a-s]", `\d`, "[\uFFFDa]"}).Draw(t, "class")
	case "concat":
		return drawPattern(t, depth-1) + drawPattern(t, depth-1)
	case "alternate":
		return "(" + drawPattern(t, depth-1) + "|" + drawPattern(t, depth-1) + ")"
	case "repeat":
		return "(" + drawPattern(t, depth-1) + ")" + rapid.SampledFrom([]string{"*", "+", "?", "{0,2}", "{2,3}"}).Draw(t, "times")
	case "anchor":
		return rapid.SampledFrom([]string{"^", "$", `\b`, `\B`, "(?i)", "(?s)"}).Draw(t, "anchor") + drawPattern(t, depth-1)
	}
	return rapid.StringMatching("[abks\uFFFD1]{1,4}").Draw(t, "text")
}

// drawText draws a text over the same letters and their other spellings.
func drawText(t *rapid.T) string {
	pieces := []string{"a", "b", "k", "s", "1", "A", "B", "K", "S", "\u212A", "\u017F", "\uFFFD", "\xff", " "}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
}

// TestMatchImpliesLiteral: what an expression matches contains one of the
// literals that it requires.
func TestMatchImpliesLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := drawPattern(t, 4)
		compiled := regexp.MustCompile(pattern)
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		literals := requiredLiterals(tree.Simplify(), 1)
		if literals == nil {
			return
		}
		for range 20 {
			text := drawText(t)
			contains := func(literal string) bool { return strings.Contains(text, literal) }
			if compiled.MatchString(text) && !slices.ContainsFunc(literals, contains) {
				t.Fatalf("%q matches %q, which contains none of %q", pattern, text, literals)
			}
		}
	})
}
