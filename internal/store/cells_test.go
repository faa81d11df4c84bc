package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// checkCells compares what Badger holds of a project, cell by cell, with the
// visits that were acknowledged: no view may be lost or be there twice, in the
// cells of pages, of the site and of blocks, and nothing of a day may be there that
// no root refers to. Everything must be checkpointed.
func checkCells(t testing.TB, db *database.DB, project sketch.ProjectNumber, visits []sketch.PageView) {
	t.Helper()
	err := db.View(func(txn *badger.Txn) error {
		directory, err := part.ReadDirectory(txn, project)
		if err != nil {
			return err
		}
		reader := part.Reader{Txn: txn}
		days := make(map[sketch.Day]bool)
		for _, v := range visits {
			days[v.Day] = true
		}
		var failures []error
		for day := range days {
			for level := part.Day; level <= part.MaxLevel; level++ {
				id := part.At(project, level, day)
				if !directory.Has(id) {
					if level == part.Day {
						failures = append(failures, fmt.Errorf("%v is missing", id))
					}
					continue
				}
				failures = append(failures, checkPart(reader, id, visits))
			}
		}
		return errors.Join(failures...)
	})
	if err != nil {
		t.Fatalf("project %d: %v", project, err)
	}
}

func checkPart(reader part.Reader, id part.ID, visits []sketch.PageView) error {
	const site = "the site"
	want := make(map[string]*sketch.Cell)
	add := func(path string, p sketch.Precision, v sketch.PageView) {
		if want[path] == nil {
			want[path] = sketch.NewCell(p)
		}
		want[path].Add(v.Traffic, v.Visitor)
	}
	for _, v := range visits {
		if id.Range().Contains(v.Day) {
			add(site, sketch.SitePrecision, v)
			add(v.Path, sketch.PathPrecision, v)
		}
	}
	root, err := part.ReadRoot(reader.Txn, id)
	if err != nil {
		return err
	}
	if root == nil {
		return fmt.Errorf("%v has no root", id)
	}
	sets, err := reader.SiteSets(root)
	if err != nil {
		return err
	}
	failures := []error{sameCell(id, site, root.Site, sets, want[site])}
	delete(want, site)
	referred := 1
	for _, group := range root.Groups {
		table := reader.Group(id, group)
		rows, err := table.Table(nil)
		if err != nil {
			return err
		}
		referred += 1 + int(rows[len(rows)-1].Ordinal)
		for _, row := range rows {
			key := database.PathNameKey(id.Project, part.NumberOf(group.Number, row.Slot))
			path, _, err := database.Get(reader.Txn, key, database.KindPathName)
			if err != nil {
				return err
			}
			if sets, err = table.Sets(&row); err != nil {
				return err
			}
			failures = append(failures, sameCell(id, string(path), row.Numbers, sets, want[string(path)]))
			delete(want, string(path))
		}
	}
	for path := range want {
		failures = append(failures, fmt.Errorf("%v: %s is missing", id, path))
	}
	err = reader.EachKey(id, func([]byte) error {
		referred--
		return nil
	})
	if err == nil && referred != 0 {
		err = fmt.Errorf("%v: its root refers to %d values more than there are", id, referred)
	}
	return errors.Join(append(failures, err)...)
}

func sameCell(id part.ID, path string, got part.Numbers, sets part.Sets, want *sketch.Cell) error {
	if want == nil {
		return fmt.Errorf("%v: %s has %v views, expected none", id, path, got.Views)
	}
	if got.Views != want.Views || got.Count != want.Count() {
		return fmt.Errorf("%v: %s has %+v, expected %v views, %+v", id, path, got, want.Views, want.Count())
	}
	for traffic := range sets {
		if encoded := want.Visitors[traffic].AppendEncoded(nil); string(encoded) != string(sets[traffic]) {
			return fmt.Errorf("%v: %s has other %v visitors", id, path, sketch.Traffic(traffic))
		}
	}
	return nil
}
