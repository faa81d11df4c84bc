package gate_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"footfall/agentjobs/gate"
)

func TestTokensAreReadFromReports(t *testing.T) {
	const stream = "text/event-stream"
	request := int64(len(chat("")))
	estimated := (request + 3) / 4
	for name, test := range map[string]struct {
		path, contentType, body string
		want                    gate.Usage
	}{
		"chat": {
			paths["chat"], "application/json", `{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`,
			gate.Usage{InputTokens: 11, OutputTokens: 7},
		},
		"responses": {
			paths["responses"], "application/json; charset=utf-8", `{"output":[],"usage":{"input_tokens":11,"output_tokens":7,"input_tokens_details":{"cached_tokens":3}}}`,
			gate.Usage{InputTokens: 11, OutputTokens: 7},
		},
		"messages": {
			paths["messages"], "application/json", `{"content":[],"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":8,"output_tokens":7}}`,
			gate.Usage{InputTokens: 11, OutputTokens: 7},
		},
		"chat stream": {
			paths["chat"], stream, "data: {\"choices\":[{\"delta\":{\"content\":\"text\"}}],\"usage\":null}\r\n\r\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}\r\n\r\ndata: [DONE]\r\n\r\n",
			gate.Usage{InputTokens: 11, OutputTokens: 7},
		},
		"chat stream with running totals": {
			paths["chat"], stream, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":3}}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}\n\n",
			gate.Usage{InputTokens: 11, OutputTokens: 7},
		},
		"responses stream": {
			paths["responses"], stream, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"text\"}\n\n" +
				"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":11,\"output_tokens\":7}}}\n\n",
			gate.Usage{InputTokens: 11, OutputTokens: 7},
		},
		"messages stream": {
			paths["messages"], stream, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":8,\"output_tokens\":1}}}\n\n" +
				"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"text\"}}\n\n" +
				"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
			gate.Usage{InputTokens: 11, OutputTokens: 7},
		},
		"messages stream that stops": {
			paths["messages"], stream, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":11,\"output_tokens\":1}}}\n\n" +
				"data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"" + strings.Repeat("x", 40) + "\"}}\n\n",
			gate.Usage{InputTokens: 11, OutputTokens: 11, Estimated: true},
		},
		"no report": {
			paths["chat"], "application/json", `{"choices":[]}  `,
			gate.Usage{InputTokens: estimated, OutputTokens: 4, Estimated: true},
		},
		"stream without a report": {
			paths["chat"], stream, "data: {\"choices\":[{\"delta\":{\"content\":\"12345678\"}}]}\n\n",
			gate.Usage{InputTokens: estimated, OutputTokens: 2, Estimated: true},
		},
		"a report below zero": {
			paths["chat"], "application/json", `{"usage":{"prompt_tokens":-11,"completion_tokens":-7}}`,
			gate.Usage{},
		},
		"counting is free": {
			"/v1/messages/count_tokens", "application/json", `{"input_tokens":11}`,
			gate.Usage{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.use(respond(test.contentType, test.body))
			a := open(t, u)
			body := chat("")
			if test.path == paths["responses"] {
				body = `{"model":"` + model + `","input":"hello"}`
			}
			if got := a.post(test.path, body); got.status != http.StatusOK || got.body != test.body {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			want := test.want
			want.Requests, want.Bytes = 1, int64(len(body)+len(test.body))
			await(t, func() bool { return a.Usage() == want })
		})
	}
}

func TestARefusalOfTheModelCostsNoTokens(t *testing.T) {
	u := newUpstream(t)
	u.use(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
	})
	a := open(t, u)
	if got := a.post(paths["chat"], chat("")); got.status != http.StatusServiceUnavailable || got.body != "overloaded\n" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if usage := a.Usage(); usage.InputTokens+usage.OutputTokens != 0 || usage.Requests != 1 || usage.Refused != 0 {
		t.Errorf("counted %+v", usage)
	}
}

func TestWhatIsUsedUpIsRefused(t *testing.T) {
	size := int64(len(chat("")))
	for name, bound := range map[string]gate.Limits{
		"requests": {Requests: 1},
		"tokens":   {Tokens: 18},
		"bytes":    {Bytes: 2*size - 1},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.use(respond("application/json", `{"usage":{"prompt_tokens":11,"completion_tokens":7}}`))
			a := open(t, u, limits(bound))
			if got := a.post(paths["chat"], chat("")); got.status != http.StatusOK || got.err != nil {
				t.Fatalf("status %d: %s, %v", got.status, got.body, got.err)
			}
			await(t, func() bool { return a.Usage().OutputTokens != 0 })
			got := a.post(paths["chat"], chat(""))
			if message := got.message(t, http.StatusTooManyRequests); !strings.Contains(message, name) {
				t.Errorf("the agent is told %q", message)
			}
			if got.header.Get("X-Should-Retry") != "false" {
				t.Error("clients will try again")
			}
			if len(u.received()) != 1 {
				t.Errorf("%d requests reached the model's host", len(u.received()))
			}
		})
	}
}

func TestAnAnswerIsCutWhereTheBytesEnd(t *testing.T) {
	const left = 100_000
	u := newUpstream(t)
	u.use(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: {}\n\n"); err != nil {
				return
			}
		}
	})
	a := open(t, u, limits(gate.Limits{Bytes: int64(len(chat(""))) + left}))
	got := a.post(paths["chat"], chat(""))
	if got.err == nil || len(got.body) != left {
		t.Errorf("%d bytes came, %v; want %d and an answer that is cut", len(got.body), got.err, left)
	}
	a.post(paths["chat"], chat("")).message(t, http.StatusTooManyRequests)
}

func TestRequestsAtOnceAreBounded(t *testing.T) {
	const at = 3
	u := newUpstream(t)
	arrived, leave := make(chan struct{}), make(chan struct{})
	u.use(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-leave
		respond("application/json", "{}")(w, r)
	})
	a := open(t, u, limits(gate.Limits{Concurrent: at}))
	var running sync.WaitGroup
	for range at {
		running.Go(func() {
			if got := a.post(paths["chat"], chat("")); got.status != http.StatusOK {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	for range at {
		<-arrived
	}
	got := a.post(paths["chat"], chat(""))
	if message := got.message(t, http.StatusTooManyRequests); !strings.Contains(message, fmt.Sprint(at)) {
		t.Errorf("the agent is told %q", message)
	}
	if got.header.Get("Retry-After") != "1" || got.header.Get("X-Should-Retry") != "" {
		t.Errorf("clients are told %v", got.header)
	}
	close(leave)
	running.Wait()
	if usage := a.Usage(); usage.Requests != at || usage.Refused != 1 {
		t.Errorf("counted %+v", usage)
	}
}

func TestTheLastRequestIsForOneAlone(t *testing.T) {
	u := newUpstream(t)
	a := open(t, u, limits(gate.Limits{Requests: 5, Concurrent: 40}))
	var asking sync.WaitGroup
	for range 40 {
		asking.Go(func() { a.post(paths["chat"], chat("")) })
	}
	asking.Wait()
	if len(u.received()) != 5 || a.Usage().Requests != 5 {
		t.Errorf("%d requests reached the model's host, want 5", len(u.received()))
	}
}
