package agent

import (
	"fmt"
	"strings"
)

const (
	maxDiffs     = 16        // of one tool call
	maxDiffInput = 256 << 10 // bytes of either text that are compared
	maxDiffBody  = 8 << 10   // bytes
)

// describe tells how a file changed: its path, how many lines came and went, and
// those lines. It takes one run of lines for changed, from the first that differs
// to the last: enough for a log, and linear. What was really changed is git's to
// say.
func describe(path string, before *string, after string) string {
	var old []string
	if before != nil {
		old = lines(*before)
	}
	now := lines(after)
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: +%d -%d", path, len(now), len(old))
	list(&text, "-", old)
	list(&text, "+", now)
	return text.String()
}

// list adds lines until there is no room.
func list(text *strings.Builder, sign string, changed []string) {
	for _, line := range changed {
		if text.Len()+len(line) > maxDiffBody {
			text.WriteString("\n" + sign + cut)
			return
		}
		text.WriteString("\n" + sign + clean(line, maxDiffBody))
	}
}

func lines(text string) []string {
	text = strings.TrimSuffix(shorten(text, maxDiffInput), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
