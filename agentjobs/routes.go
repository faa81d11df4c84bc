package agentjobs

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dgraph-io/badger/v4"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
)

// Routes adds the endpoints to a router. They ask for a key with scope admin.
func (js *Jobs) Routes(router *api.Router) {
	const project = "/v2/agent/:projectId"
	router.Project(http.MethodPost, project+"/job", js.PostJob)
	router.Project(http.MethodGet, project+"/jobs", js.GetJobs)
	router.Project(http.MethodGet, project+"/job/:id", js.GetJob)
	router.Project(http.MethodPost, project+"/job/:id/message", js.PostMessage)
	router.Project(http.MethodPost, project+"/job/:id/cancel", js.PostCancel)
	router.Project(http.MethodPost, project+"/job/:id/archive", js.PostArchive)
	router.Project(http.MethodGet, project+"/job/:id/log", js.GetLog)
}

// The bounds of what a client posts. A byte of a prompt takes six in JSON at most,
// as \u0000 does.
const (
	maxPromptBytes = 32 << 10
	maxBodyBytes   = 6*maxPromptBytes + 4<<10
)

// PostJob answers POST /v2/agent/{projectId}/job.
func (js *Jobs) PostJob(w http.ResponseWriter, r *http.Request, project access.Project) error {
	return js.postPrompt(w, r, project, http.StatusCreated, "job", "", func(prompt string, keep func(*badger.Txn, *job) error) (Job, error) {
		return js.Create(project, prompt, keep)
	})
}

// PostMessage answers POST /v2/agent/{projectId}/job/{id}/message.
func (js *Jobs) PostMessage(w http.ResponseWriter, r *http.Request, project access.Project) error {
	id, err := js.idOf(r, project)
	if err != nil {
		return err
	}
	return js.postPrompt(w, r, project, http.StatusOK, "message", r.PathValue("id"), func(prompt string, keep func(*badger.Txn, *job) error) (Job, error) {
		return js.Message(project, id, prompt, keep)
	})
}

// postPrompt answers a request that posts a prompt, once for each idempotency key.
func (js *Jobs) postPrompt(w http.ResponseWriter, r *http.Request, project access.Project, status int, route, id string,
	take func(prompt string, keep func(*badger.Txn, *job) error) (Job, error),
) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	request, err := js.newOnce(r, project, route, id, body)
	if err != nil {
		return err
	}
	prompt, err := parsePrompt(body)
	if err != nil {
		return err
	}
	answer, end, err := request.begin()
	if err != nil {
		return err
	}
	if answer != nil {
		api.WriteJSON(w, status, answer)
		return nil
	}
	defer end()
	j, err := take(prompt, request.keep)
	if err != nil {
		return err
	}
	api.Write(w, status, j)
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if header := r.Header.Get("Content-Type"); header != "" {
		if mediaType, _, err := mime.ParseMediaType(header); err != nil || mediaType != "application/json" {
			return nil, &api.Error{Status: http.StatusUnsupportedMediaType, Message: "Content-Type must be application/json"}
		}
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &api.Error{Status: http.StatusUnsupportedMediaType, Message: "Content-Encoding must be left out"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &api.Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body must have at most %d bytes", maxBodyBytes)}
	case err != nil:
		return nil, &api.Error{Status: http.StatusBadRequest, Message: "the body did not arrive whole"}
	}
	return body, nil
}

// parsePrompt reads {"prompt": "..."}. Other fields are ignored.
func parsePrompt(body []byte) (string, error) {
	var request struct {
		Prompt *string `json:"prompt"`
	}
	// This reader refuses names that stand twice and text that is no UTF-8.
	if err := json.Unmarshal(body, &request); err != nil {
		return "", api.BadRequest("the body must be a JSON object with a text under prompt, in UTF-8, each name once", err.Error())
	}
	switch {
	case request.Prompt == nil:
		return "", api.BadRequest("prompt is required")
	case len(*request.Prompt) > maxPromptBytes:
		return "", api.BadRequest(fmt.Sprintf("prompt must have at most %d bytes", maxPromptBytes))
	case strings.ContainsRune(*request.Prompt, 0) || !utf8.ValidString(*request.Prompt):
		return "", api.BadRequest("prompt must be valid UTF-8 without NUL")
	case strings.TrimSpace(*request.Prompt) == "":
		return "", api.BadRequest("prompt must not be blank")
	}
	return *request.Prompt, nil
}

// idOf returns the ID of the job in a request's path, where the project has it.
func (js *Jobs) idOf(r *http.Request, project access.Project) (database.JobID, error) {
	text := r.PathValue("id")
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text { // Parse takes other spellings too.
		return database.JobID{}, errUnknown
	}
	_, err = js.load(project, database.JobID(id))
	return database.JobID(id), err
}

// GetJob answers GET /v2/agent/{projectId}/job/{id}.
func (js *Jobs) GetJob(w http.ResponseWriter, r *http.Request, project access.Project) error {
	return js.answer(w, r, project, js.Get)
}

// PostCancel answers POST /v2/agent/{projectId}/job/{id}/cancel.
func (js *Jobs) PostCancel(w http.ResponseWriter, r *http.Request, project access.Project) error {
	return js.answer(w, r, project, js.Cancel)
}

// PostArchive answers POST /v2/agent/{projectId}/job/{id}/archive.
func (js *Jobs) PostArchive(w http.ResponseWriter, r *http.Request, project access.Project) error {
	return js.answer(w, r, project, js.Archive)
}

func (js *Jobs) answer(w http.ResponseWriter, r *http.Request, project access.Project, do func(access.Project, database.JobID) (Job, error)) error {
	id, err := js.idOf(r, project)
	if err != nil {
		return err
	}
	j, err := do(project, id)
	if err != nil {
		return err
	}
	api.Write(w, http.StatusOK, j)
	return nil
}

// Page is the answer to a request for jobs.
type Page struct {
	Jobs    []Job `json:"jobs"`
	HasMore bool  `json:"hasMore"`
}

var errStatus = errors.New("must be active, completed, failed or archived")

// GetJobs answers GET /v2/agent/{projectId}/jobs.
func (js *Jobs) GetJobs(w http.ResponseWriter, r *http.Request, project access.Project) error {
	given := api.ParseParameters(r.URL.RawQuery)
	limit, offset := given.Page()
	var status Status
	given.Read("status", func(s string) error {
		if status = Status(s); !slices.Contains(statuses, status) {
			return errStatus
		}
		return nil
	})
	if err := given.Err(); err != nil {
		return err
	}
	list, more, err := js.List(project, status, limit, offset)
	if err != nil {
		return err
	}
	api.Write(w, http.StatusOK, Page{Jobs: list, HasMore: more})
	return nil
}
