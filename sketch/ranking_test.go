package sketch_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

func TestRankingClampsThenOrders(t *testing.T) {
	type count = sketch.Count
	tests := []struct {
		name   string
		totals count
		rows   []sketch.Row
		want   count
		order  []sketch.Row
	}{
		{
			name: "no rows",
		},
		{
			name:   "nothing to clamp",
			totals: count{Human: 10, AI: 4, Total: 12},
			rows: []sketch.Row{
				{Path: "/a", Count: count{Human: 3, AI: 1, Total: 4}},
				{Path: "/b", Count: count{Human: 8, AI: 4, Total: 10}},
			},
			want: count{Human: 10, AI: 4, Total: 12},
			order: []sketch.Row{
				{Path: "/b", Count: count{Human: 8, AI: 4, Total: 10}},
				{Path: "/a", Count: count{Human: 3, AI: 1, Total: 4}},
			},
		},
		{
			name:   "equal totals go by path, byte by byte",
			totals: count{Human: 9, AI: 9, Total: 9},
			rows: []sketch.Row{
				{Path: "/b", Count: count{Human: 2, Total: 2}},
				{Path: "/a/b", Count: count{AI: 2, Total: 2}},
				{Path: "/é", Count: count{Human: 2, Total: 2}},
				{Path: "/B", Count: count{Human: 2, AI: 2, Total: 2}},
				{Path: "/a", Count: count{Human: 2, Total: 2}},
			},
			want: count{Human: 9, AI: 9, Total: 9},
			order: []sketch.Row{
				{Path: "/B", Count: count{Human: 2, AI: 2, Total: 2}},
				{Path: "/a", Count: count{Human: 2, Total: 2}},
				{Path: "/a/b", Count: count{AI: 2, Total: 2}},
				{Path: "/b", Count: count{Human: 2, Total: 2}},
				{Path: "/é", Count: count{Human: 2, Total: 2}},
			},
		},
		{
			name:   "totals above the sum and below the larger",
			totals: count{Human: 5, AI: 5, Total: 11},
			rows:   []sketch.Row{{Path: "/a", Count: count{Human: 5, AI: 3, Total: 4}}},
			want:   count{Human: 5, AI: 5, Total: 10},
			order:  []sketch.Row{{Path: "/a", Count: count{Human: 5, AI: 3, Total: 5}}},
		},
		{
			name:   "a row above the totals, which decides the order",
			totals: count{Human: 100, AI: 10, Total: 105},
			rows: []sketch.Row{
				{Path: "/b", Count: count{Human: 103, AI: 12, Total: 120}},
				{Path: "/a", Count: count{Human: 100, AI: 9, Total: 106}},
			},
			want: count{Human: 100, AI: 10, Total: 105},
			order: []sketch.Row{
				{Path: "/a", Count: count{Human: 100, AI: 9, Total: 105}},
				{Path: "/b", Count: count{Human: 100, AI: 10, Total: 105}},
			},
		},
		{
			name:   "a total follows the clamped human and AI down",
			totals: count{Human: 5, AI: 1, Total: 6},
			rows:   []sketch.Row{{Path: "/a", Count: count{Human: 2, AI: 4, Total: 6}}},
			want:   count{Human: 5, AI: 1, Total: 6},
			order:  []sketch.Row{{Path: "/a", Count: count{Human: 2, AI: 1, Total: 3}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := sketch.NewRanking(42, test.totals, test.rows)
			if got.Position != 42 {
				t.Errorf("position %d", got.Position)
			}
			if got.Totals != test.want {
				t.Errorf("totals %v, expected %v", got.Totals, test.want)
			}
			if !slices.Equal(got.Rows, test.order) {
				t.Errorf("rows\n%v, expected\n%v", got.Rows, test.order)
			}
		})
	}
}

func TestRankingSumsTheViewsOfItsRows(t *testing.T) {
	got := sketch.NewRanking(1, sketch.Count{}, []sketch.Row{
		{Path: "/a", Views: [2]uint64{1, 20}},
		{Path: "/b", Views: [2]uint64{300, 4000}},
	})
	if want := [2]uint64{301, 4020}; got.Views != want {
		t.Errorf("views %v, expected %v", got.Views, want)
	}
}

// anyCount draws counts that no set would give, such as a total of nothing with
// many humans. 2^62 is the largest that an estimate can be.
func anyCount() *rapid.Generator[sketch.Count] {
	number := rapid.OneOf(rapid.Uint64Range(0, 8), rapid.Uint64Range(0, 1<<62), rapid.Just(uint64(1<<62)))
	return rapid.Custom(func(t *rapid.T) sketch.Count {
		return sketch.Count{
			Human: number.Draw(t, "human"),
			AI:    number.Draw(t, "ai"),
			Total: number.Draw(t, "total"),
		}
	})
}

func anyRows() *rapid.Generator[[]sketch.Row] {
	return rapid.Custom(func(t *rapid.T) []sketch.Row {
		var rows []sketch.Row
		for i := range rapid.IntRange(0, 12).Draw(t, "rows") {
			rows = append(rows, sketch.Row{Path: fmt.Sprintf("/%d", i), Count: anyCount().Draw(t, "count")})
		}
		return rows
	})
}

func TestRankingKeepsTheBoundsForAnyCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := anyRows().Draw(t, "rows")
		ranking := sketch.NewRanking(1, anyCount().Draw(t, "totals"), slices.Clone(rows))

		if err := inBounds(ranking.Totals); err != nil {
			t.Fatalf("totals: %v", err)
		}
		if len(ranking.Rows) != len(rows) {
			t.Fatalf("%d rows became %d", len(rows), len(ranking.Rows))
		}
		for i, row := range ranking.Rows {
			if err := inBounds(row.Count); err != nil {
				t.Fatalf("row %s: %v", row.Path, err)
			}
			if !atLeast(ranking.Totals, row.Count) {
				t.Fatalf("row %s: %v exceeds the totals %v", row.Path, row.Count, ranking.Totals)
			}
			if i == 0 {
				continue
			}
			before := ranking.Rows[i-1]
			if before.Count.Total < row.Count.Total || before.Count.Total == row.Count.Total && before.Path >= row.Path {
				t.Fatalf("row %v stands before %v", before, row)
			}
		}
	})
}

// Clamping a row to totals again, or to larger ones, changes nothing more.
func TestWithinKeepsARowBelowTheTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		totals := sketch.NewRanking(1, anyCount().Draw(t, "totals"), nil).Totals
		row := anyCount().Draw(t, "row")
		got := row.Within(totals)
		if err := inBounds(got); err != nil {
			t.Fatal(err)
		}
		if !atLeast(totals, got) {
			t.Fatalf("%+v exceeds the totals %+v", got, totals)
		}
		if again := got.Within(totals); again != got {
			t.Fatalf("%+v became %+v", got, again)
		}
	})
}

// inBounds checks max(human, ai) <= total <= human + ai.
func inBounds(c sketch.Count) error {
	if c.Total < max(c.Human, c.AI) || c.Total > c.Human+c.AI {
		return fmt.Errorf("total out of bounds: %+v", c)
	}
	return nil
}

// Counts that are already in bounds, as exact ones are, are shown as they are.
func TestRankingChangesNoTrueCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const p = sketch.PathPrecision
		site := sketch.NewCell(p)
		var rows []sketch.Row
		want := make(map[string]sketch.Count)
		for i := range rapid.IntRange(0, 5).Draw(t, "paths") {
			cell, path := cellOf(p, anyViews().Draw(t, "views")...), fmt.Sprintf("/%d", i)
			site.Merge(cell)
			want[path] = cell.Count()
			rows = append(rows, sketch.Row{Path: path, Count: cell.Count()})
		}
		ranking := sketch.NewRanking(1, site.Count(), rows)
		if ranking.Totals != site.Count() {
			t.Fatalf("totals %v became %v", site.Count(), ranking.Totals)
		}
		for _, row := range ranking.Rows {
			if row.Count != want[row.Path] {
				t.Fatalf("row %s: %v became %v", row.Path, want[row.Path], row.Count)
			}
		}
	})
}

// Clamping is monotone: where no estimate is lower, no number shown is lower.
func TestRankingNeverLowersACount(t *testing.T) {
	larger := func(t *rapid.T, c sketch.Count) sketch.Count {
		return sketch.Count{
			Human: rapid.Uint64Range(c.Human, 1<<62).Draw(t, "human"),
			AI:    rapid.Uint64Range(c.AI, 1<<62).Draw(t, "ai"),
			Total: rapid.Uint64Range(c.Total, 1<<62).Draw(t, "total"),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		totals, rows := anyCount().Draw(t, "totals"), anyRows().Draw(t, "rows")
		largerTotals, largerRows := larger(t, totals), slices.Clone(rows)
		for i := range largerRows {
			largerRows[i].Count = larger(t, largerRows[i].Count)
		}

		before := sketch.NewRanking(1, totals, rows)
		after := sketch.NewRanking(2, largerTotals, largerRows)
		if !atLeast(after.Totals, before.Totals) {
			t.Fatalf("totals fall from %v to %v", before.Totals, after.Totals)
		}
		byPath := func(a, b sketch.Row) int { return cmp.Compare(a.Path, b.Path) }
		slices.SortFunc(before.Rows, byPath)
		slices.SortFunc(after.Rows, byPath)
		for i, row := range after.Rows {
			if !atLeast(row.Count, before.Rows[i].Count) {
				t.Fatalf("row %s falls from %v to %v", row.Path, before.Rows[i].Count, row.Count)
			}
		}
	})
}
