package part_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/part"
	"footfall/sketch"
)

func TestSiteSetsRoundTrip(t *testing.T) {
	const p = sketch.SitePrecision
	db := open(t)
	for _, test := range []struct{ humans, agents int }{
		{0, 0}, {1, 0}, {0, 1}, {8192, 8191}, {8193, 8192}, {8193, 8193}, {50_000, 3},
	} {
		t.Run(fmt.Sprintf("%d humans and %d agents", test.humans, test.agents), func(t *testing.T) {
			c := cellOf(p, 1, test.humans, test.agents)
			a := sketch.NewAccumulator(p)
			a.AddCell(c)
			root := &part.Root{ID: id, Position: 900, SiteGeneration: 800, Site: part.Numbers{Views: c.Views}}
			var written entries
			if err := part.PutSite(root, a, written.put); err != nil {
				t.Fatal(err)
			}
			with(t, db, append(slices.Clone(written), root.Entry()), func(txn *badger.Txn) {
				r := part.Reader{Txn: txn}
				again, err := part.ReadRoot(txn, id)
				if err != nil {
					t.Fatal(err)
				}
				sets, err := r.SiteSets(again)
				if err != nil {
					t.Fatal(err)
				}
				read, err := merged(p, sets, again.Site)
				if err != nil {
					t.Fatal(err)
				}
				if !equalCells(read, c) || again.Site.Count != c.Count() {
					t.Errorf("read %v, %+v, expected %v, %+v", read.Views, read.Count(), c.Views, c.Count())
				}
				a.Reset([2]uint64{c.Count().Human, c.Count().AI})
				if err := r.AccumulateSite(a, again); err != nil || a.Count() != c.Count() {
					t.Errorf("accumulated %+v, expected %+v, %v", a.Count(), c.Count(), err)
				}
			})

			with(t, db, entries{root.Entry()}, func(txn *badger.Txn) {
				if err := checkCorrupted(part.Reader{Txn: txn}.AccumulateSite(a, root), written[0].Key); err != nil {
					t.Errorf("without its sets: %v", err)
				}
			})

			var removed entries
			if err := part.RemoveSite(root, removed.put); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(removed.keys(), written.keys()) || removed[0].Value != nil {
				t.Errorf("%q is removed, %q was written", removed.keys(), written.keys())
			}
		})
	}
}

// The sets of the site stand beside those of paths, whatever the paths are.
func TestSiteSetsHaveKeysOfTheirOwn(t *testing.T) {
	var site entries
	root := &part.Root{ID: id, SiteGeneration: group.Generation}
	if err := part.PutSite(root, sketch.NewAccumulator(sketch.SitePrecision), site.put); err != nil {
		t.Fatal(err)
	}
	largest, _ := part.GroupOf(1<<32 - 1)
	paths := groupOf(t, id, part.Group{Number: largest, Generation: group.Generation}, manyCells(2, 1, 1))
	if _, found := paths.find(site[0].Key); found {
		t.Error("the sets of the site and of paths have one key")
	}
}
