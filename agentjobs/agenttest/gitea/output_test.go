package gitea

import (
	"fmt"
	"strings"
	"testing"
)

func TestOutputIsBoundedAndHidesSecrets(t *testing.T) {
	const secret = "0123456789abcdef"
	var o output
	o.hide(secret)
	line := strings.Repeat("x", 100) + secret + "\n"
	for range 10 * logLimit / len(line) {
		if n, err := o.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	_, _ = fmt.Fprintln(&o, "last")
	text := o.String()
	if len(text) > 2*logLimit || len(text) < logLimit/2 {
		t.Errorf("%d bytes kept", len(text))
	}
	if !strings.HasPrefix(text, "xxx") || !strings.HasSuffix(text, "last\n") {
		t.Errorf("kept %.20q ... %q", text, text[len(text)-20:])
	}
	if strings.Contains(text, secret[8:]) {
		t.Error("a secret is shown")
	}
}
