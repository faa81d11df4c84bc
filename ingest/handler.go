package ingest

import (
	"fmt"
	"net/http"

	"footfall/internal/access"
	"footfall/internal/api"
)

// maxErrors bounds the errors that an answer lists; its counts are not bounded.
const maxErrors = 100

// answer is the body of an answer to a batch of events.
type answer struct {
	Accepted int          `json:"accepted"`
	Rejected int          `json:"rejected"`
	Ignored  int          `json:"ignored"`
	Errors   []eventError `json:"errors"`
}

// eventError says why the event of an index was refused.
type eventError struct {
	Index int    `json:"index"`
	Error string `json:"error"`
}

// refusal is the body of a 400: an error as everywhere, and the counts.
type refusal struct {
	api.ErrorBody
	answer
}

// Routes adds the endpoint to a router.
func (p *Pipeline) Routes(router *api.Router) {
	router.Project(http.MethodPost, "/v1/analytics/:projectId/events", p.events, access.Ingest)
}

// events takes a batch of events. It answers 202 once the accepted ones are
// durable, and 400 where none could be accepted.
func (p *Pipeline) events(w http.ResponseWriter, r *http.Request, project access.Project) error {
	lines, err := checkType(r)
	if err != nil {
		return err
	}
	body, err := p.readBody(r, project.Number)
	if err != nil {
		return err
	}
	defer body.free()
	p.metrics.bytes.Add(float64(len(body.bytes)))
	receipt, err := p.newReceipt(r.Header, body.bytes)
	if err != nil {
		return err
	}
	if receipt != nil {
		if done, err := p.repeat(r.Context(), w, project, receipt); done || err != nil {
			return err
		}
	}

	in := p.takeReader(project.Secret)
	defer p.giveBack(in)
	result, err := in.read(body.bytes, lines)
	if err != nil {
		return api.BadRequest(err.Error())
	}
	if result.Accepted == 0 && result.Rejected > 0 {
		p.metrics.count(result, in.validator.views)
		api.Write(w, http.StatusBadRequest, newRefusal(result))
		return nil
	}
	// The answer is written before the batch is durable, and sent after.
	text := api.Encode(result)
	batch := in.validator.batch(project.Number)
	if receipt != nil {
		receipt.Answer = text
		batch.Receipt = receipt
	}
	if done, err := p.commitOnce(r.Context(), w, project, batch); done || err != nil {
		return err
	}
	p.metrics.count(result, in.validator.views)
	api.WriteJSON(w, http.StatusAccepted, text)
	return nil
}

// read makes the batch of a body, and says what became of its events. A
// *syntaxError, or a body without events, leaves no batch.
func (r *reader) read(body []byte, lines bool) (answer, error) {
	result := answer{Errors: []eventError{}}
	err := r.decoder.events(body, lines, func(index int, e *event, err error) {
		counted := false
		if err == nil {
			_, counted, err = r.validator.event(e)
		}
		switch {
		case err != nil:
			result.Rejected++
			if len(result.Errors) < maxErrors {
				result.Errors = append(result.Errors, eventError{Index: index, Error: err.Error()})
			}
		case counted:
			result.Accepted++
		default:
			result.Ignored++
		}
	})
	return result, err
}

func newRefusal(a answer) refusal {
	details := make([]string, len(a.Errors))
	for i, e := range a.Errors {
		details[i] = fmt.Sprintf("event %d: %s", e.Index, e.Error)
	}
	return refusal{ErrorBody: api.NewErrorBody("no event could be accepted", details...), answer: a}
}
