package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
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
	Error   string   `json:"error"`
	Details []detail `json:"details"`
	answer
}

type detail struct {
	Message string `json:"message"`
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
	body, err := p.readBody(w, r)
	if err != nil {
		return err
	}
	p.metrics.bytes.Add(float64(len(body)))

	result := answer{Errors: []eventError{}}
	var visits []sketch.Visit
	v := p.newValidator(project.Secret)
	err = decodeEvents(body, lines, func(index int, e *event, err error) {
		var visit sketch.Visit
		counted := false
		if err == nil {
			visit, counted, err = v.visit(e)
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

func newRefusal(a answer) refusal {
	r := refusal{Error: "no event could be accepted", answer: a}
	for _, e := range a.Errors {
		r.Details = append(r.Details, detail{Message: fmt.Sprintf("event %d: %s", e.Index, e.Error)})
	}
	return r
}

// checkType refuses bodies of a type that is not taken. lines reports whether the
// body was sent as newline-delimited JSON.
func checkType(r *http.Request) (lines bool, err error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return false, &api.Error{
			Status:  http.StatusUnsupportedMediaType,
			Message: "Content-Encoding must be left out: encoded bodies are not taken",
		}
	}
	header := r.Header.Get("Content-Type")
	if header == "" {
		return false, nil
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err == nil {
		switch mediaType {
		case "application/json":
			return false, nil
		case "application/x-ndjson", "application/ndjson", "application/jsonl":
			return true, nil
		}
	}
	return false, &api.Error{
		Status:  http.StatusUnsupportedMediaType,
		Message: "Content-Type must be application/json, or application/x-ndjson for newline-delimited JSON",
	}
}

// readBody reads a body within the limit.
func (p *Pipeline) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := &api.Error{
		Status:  http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("the body must have at most %d bytes", p.maxBody),
	}
	if r.ContentLength > p.maxBody {
		return nil, tooLarge
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := io.Copy(&body, http.MaxBytesReader(w, r.Body, p.maxBody))
	var limit *http.MaxBytesError
	if errors.As(err, &limit) {
		return nil, tooLarge
	}
	if err != nil {
		return nil, api.BadRequest("the body could not be read to its end")
	}
	return body.Bytes(), nil
}
