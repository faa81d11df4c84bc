// Package accesstest opens registries for tests.
package accesstest

import (
	"crypto/rand"
	"testing"
	"time"

	"footfall/internal/access"
	"footfall/internal/database"
)

// Open opens a registry on a new database that lasts as long as the test. Its
// time is now's, or the real one where now is nil.
func Open(t testing.TB, now func() time.Time) *access.Registry {
	t.Helper()
	db, err := database.Open(t.TempDir(), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if now == nil {
		now = time.Now
	}
	registry, err := access.Open(access.Options{Database: db, Now: now, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// Project makes a project.
func Project(t testing.TB, registry *access.Registry, id string) access.Project {
	t.Helper()
	project, err := registry.CreateProject(id)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// Key makes a key and returns its text.
func Key(t testing.TB, registry *access.Registry, spec access.KeySpec) string {
	t.Helper()
	text, _, err := registry.CreateKey(spec)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
