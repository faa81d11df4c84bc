package gate

import (
	"fmt"
	"net/http"
	"sync"
)

// Usage is what a run has used.
type Usage struct {
	// Requests is how many requests were forwarded.
	Requests int64
	// Refused is how many requests the gate itself answered, for whatever reason.
	Refused int64
	// Bytes is the size of forwarded request bodies and of response bodies.
	Bytes int64
	// InputTokens is what the model read, with what it had cached.
	InputTokens int64
	// OutputTokens is what the model wrote.
	OutputTokens int64
	// Estimated says that the upstream did not report all tokens: some are taken
	// from the length of the text.
	Estimated bool
	// Dropped is how many fields were left out of forwarded requests.
	Dropped int64
}

// budget holds a run's use against its limits.
type budget struct {
	limits Limits

	mu   sync.Mutex
	used Usage
}

func (b *budget) read() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// admit takes one request with a body of so many bytes, or returns a refusal.
// Asking and taking is one step, or requests at the same time could all pass on
// what is left for one.
func (b *budget) admit(bytes int64, dropped int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.used.Requests >= b.limits.Requests:
		return exhausted("%d requests", b.limits.Requests)
	case bytes > b.limits.Bytes-b.used.Bytes || b.used.Bytes >= b.limits.Bytes:
		return exhausted("%d bytes", b.limits.Bytes)
	case b.used.InputTokens+b.used.OutputTokens >= b.limits.Tokens:
		return exhausted("%d tokens", b.limits.Tokens)
	}
	b.used.Requests++
	b.used.Bytes += bytes
	b.used.Dropped += int64(dropped)
	return nil
}

// receive takes up to so many bytes of a response and returns how many are left
// for it.
func (b *budget) receive(bytes int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	granted := min(int64(bytes), b.limits.Bytes-b.used.Bytes)
	b.used.Bytes += granted
	return int(granted)
}

// report adds the tokens of a request.
func (b *budget) report(t tokens) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used.InputTokens += t.input
	b.used.OutputTokens += t.output
	b.used.Estimated = b.used.Estimated || t.estimated
}

func (b *budget) refused() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used.Refused++
}

func exhausted(format string, limit int64) error {
	return &refusal{
		status:  http.StatusTooManyRequests,
		message: "this run has used up its limit of " + fmt.Sprintf(format, limit),
		final:   true,
	}
}
