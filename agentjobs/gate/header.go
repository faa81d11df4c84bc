package gate

import (
	"net/http"
	"slices"
	"strings"
)

// userAgent names the gate at the upstream.
const userAgent = "footfall-gate"

// passingBetas are Anthropic's features that a request may ask for by header,
// without the date at their end. They change how the model answers. Those that
// bring server tools, stored files or other models are not among them.
var passingBetas = []string{
	"claude-code", "interleaved-thinking", "dev-full-thinking", "redact-thinking", "thinking-token-count",
	"fine-grained-tool-streaming", "token-efficient-tools", "advanced-tool-use", "tool-search-tool", "structured-outputs",
	"context-management", "compact", "context-1m", "model-context-window-exceeded",
	"prompt-caching", "prompt-caching-scope", "extended-cache-ttl", "cache-diagnosis",
	"output-128k", "output-300k", "effort", "task-budgets", "pdfs", "token-counting",
}

// requestHeader is what the upstream gets: what is listed here of the agent's
// header, and the key. Whatever else the agent sent is not looked at, so neither
// its credentials nor a Connection header can matter.
func requestHeader(t route, agent http.Header, key string) http.Header {
	header := http.Header{
		"User-Agent": {userAgent},
		// The body is read for tokens and for the key: it has to be plain.
		"Accept-Encoding": {"identity"},
	}
	if t.form != nil {
		header.Set("Content-Type", "application/json")
	}
	header.Set("Accept", acceptOf(agent))
	version := agent.Get("Anthropic-Version")
	// The list of models is in both APIs. Only Anthropic's clients send a version.
	anthropic := t.anthropic || t.form == nil && version != ""
	if anthropic && version != "" {
		header.Set("Anthropic-Version", version)
	}
	if betas := betasOf(agent); anthropic && betas != "" {
		header.Set("Anthropic-Beta", betas)
	}
	switch {
	case key == "":
	case anthropic:
		header.Set("X-Api-Key", key)
	default:
		header.Set("Authorization", "Bearer "+key)
	}
	return header
}

// acceptOf chooses among what the routes answer in.
func acceptOf(agent http.Header) string {
	if strings.Contains(agent.Get("Accept"), "text/event-stream") {
		return "text/event-stream"
	}
	return "application/json"
}

func betasOf(agent http.Header) string {
	var passing []string
	for beta := range strings.SplitSeq(strings.Join(agent.Values("Anthropic-Beta"), ","), ",") {
		beta = strings.TrimSpace(beta)
		if slices.Contains(passingBetas, undatedBeta(beta)) {
			passing = append(passing, beta)
		}
	}
	return strings.Join(passing, ",")
}

// undatedBeta cuts the date off: context-1m-2025-08-07 is context-1m. Without a
// date it is no beta.
func undatedBeta(beta string) string {
	const date = len("-2025-08-07")
	if len(beta) <= date || strings.Trim(beta[len(beta)-date:], "-0123456789") != "" {
		return ""
	}
	return beta[:len(beta)-date]
}

// passingHeaders are what the agent gets of a response's header; those that end in
// a dash are prefixes. Clients use them to wait and to report.
var passingHeaders = []string{
	"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry",
	"Request-Id", "X-Request-Id", "Openai-Processing-Ms", "Openai-Version", "Openai-Model",
	"X-Ratelimit-", "Anthropic-Ratelimit-",
}

// copyResponseHeader leaves out what is not listed, and values that hold the key.
func copyResponseHeader(to, from http.Header, key string) {
	for name, values := range from {
		listed := slices.ContainsFunc(passingHeaders, func(passing string) bool {
			return name == passing || strings.HasSuffix(passing, "-") && strings.HasPrefix(name, passing)
		})
		if !listed {
			continue
		}
		for _, value := range values {
			if !secret(key) || !strings.Contains(value, key) {
				to.Add(name, value)
			}
		}
	}
}
