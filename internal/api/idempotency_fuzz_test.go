package api_test

import (
	"strconv"
	"strings"
	"testing"

	"footfall/internal/api"
)

// Whatever a header says, its key is bounded and visible, or it is refused; quoting
// a key that was taken leads to the same key.
func FuzzIdempotencyKey(f *testing.F) {
	for _, header := range []string{"", "a", `"a"`, `"a\"b\\"`, `"a\"`, `"a"b"`, `"\x"`, "ä", "a b", strings.Repeat("k", 256)} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		key, found, err := api.IdempotencyKey([]string{header})
		if err != nil {
			if found || key != "" {
				t.Fatalf("%q is refused and taken as %q", header, key)
			}
			return
		}
		if !found || len(key) == 0 || len(key) > 255 {
			t.Fatalf("%q became %q", header, key)
		}
		for _, c := range []byte(key) {
			if c <= ' ' || c > '~' {
				t.Fatalf("%q became %q", header, key)
			}
		}
		again, _, err := api.IdempotencyKey([]string{strconv.Quote(key)})
		if err != nil || again != key {
			t.Fatalf("%q quoted became %q, %v", key, again, err)
		}
	})
}
