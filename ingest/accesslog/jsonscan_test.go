package accesslog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"footfall/ingest/accesslog"
)

// FuzzJSON holds the scanner to jsontext: a line is malformed as JSON where
// jsontext has it so, and never otherwise.
func FuzzJSON(f *testing.F) {
	for _, member := range []string{
		`1`, `-0`, `0.5e-10`, `1E+5`, `01`, `-`, `.5`, `1.`, `1e`, `+1`, `0x1`, `NaN`, `true`, `false`, `null`, `tru`, `nulll`, `True`,
		`""`, `"a`, `"\"`, `"\\"`, `"\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude00"`, `"\ud800"`, `"\u12g4"`, `"\u123"`, `"\x41"`, `"\U0041"`, "\"\xff\"", "\"a\tb\"", "\"a\x00\"", "\"\x7f\"", `'a'`,
		`"aaaaaaa"`, `"aaaaaaaa"`, `"aaaaaaaaa\n"`, "\"aaaaaaaa\x1f\"", "\"\xe2\x80\xa8éééééééé\"",
		`{}`, `{`, `{]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":{"b":[{}, [ ] ,"]"]}}`,
		`[]`, `[1,2]`, `[1,]`, `[,1]`, `[1 2]`, `[`, `[1}`, `[[[[]]]]`, ` 1 `, "\n1\r", "\v1", `1,"status":"x"`, `1,"ts":{},"request":{"headers":{"User-Agent":[1]}}`, `1}`, `1}{`, `1,`, `1/**/`, ``, ` `, "\x00", "\uFEFF1",
	} {
		f.Add(member)
	}
	f.Fuzz(func(t *testing.T, member string) {
		line := `{"remote_addr":"1.2.3.4","msec":"1","request":"GET / HTTP/1.1","status":200,"x":` + member + `}`
		var p accesslog.Parser
		_, err := p.Parse([]byte(line))
		valid := jsontext.Value(strings.TrimSuffix(line, "\r")).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		var syntax *accesslog.SyntaxError
		switch {
		case !valid && !errors.As(err, &syntax):
			t.Errorf("Parse(%q): %v, but it is no JSON", line, err)
		case valid && errors.As(err, &syntax) && syntax.Field == accesslog.FieldJSON && !isOurs(syntax):
			t.Errorf("Parse(%q): %v, but it is JSON", line, err)
		}
	})
}

// isOurs reports whether a fault is one that the grammar knows nothing of.
func isOurs(err *accesslog.SyntaxError) bool {
	return err.Reason == "want less nesting" || err.Reason == "want an object or an array"
}

func TestParseNesting(t *testing.T) {
	for depth, valid := range map[int]bool{1: true, 31: true, 32: false, 1 << 20: false} {
		for _, brackets := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			nested := strings.Repeat(brackets[0], depth) + "1" + strings.Repeat(brackets[1], depth)
			var p accesslog.Parser
			_, err := p.Parse([]byte(`{"remote_addr":"1.2.3.4","msec":"1","request":"GET / HTTP/1.1","status":200,"x":` + nested + `}`))
			if valid != (err == nil) {
				t.Errorf("%d times %s: %v", depth, brackets[0], err)
			}
		}
	}
}

// A line in JSON that was cut off anywhere is malformed.
func TestParseJSONCutOff(t *testing.T) {
	for _, line := range []string{nginxLine, caddyLine} {
		var p accesslog.Parser
		for length := range len(line) {
			var syntax *accesslog.SyntaxError
			if _, err := p.Parse([]byte(line[:length])); !errors.As(err, &syntax) {
				t.Errorf("Parse(%q): %v, want a SyntaxError", line[:length], err)
			}
		}
	}
}
