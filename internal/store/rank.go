package store

import (
	"cmp"
	"container/heap"
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// ranked is a row of a ranking before it has its path.
type ranked struct {
	number uint32
	count  sketch.Count
	views  [2]uint64
}

// Top returns the first rows. It unites only the visitors of paths that can be
// among them: the tables say how many a path can have at most, so once as many
// rows as are asked for have a number, those that can not reach the last of them
// are out. This is the idea of the threshold algorithm of Fagin, Lotem and Naor,
// "Optimal aggregation algorithms for middleware" (2001), in two rounds.
func (v *snapshot) Top(ctx context.Context, limit int) (*sketch.Ranking, error) {
	defer prometheus.NewTimer(v.store.metrics.topSeconds).ObserveDuration()
	release, err := v.store.enterRanking(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	scan, err := v.scan(ctx, false)
	if err != nil {
		return nil, v.failed(err)
	}
	// In the first round those that seem to be in, and some more.
	first := scan.largest(limit + limit/8 + 4)
	rows, err := v.count(ctx, scan.totals, first)
	if err != nil {
		return nil, v.failed(err)
	}
	if len(first) < len(scan.paths) {
		// In the second those that could still be.
		v.sort(rows)
		bar := rows[max(limit, 1)-1].count.Total
		var second []uint32
		for _, p := range scan.paths {
			if min(p.most, scan.totals.Total) >= bar {
				second = append(second, p.number)
			}
		}
		second = without(second, first)
		more, err := v.count(ctx, scan.totals, second)
		if err != nil {
			return nil, v.failed(err)
		}
		rows = append(rows, more...)
	}
	v.sort(rows)
	ranking, err := v.ranking(scan, rows[:min(limit, len(rows))])
	if err != nil {
		return nil, v.failed(err)
	}
	return ranking, nil
}

// All ranks every path.
func (v *snapshot) All(ctx context.Context) (sketch.Listing, error) {
	defer prometheus.NewTimer(v.store.metrics.allSeconds).ObserveDuration()
	release, err := v.store.enterRanking(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	scan, err := v.scan(ctx, true)
	if err != nil {
		return nil, v.failed(err)
	}
	v.sort(scan.rows)
	return newListing(v, scan), nil
}

func (v *snapshot) ranking(scan *scan, rows []ranked) (*sketch.Ranking, error) {
	numbers := make([]uint32, len(rows))
	for i, row := range rows {
		numbers[i] = row.number
	}
	names, err := v.names.names(v.store.db, numbers)
	if err != nil {
		return nil, err
	}
	r := &sketch.Ranking{Position: v.at, Totals: scan.totals, Views: scan.views, Paths: len(scan.paths) + len(scan.rows)}
	r.Rows = make([]sketch.Row, len(rows))
	for i, row := range rows {
		r.Rows[i] = sketch.Row{Path: names[i], Count: row.count, Views: row.views}
	}
	return r, nil
}

// sort puts rows into their order: by total descending, then by path.
func (v *snapshot) sort(rows []ranked) {
	slices.SortFunc(rows, func(a, b ranked) int {
		return cmp.Or(
			cmp.Compare(b.count.Total, a.count.Total),
			cmp.Compare(v.places.of(a.number), v.places.of(b.number)),
		)
	})
}

// scan is what going through all tables of a snapshot brings.
type scan struct {
	totals sketch.Count
	views  [2]uint64
	paths  []bounded // each path once, where paths are not counted
	rows   []ranked  // each path once, where they are
}

// bounded is a path with what its total does not exceed.
type bounded struct {
	number uint32
	most   uint64
}

// scan goes through the tables of all groups, and counts the totals and, if it is
// to, every path.
func (v *snapshot) scan(ctx context.Context, count bool) (*scan, error) {
	numbers := v.groups()
	found := make([]scan, len(numbers))
	result := new(scan)
	var siteViews [2]uint64
	err := v.each(ctx, len(numbers)+1, func(u *groupUnion, i int) (err error) {
		if i == 0 { // The site first: it is the longest.
			result.totals, siteViews, err = v.site()
			return err
		}
		return v.scanGroup(u, numbers[i-1], count, &found[i-1])
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		result.views = addViews(result.views, found[i].views)
		result.paths = append(result.paths, found[i].paths...)
		result.rows = append(result.rows, found[i].rows...)
	}
	for i := range result.rows {
		result.rows[i].count = result.rows[i].count.Within(result.totals)
	}
	// Each view stands in one row and in the site. Whatever else was damaged has
	// its checksum; this is for a part that is not the one that was written.
	if result.views != siteViews {
		return nil, sketch.Corrupted(database.DirectoryKey(v.project), "its pages have %v views, the site %v", result.views, siteViews)
	}
	return result, nil
}

func (v *snapshot) scanGroup(u *groupUnion, number uint32, count bool, found *scan) error {
	if err := u.load(number, v.cells.of(number)); err != nil {
		return err
	}
	for slot := range part.GroupPaths {
		slot := uint8(slot)
		if !u.has(slot) {
			continue
		}
		views := u.views(slot)
		found.views = addViews(found.views, views)
		path := part.NumberOf(number, slot)
		if !v.places.has(path) {
			return sketch.Corrupted(database.PathNameKey(v.project, path), "it is missing")
		}
		if !count {
			found.paths = append(found.paths, bounded{number: path, most: u.most(slot)})
			continue
		}
		visitors, err := u.count(slot)
		if err != nil {
			return err
		}
		found.rows = append(found.rows, ranked{number: path, count: visitors, views: views})
	}
	return nil
}

// groups returns the numbers of the groups that parts or overlays have, in order.
func (v *snapshot) groups() []uint32 {
	numbers := groupNumbers(v.roots)
	for group := range v.cells.ends {
		if len(v.cells.of(uint32(group))) > 0 {
			numbers = append(numbers, uint32(group))
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// site counts the distinct visitors of the site, and its views.
func (v *snapshot) site() (sketch.Count, [2]uint64, error) {
	var views, most [2]uint64
	for _, root := range v.roots {
		views = addViews(views, root.Site.Views)
		most[sketch.Human] += root.Site.Count.Human
		most[sketch.AI] += root.Site.Count.AI
	}
	for _, cell := range v.sites {
		views = addViews(views, cell.Views)
		most = expected(sketch.Count{Human: most[sketch.Human], AI: most[sketch.AI]}, cell)
	}
	if len(v.roots) == 1 && len(v.sites) == 0 {
		return v.roots[0].Site.Count, views, nil
	}
	union := v.store.siteUnions.Get().(*sketch.Accumulator)
	defer v.store.siteUnions.Put(union)
	union.Reset(most)
	for _, root := range v.roots {
		if err := v.reader.AccumulateSite(union, root); err != nil {
			return sketch.Count{}, views, err
		}
	}
	for _, cell := range v.sites {
		union.AddCell(cell)
	}
	return union.Count(), views, nil
}

// count counts the visitors of some paths.
func (v *snapshot) count(ctx context.Context, totals sketch.Count, paths []uint32) ([]ranked, error) {
	slices.Sort(paths)
	rows := make([]ranked, len(paths))
	// The paths of a group are for one goroutine, which reads its tables once. The
	// groups with the most paths go first, so that none is left with much to do at
	// the end.
	var groups []pathRun
	for i, number := range paths {
		group, _ := part.GroupOf(number)
		if last := len(groups) - 1; last < 0 || groups[last].group != group {
			groups = append(groups, pathRun{group: group, from: i})
		}
		groups[len(groups)-1].to = i + 1
	}
	slices.SortFunc(groups, func(a, b pathRun) int { return cmp.Compare(b.to-b.from, a.to-a.from) })
	err := v.each(ctx, len(groups), func(u *groupUnion, i int) error {
		run := groups[i]
		if err := u.load(run.group, v.cells.of(run.group)); err != nil {
			return err
		}
		for at := run.from; at < run.to; at++ {
			_, slot := part.GroupOf(paths[at])
			visitors, err := u.count(slot)
			if err != nil {
				return err
			}
			rows[at] = ranked{number: paths[at], count: visitors.Within(totals), views: u.views(slot)}
		}
		return nil
	})
	return rows, err
}

// pathRun is paths of one group that follow each other.
type pathRun struct {
	group    uint32
	from, to int
}

// each calls work with every number below n, on as many goroutines as there are
// processors, each of which has its own union.
func (v *snapshot) each(ctx context.Context, n int, work func(*groupUnion, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			u := v.store.groupUnions.Get().(*groupUnion)
			u.reader, u.roots = v.reader, v.roots
			defer func() {
				u.release()
				v.store.groupUnions.Put(u)
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := work(u, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// largest returns the numbers of the n paths that can have the most visitors.
func (s *scan) largest(n int) []uint32 {
	// A heap of those found so far, the least of them first: most paths of a large
	// site are compared with that one alone.
	var found leastFirst
	for _, p := range s.paths {
		switch {
		case len(found) < n:
			heap.Push(&found, p)
		case p.most > found[0].most:
			found[0] = p
			heap.Fix(&found, 0)
		}
	}
	numbers := make([]uint32, len(found))
	for i, p := range found {
		numbers[i] = p.number
	}
	return numbers
}

// leastFirst is a heap.Interface.
type leastFirst []bounded

func (h leastFirst) Len() int           { return len(h) }
func (h leastFirst) Less(i, j int) bool { return h[i].most < h[j].most }
func (h leastFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *leastFirst) Push(p any)        { *h = append(*h, p.(bounded)) }
func (h *leastFirst) Pop() any          { panic("store: nothing is taken from the heap") }

// without returns those of numbers that are not in others, which are sorted.
func without(numbers, others []uint32) []uint32 {
	return slices.DeleteFunc(numbers, func(number uint32) bool {
		_, found := slices.BinarySearch(others, number)
		return found
	})
}

// enterRanking waits until few enough rankings run: each takes memory, and there
// are only so many processors.
func (s *Store) enterRanking(ctx context.Context) (leave func(), err error) {
	select {
	case s.rankings <- struct{}{}:
		return func() { <-s.rankings }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
