package agentjobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/uuid"

	"footfall/internal/access"
	"footfall/internal/database"
)

// sweepAlways archives and removes what is due, until Close.
func (js *Jobs) sweepAlways() {
	ticker := time.NewTicker(js.SweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-js.ctx.Done():
			return
		case <-ticker.C:
		}
		for _, project := range js.Registry.Projects() {
			if err := js.sweep(project); err != nil {
				js.logger.Error("Agent jobs that are due were not archived or removed.", "project", project.ID, "error", err)
			}
		}
	}
}

// sweep archives jobs to which nothing happened for long, and removes those that
// were archived long ago, and receipts whose time is over.
func (js *Jobs) sweep(project access.Project) error {
	now := js.Now()
	jobs, err := js.all(project)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		switch {
		case js.ctx.Err() != nil:
			return nil
		case js.runs(j.ID): // A cancelled run that is still ending writes yet.
		case j.Status == Archived && !now.Before(j.Archived.Add(js.Retention)):
			err = errors.Join(err, js.remove(project, j))
		case j.Status != Active && j.Status != Archived && !now.Before(j.Updated.Add(js.ArchiveAfter)):
			js.mu.Lock()
			_, archiveErr := js.archive(project, j.ID, archiveDue)
			js.mu.Unlock()
			if !errors.Is(archiveErr, errStillActive) { // A message came in between.
				err = errors.Join(err, archiveErr)
			}
		}
	}
	return errors.Join(err, js.removeReceipts(project, now))
}

// runs reports whether a run of a job has not ended yet.
func (js *Jobs) runs(id database.JobID) bool {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.running[id] != nil
}

// remove removes a job with its messages and its log.
func (js *Jobs) remove(project access.Project, j *job) error {
	keys := [][]byte{database.JobKey(project.Number, j.ID)}
	err := js.db.View(func(txn *badger.Txn) error {
		for _, prefix := range [][]byte{database.JobMessagePrefix(project.Number, j.ID), database.JobLogPrefix(project.Number, j.ID)} {
			err := database.EachKey(txn, prefix, func(key []byte) error {
				keys = append(keys, append([]byte(nil), key...))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("removing job %s: %w", uuid.UUID(j.ID), err)
	}
	// A transaction is bounded in its size. The job goes last, so that what a crash
	// leaves is found again.
	for i := len(keys) - 1; i >= 0; i -= 500 {
		some := keys[max(0, i-499) : i+1]
		err := js.db.Update(func(txn *badger.Txn) error {
			for _, key := range some {
				if err := txn.Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("removing job %s: %w", uuid.UUID(j.ID), err)
		}
	}
	js.metrics.moved(Archived, "")
	return removeAll(js.copyOf(j.ID))
}

// removeAll removes a directory that an agent could write to, and follows no link
// out of it. What the agent made unreadable is made readable first.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }() // It was read-only.
	openUp(root, ".")
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}

// openUp lets the owner into a directory and all below it. What fails is found when
// it is removed.
func openUp(root *os.Root, name string) {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return
	}
	_ = root.Chmod(name, 0o700)
	dir, err := root.Open(name)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	for {
		entries, err := dir.ReadDir(1000)
		for _, entry := range entries {
			if entry.Type()&fs.ModeDir != 0 {
				openUp(root, filepath.Join(name, entry.Name()))
			}
		}
		if err != nil {
			return
		}
	}
}
