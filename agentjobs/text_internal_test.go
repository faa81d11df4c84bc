package agentjobs

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTitle(t *testing.T) {
	for prompt, want := range map[string]string{
		"Describe the installer":              "Describe the installer",
		"\n \t\n  Describe\n\nit":             "Describe",
		"  two \t  words  ":                   "two words",
		"carriage\rreturn":                    "carriage return",
		"windows\r\nlines":                    "windows",
		"bidi \u202etxt.exe":                  "bidi txt.exe",
		"escape \x1b[31mred":                  "escape [31mred",
		"\u200b\x01\n":                        "Change the documentation",
		strings.Repeat("a", 72):               strings.Repeat("a", 72),
		strings.Repeat("a", 73):               strings.Repeat("a", 71) + "…",
		strings.Repeat("é", 73):               strings.Repeat("é", 71) + "…",
		"--author=x $(id)":                    "--author=x $(id)",
		strings.Repeat("x", 32<<10) + "\ny\n": strings.Repeat("x", 71) + "…",
	} {
		if got := title(prompt); got != want {
			t.Errorf("the title of %.60q is %q, want %q", prompt, got, want)
		}
	}
}

// A title is one line of bounded length that can be printed, whatever the prompt is.
func FuzzTitle(f *testing.F) {
	for _, prompt := range []string{"", "a", "\r\n\x00", "é\u2028b", strings.Repeat("\U0001f600", 100), "\xff\xfe"} {
		f.Add(prompt)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		got := title(prompt)
		if got == "" || utf8.RuneCountInString(got) > 72 || strings.TrimSpace(got) != got ||
			strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("the title of %q is %q", prompt, got)
		}
	})
}

// Every line of a quoted text is one of an indented block of code (CommonMark section
// 4.4), whose line endings are LF, CR, and CRLF (section 2.1).
func FuzzQuote(f *testing.F) {
	for _, text := range []string{"a\nb", "a\rCloses #1", "a\r\nb", "a\r\r@someone", "\n\n# heading", "a\n\n- b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(quote(text)), "\n") {
			if !strings.HasPrefix(line, "    ") {
				t.Errorf("%q is quoted as %q", text, quote(text))
			}
		}
	})
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc …"}, {"aéé", 2, "a …"}, {"éé", 2, "é …"},
	} {
		if got := clip(c.text, c.most); got != c.want {
			t.Errorf("%q clipped to %d is %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
