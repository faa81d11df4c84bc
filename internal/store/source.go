package store

import (
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// FindSource returns the last mark of the log that begins with head, of which
// the first sketch.SourceHead bytes count. A log that was shorter when it was
// first imported is found by the part it had then; the longest that fits wins.
// found is false for a log that was never imported.
func (s *Store) FindSource(ctx context.Context, project sketch.ProjectNumber, head []byte) (mark sketch.Mark, found bool, err error) {
	if err := s.awaitFolded(ctx, s.queue.acknowledged()); err != nil {
		return sketch.Mark{}, false, err
	}
	lengths, err := s.sourceLengths(project)
	if err != nil {
		return sketch.Mark{}, false, err
	}
	for length := min(len(head), sketch.SourceHead); length > 0; length-- {
		if !lengths[uint16(length)] {
			continue
		}
		mark, found, err := s.mark(project, sketch.SourceOf(head[:length]))
		if found || err != nil {
			return mark, found, err
		}
	}
	return sketch.Mark{}, false, nil
}

// mark returns the last folded mark of a source.
func (s *Store) mark(project sketch.ProjectNumber, source sketch.Source) (mark sketch.Mark, found bool, err error) {
	s.mu.Lock()
	for _, o := range []*overlay{s.active, s.flushing} {
		if o == nil || o.projects[project] == nil {
			continue
		}
		if mark, found = o.projects[project].sources[source]; found {
			s.mu.Unlock()
			return mark, true, nil
		}
	}
	s.mu.Unlock()

	err = s.db.View(func(txn *badger.Txn) error {
		key := database.SourceKey(project, source)
		payload, stored, err := database.Get(txn, key, database.KindSource)
		if err != nil || !stored {
			return err
		}
		if mark, err = decodeMark(payload); err != nil {
			return &sketch.CorruptionError{Key: key, Reason: err.Error()}
		}
		found = true
		return nil
	})
	if err != nil {
		return sketch.Mark{}, false, fmt.Errorf("reading how far a source was imported: %w", err)
	}
	return mark, found, nil
}

// sourceLengths returns the lengths of head by which the project's sources are
// named. Each costs one seek however many sources share it.
func (s *Store) sourceLengths(project sketch.ProjectNumber) (map[uint16]bool, error) {
	lengths := make(map[uint16]bool)
	s.mu.Lock()
	for _, o := range []*overlay{s.active, s.flushing} {
		if o == nil || o.projects[project] == nil {
			continue
		}
		for source := range o.projects[project].sources {
			lengths[source.Length] = true
		}
	}
	s.mu.Unlock()

	err := s.db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.Prefix = database.SourcePrefix(project)
		opts.PrefetchValues = false
		cursor := txn.NewIterator(opts)
		defer cursor.Close()
		for cursor.Rewind(); cursor.Valid(); {
			length, err := database.SourceLength(cursor.Item().Key())
			if err != nil {
				return err
			}
			lengths[length] = true
			if length == sketch.SourceHead {
				return nil
			}
			cursor.Seek(database.SourcesOfLength(project, length+1))
		}
		return nil
	})
	return lengths, err
}
