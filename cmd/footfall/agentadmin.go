package main

import (
	"net/http"
	"time"

	"footfall/agentjobs"
	"footfall/internal/access"
	"footfall/internal/api"
)

func (a *app) agentSettings(w http.ResponseWriter, _ *http.Request, project access.Project) error {
	settings, found, err := a.jobs.Settings(project)
	if err != nil {
		return err
	}
	if !found {
		return &api.Error{Status: http.StatusNotFound, Message: "the project has no settings of agent jobs; give --repo and the others of footfall agent settings --help"}
	}
	api.Write(w, http.StatusOK, settings)
	return nil
}

func (a *app) setAgentSettings(w http.ResponseWriter, r *http.Request, project access.Project) error {
	var settings agentjobs.Settings
	if err := readJSON(r, &settings); err != nil {
		return err
	}
	settings, err := a.jobs.SetSettings(project, settings)
	if err != nil {
		return err
	}
	api.Write(w, http.StatusOK, settings)
	return nil
}

func (a *app) checkAgent(w http.ResponseWriter, r *http.Request, project access.Project) error {
	// It may take as long as a run, and bounds itself. Within the process there is no
	// deadline to lift.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	findings, err := a.jobs.Check(r.Context(), project)
	if err != nil {
		return err
	}
	api.Write(w, http.StatusOK, findings)
	return nil
}
