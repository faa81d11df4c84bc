package access

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// What a change of projects may answer.
var (
	// ErrProjectID: the ID does not match [a-z0-9][a-z0-9-]{0,62}.
	ErrProjectID = errors.New("a project ID has 1 to 63 characters a-z, 0-9 or -, and does not begin with -")
	// ErrProjectExists: there is a project of this ID.
	ErrProjectExists = errors.New("the project exists already")
	// ErrProjectUnknown: there is no project of this ID.
	ErrProjectUnknown = errors.New("there is no such project")
)

// Project is one documentation site.
type Project struct {
	ID      string
	Number  sketch.ProjectNumber
	Created time.Time
	// Secret keys the hash of the project's visitors. It never changes, or days
	// would stop to deduplicate; it never leaves the process.
	Secret [16]byte
}

var projectID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// projectCounter names the last project number that was given.
const projectCounter = "project"

// storedProject is a project as the database holds it, under its ID.
type storedProject struct {
	Number  uint64    `json:"number"`
	Created time.Time `json:"created"`
	Secret  []byte    `json:"secret"`
}

// CreateProject makes a project, synced to disk when it returns. ErrProjectID
// and ErrProjectExists say why not.
func (r *Registry) CreateProject(id string) (Project, error) {
	if !projectID.MatchString(id) {
		return Project{}, fmt.Errorf("project ID %q: %w", id, ErrProjectID)
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if _, exists := r.Project(id); exists {
		return Project{}, fmt.Errorf("project %q: %w", id, ErrProjectExists)
	}
	p := Project{ID: id, Created: r.now().UTC().Truncate(time.Second)}
	if err := r.random(p.Secret[:]); err != nil {
		return Project{}, fmt.Errorf("making the secret of project %q: %w", id, err)
	}
	err := r.db.Update(func(txn *badger.Txn) error {
		last, err := database.GetCounter(txn, projectCounter)
		if err != nil {
			return err
		}
		// A number is never given twice, also after a deletion: what the log
		// still holds of the deleted project must not reach this one.
		p.Number = sketch.ProjectNumber(last + 1)
		if err := database.SetCounter(txn, projectCounter, last+1); err != nil {
			return err
		}
		stored := storedProject{Number: last + 1, Created: p.Created, Secret: p.Secret[:]}
		return database.SetJSON(txn, database.ProjectKey(id), database.KindProject, stored)
	})
	if err != nil {
		return Project{}, fmt.Errorf("creating project %q: %w", id, err)
	}
	r.mu.Lock()
	r.projects[id] = p
	r.mu.Unlock()
	return p, nil
}

// Project returns the project of this ID.
func (r *Registry) Project(id string) (Project, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	p, found := r.projects[id]
	return p, found
}

// Projects returns all projects by ID.
func (r *Registry) Projects() []Project {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.projects), func(a, b Project) int { return cmp.Compare(a.ID, b.ID) })
}

// Live reports whether a project of this number exists.
func (r *Registry) Live(number sketch.ProjectNumber) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, p := range r.projects {
		if p.Number == number {
			return true
		}
	}
	return false
}

// DeleteProject removes a project and its keys in one step and returns what it
// was. What page views made of it is the store's to remove.
func (r *Registry) DeleteProject(id string) (Project, error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	p, found := r.Project(id)
	if !found {
		return Project{}, fmt.Errorf("project %q: %w", id, ErrProjectUnknown)
	}
	var keys []Key
	for _, key := range r.Keys() {
		if key.Project == id {
			keys = append(keys, key)
		}
	}
	err := r.db.Update(func(txn *badger.Txn) error {
		for _, key := range keys {
			if err := txn.Delete(database.APIKeyKey(key.sum)); err != nil {
				return err
			}
		}
		return txn.Delete(database.ProjectKey(id))
	})
	if err != nil {
		return Project{}, fmt.Errorf("deleting project %q: %w", id, err)
	}
	r.forget(id, keys)
	// Deleted they are; this removes what they were from the disk.
	dropped := [][]byte{database.ProjectKey(id)}
	for _, key := range keys {
		dropped = append(dropped, database.APIKeyKey(key.sum))
	}
	if err := r.db.Drop(dropped...); err != nil {
		return Project{}, fmt.Errorf("deleting project %q: %w", id, err)
	}
	return p, nil
}

func (r *Registry) forget(id string, keys []Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.projects, id)
	for _, key := range keys {
		delete(r.keys, key.sum)
	}
}
