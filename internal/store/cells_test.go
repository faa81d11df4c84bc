package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// checkCells compares what Badger holds of a project, cell by cell, with the
// visits that were acknowledged: no view may be lost or be there twice, in the
// cells of pages and in those of the site, which no ranking shows. Everything
// must be checkpointed.
func checkCells(t testing.TB, db *database.DB, project sketch.ProjectNumber, visits []sketch.PageView) {
	t.Helper()
	want := make(map[string]*sketch.Cell)
	add := func(key []byte, p sketch.Precision, v sketch.PageView) {
		if want[string(key)] == nil {
			want[string(key)] = sketch.NewCell(p)
		}
		want[string(key)].Add(v.Traffic, v.Visitor)
	}
	for _, v := range visits {
		add(database.SiteKey(project, v.Day), sketch.SitePrecision, v)
		add(database.CellKey(project, v.Day, v.Path), sketch.PathPrecision, v)
	}
	err := db.View(func(txn *badger.Txn) error {
		var failures []error
		for _, prefix := range [][]byte{database.SitePrefix(project), database.CellPrefix(project)} {
			opts := badger.DefaultIteratorOptions
			opts.Prefix = prefix
			cursor := txn.NewIterator(opts)
			defer cursor.Close()
			for cursor.Rewind(); cursor.Valid(); cursor.Next() {
				key := cursor.Item().KeyCopy(nil)
				value, err := cursor.Item().ValueCopy(nil)
				if err != nil {
					return err
				}
				got, err := sketch.DecodeCell(key, value)
				if err != nil {
					return err
				}
				failures = append(failures, sameCell(key, got, want[string(key)]))
				delete(want, string(key))
			}
		}
		for key := range want {
			failures = append(failures, fmt.Errorf("cell %q is missing", key))
		}
		return errors.Join(failures...)
	})
	if err != nil {
		t.Fatalf("project %d: %v", project, err)
	}
}

func sameCell(key []byte, got, want *sketch.Cell) error {
	if want == nil {
		return fmt.Errorf("cell %q has %v views, expected none", key, got.Views)
	}
	if got.Views != want.Views {
		return fmt.Errorf("cell %q has %v views, expected %v", key, got.Views, want.Views)
	}
	for _, traffic := range []sketch.Traffic{sketch.Human, sketch.AI} {
		if !got.Visitors[traffic].Equal(&want.Visitors[traffic]) {
			return fmt.Errorf("cell %q has %d %v visitors, expected %d, or has others",
				key, got.Visitors[traffic].Count(), traffic, want.Visitors[traffic].Count())
		}
	}
	return nil
}
