package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	acp "github.com/coder/acp-go-sdk"
)

// session is what the agent knows of one.
type session struct {
	ID         string
	Directory  string
	Model      string
	Remembered []string
	History    []said
}

// said is a message of the history.
type said struct {
	User bool
	Text string
}

// store keeps sessions in the home, so that another process can load them.
type store struct{ home string }

func (s store) path(id string) string {
	return filepath.Join(s.home, ".acpagent", filepath.Base(id)+".json")
}

func (s store) create(directory string) *session {
	return &session{ID: "session-" + rand.Text(), Directory: directory}
}

func (s store) save(one *session) error {
	data, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("saving the session: %w", err)
	}
	path := s.path(one.ID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("saving the session: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("saving the session: %w", err)
	}
	return nil
}

func (s store) load(id acp.SessionId) (*session, error) {
	data, err := os.ReadFile(s.path(string(id)))
	if err != nil {
		return nil, fmt.Errorf("loading the session: %w", err)
	}
	var one session
	if err := json.Unmarshal(data, &one); err != nil {
		return nil, fmt.Errorf("loading the session: %w", err)
	}
	return &one, nil
}
