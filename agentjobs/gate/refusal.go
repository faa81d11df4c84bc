package gate

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
)

// refusalType marks the gate's own answers among the upstream's.
const refusalType = "footfall_gate"

// refusal is why the gate itself answers a request.
type refusal struct {
	status  int
	message string
	// allow lists the methods of a route that has no other.
	allow string
	// final says that the same request will be refused again.
	final bool
}

func (r *refusal) Error() string { return r.message }

// malformed is a request that can not be understood in one way alone.
func malformed(format string, values ...any) error {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, values...), final: true}
}

// forbidden is a request that is understood and may not pass.
func forbidden(format string, values ...any) error {
	return &refusal{status: http.StatusForbidden, message: fmt.Sprintf(format, values...), final: true}
}

// refuse answers with the error that both APIs' clients show: OpenAI's read
// error.message, Anthropic's also want a type beside it.
func (g *Gate) refuse(w http.ResponseWriter, err error) {
	var cause *refusal
	if errors.As(err, &cause) {
		g.logger.Debug("The gate refused a request to the model.", "status", cause.status, "reason", cause.message)
	} else {
		cause = &refusal{status: http.StatusBadGateway, message: "the request could not be forwarded"}
		g.logger.Error("The gate could not forward a request to the model.", "error", err)
	}
	g.budget.refused()
	header := w.Header()
	header.Set("Content-Type", "application/json")
	if cause.allow != "" {
		header.Set("Allow", cause.allow)
	}
	if cause.final {
		// Both makers' clients would otherwise repeat a 429 for minutes.
		header.Set("X-Should-Retry", "false")
	}
	type failure struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	}
	body, err := json.Marshal(struct {
		Type  string  `json:"type"`
		Error failure `json:"error"`
	}{"error", failure{"footfall's gate to the model: " + cause.message, refusalType}})
	if err != nil {
		panic(fmt.Errorf("encoding a refusal: %w", err))
	}
	w.WriteHeader(cause.status)
	// The agent may have gone.
	_, _ = w.Write(body)
}
