package ingest

import (
	"bytes"
	"fmt"
	"net/http"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/sketch"
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
	in := p.takeReader(project.Secret)
	defer p.giveBack(in)
	if err := p.readBody(w, r, &in.body); err != nil {
		return err
	}
	body := in.body.Bytes()
	p.metrics.bytes.Add(float64(len(body)))

	result := answer{Errors: []eventError{}}
	visits := make([]sketch.Visit, 0, mostVisits(body, minEventBytes))
	err = decodeEvents(body, lines, func(index int, e *event, err error) {
		var visit sketch.Visit
		counted := false
		if err == nil {
			visit, counted, err = in.validator.visit(e)
		}
		switch {
		case err != nil:
			result.Rejected++
			if len(result.Errors) < maxErrors {
				result.Errors = append(result.Errors, eventError{Index: index, Error: err.Error()})
			}
		case counted:
			visits = append(visits, visit)
		default:
			result.Ignored++
		}
	})
	if err != nil {
		return api.BadRequest(err.Error())
	}
	if err := p.commit(r.Context(), project.Number, visits, sketch.Mark{}); err != nil {
		return err
	}
	result.Accepted = len(visits)
	p.metrics.ignored.Add(float64(result.Ignored))
	p.metrics.rejected.Add(float64(result.Rejected))
	if result.Accepted == 0 && result.Rejected > 0 {
		api.Write(w, http.StatusBadRequest, newRefusal(result))
		return nil
	}
	api.Write(w, http.StatusAccepted, result)
	return nil
}

// minEventBytes is the size of the shortest event that can be accepted.
const minEventBytes = len(`{"path":"/","visitorId":"a","traffic":"ai"}`)

// mostVisits returns about how many visits come of a text of lines, and never
// more than can: line ends alone must not take memory.
func mostVisits(text []byte, minBytes int) int {
	return min(bytes.Count(text, []byte("\n")), len(text)/minBytes) + 1
}

func newRefusal(a answer) refusal {
	details := make([]string, len(a.Errors))
	for i, e := range a.Errors {
		details[i] = fmt.Sprintf("event %d: %s", e.Index, e.Error)
	}
	return refusal{ErrorBody: api.NewErrorBody("no event could be accepted", details...), answer: a}
}
