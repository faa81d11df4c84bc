package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/sketch"
)

// maxAdminBody bounds the body of an administrative request. The largest is a
// chunk of a log, one MiB.
const maxAdminBody = 2 << 20

// newAdmin returns what the administrative commands talk to. It asks for no key:
// whoever can open the control socket owns the data directory.
func newAdmin(a *app) http.Handler {
	mux := http.NewServeMux()
	route := func(pattern string, handler func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxAdminBody)
			if err := handler(w, r); err != nil {
				api.WriteError(w, r, a.logger, err)
			}
		})
	}
	route("GET /projects", a.listProjects)
	route("POST /projects", a.createProject)
	route("DELETE /projects/{project}", func(w http.ResponseWriter, r *http.Request) error {
		if err := a.deleteProject(r.Context(), r.PathValue("project")); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	route("DELETE /projects/{project}/days", func(w http.ResponseWriter, r *http.Request) error {
		if err := a.deleteDays(r); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	route("GET /projects/{project}/visitors", func(w http.ResponseWriter, r *http.Request) error {
		project, err := a.projectOf(r)
		if err != nil {
			return err
		}
		return a.exports.Visitors(w, r, project)
	})
	agent := func(pattern string, handler api.Handler) {
		route(pattern, func(w http.ResponseWriter, r *http.Request) error {
			project, err := a.projectOf(r)
			if err != nil {
				return err
			}
			return handler(w, r, project)
		})
	}
	agent("GET /projects/{project}/agent/settings", a.agentSettings)
	agent("PUT /projects/{project}/agent/settings", a.setAgentSettings)
	agent("POST /projects/{project}/agent/check", a.checkAgent)
	agent("POST /projects/{project}/agent/job", a.jobs.PostJob)
	agent("GET /projects/{project}/agent/jobs", a.jobs.GetJobs)
	agent("GET /projects/{project}/agent/job/{id}", a.jobs.GetJob)
	agent("POST /projects/{project}/agent/job/{id}/message", a.jobs.PostMessage)
	agent("POST /projects/{project}/agent/job/{id}/cancel", a.jobs.PostCancel)
	agent("POST /projects/{project}/agent/job/{id}/archive", a.jobs.PostArchive)
	agent("GET /projects/{project}/agent/job/{id}/log", a.jobs.GetLog)
	route("POST /projects/{project}/source", a.sourceOf)
	route("POST /projects/{project}/import", a.importLog)
	route("GET /keys", a.listKeys)
	route("POST /keys", a.createKey)
	route("DELETE /keys/{key}", func(w http.ResponseWriter, r *http.Request) error {
		if err := a.registry.RevokeKey(r.PathValue("key")); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	return mux
}

// projectOf returns the project that a request's path names.
func (a *app) projectOf(r *http.Request) (access.Project, error) {
	id := r.PathValue("project")
	project, found := a.registry.Project(id)
	if !found {
		return access.Project{}, fmt.Errorf("project %q: %w", id, access.ErrProjectUnknown)
	}
	return project, nil
}

// adminProject is a project in the answers to administrative commands.
type adminProject struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
}

func (a *app) listProjects(w http.ResponseWriter, _ *http.Request) error {
	list := []adminProject{}
	for _, p := range a.registry.Projects() {
		list = append(list, adminProject{ID: p.ID, Created: p.Created})
	}
	api.Write(w, http.StatusOK, list)
	return nil
}

func (a *app) createProject(w http.ResponseWriter, r *http.Request) error {
	var asked struct{ ID string }
	if err := readJSON(r, &asked); err != nil {
		return err
	}
	p, err := a.registry.CreateProject(asked.ID)
	if err != nil {
		return err
	}
	api.Write(w, http.StatusCreated, adminProject{ID: p.ID, Created: p.Created})
	return nil
}

// adminKey is a key in the answers to administrative commands. Text is there in
// the answer to its creation alone.
type adminKey struct {
	ID       string         `json:"id"`
	Text     string         `json:"text,omitempty"`
	Name     string         `json:"name"`
	Scope    access.Scope   `json:"scope"`
	Project  string         `json:"project"`
	Created  time.Time      `json:"created"`
	Expires  time.Time      `json:"expires,omitzero"`
	LastUsed string         `json:"lastUsed"`
	Allow    []netip.Prefix `json:"allow,omitempty"`
}

func newAdminKey(k access.Key) adminKey {
	key := adminKey{
		ID: k.ID, Name: k.Name, Scope: k.Scope, Project: k.Project,
		Created: k.Created, Expires: k.Expires, Allow: k.Allow,
	}
	if k.LastUsed != 0 {
		key.LastUsed = k.LastUsed.String()
	}
	return key
}

func (a *app) listKeys(w http.ResponseWriter, _ *http.Request) error {
	list := []adminKey{}
	for _, k := range a.registry.Keys() {
		list = append(list, newAdminKey(k))
	}
	api.Write(w, http.StatusOK, list)
	return nil
}

// keyRequest asks for a new key.
type keyRequest struct {
	Name    string         `json:"name"`
	Scope   access.Scope   `json:"scope"`
	Project string         `json:"project"`
	Days    int            `json:"days"` // until it expires; 0 means never
	Allow   []netip.Prefix `json:"allow"`
}

func (a *app) createKey(w http.ResponseWriter, r *http.Request) error {
	var asked keyRequest
	if err := readJSON(r, &asked); err != nil {
		return err
	}
	spec := access.KeySpec{Name: asked.Name, Scope: asked.Scope, Project: asked.Project, Allow: asked.Allow}
	if asked.Days > 0 {
		spec.Expires = a.registry.Now().AddDate(0, 0, asked.Days)
	}
	text, k, err := a.registry.CreateKey(spec)
	if err != nil {
		return err
	}
	key := newAdminKey(k)
	key.Text = text
	api.Write(w, http.StatusCreated, key)
	return nil
}

// sourceAnswer says how far a log was imported.
type sourceAnswer struct {
	Found bool        `json:"found"`
	Mark  sketch.Mark `json:"mark"`
}

func (a *app) sourceOf(w http.ResponseWriter, r *http.Request) error {
	project, err := a.projectOf(r)
	if err != nil {
		return err
	}
	head, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("reading the head of a log: %w", err)
	}
	mark, found, err := a.store.FindSource(r.Context(), project.Number, head)
	if err != nil {
		return err
	}
	api.Write(w, http.StatusOK, sourceAnswer{Found: found, Mark: mark})
	return nil
}

func (a *app) importLog(w http.ResponseWriter, r *http.Request) error {
	project, err := a.projectOf(r)
	if err != nil {
		return err
	}
	chunk, err := chunkFromQuery(r.URL.Query())
	if err != nil {
		return err
	}
	if chunk.Data, err = io.ReadAll(r.Body); err != nil {
		return fmt.Errorf("reading a chunk of a log: %w", err)
	}
	report, err := a.pipeline.Import(r.Context(), project, chunk)
	if err != nil {
		return err
	}
	api.Write(w, http.StatusOK, report)
	return nil
}

func readJSON(r *http.Request, value any) error {
	if err := json.NewDecoder(r.Body).Decode(value); err != nil {
		var limit *http.MaxBytesError
		if errors.As(err, &limit) {
			return &api.Error{Status: http.StatusRequestEntityTooLarge, Message: err.Error()}
		}
		return api.BadRequest("the request is not valid: " + err.Error())
	}
	return nil
}

// deleteDays deletes the days of a project before the one in the query.
func (a *app) deleteDays(r *http.Request) error {
	project, err := a.projectOf(r)
	if err != nil {
		return err
	}
	before, err := sketch.ParseDay(r.URL.Query().Get("before"))
	if err != nil {
		return api.BadRequest(fmt.Sprintf("before: %v", err))
	}
	// Half of it done would be of no use to a client that goes away.
	return a.store.DeleteDays(context.WithoutCancel(r.Context()), project.Number, before)
}
