package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"footfall/sketch"
)

// Rank returns all rows of a ranking, having held every way to ask for some of them
// to the same answer: the first rows, and pages.
func Rank(ctx context.Context, subject Subject, project sketch.ProjectNumber, within sketch.Range) (*sketch.Ranking, error) {
	snapshot, err := subject.Snapshot(ctx, project, within)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	listing, err := snapshot.All(ctx)
	if err != nil {
		return nil, err
	}
	whole, err := listing.Page(ctx, 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	if len(whole.Rows) != whole.Paths {
		return nil, fmt.Errorf("a ranking of %d paths has %d rows", whole.Paths, len(whole.Rows))
	}
	for _, limit := range []int{1, 3, 50, whole.Paths, whole.Paths + 1} {
		top, topErr := snapshot.Top(ctx, limit)
		err = errors.Join(err, topErr, same(fmt.Sprintf("the first %d rows", limit), top, whole.Slice(0, limit)))
	}
	stride := 1 + whole.Paths/3
	for _, offset := range []int{0, stride, 2 * stride, 3 * stride, math.MaxInt} {
		page, pageErr := listing.Page(ctx, offset, stride)
		err = errors.Join(err, pageErr, same(fmt.Sprintf("%d rows from %d on", stride, offset), page, whole.Slice(offset, stride)))
	}
	return whole, err
}

func same(what string, got, want *sketch.Ranking) error {
	if got == nil || len(got.Rows) != len(want.Rows) {
		return fmt.Errorf("%s are %+v, expected %+v", what, got, want)
	}
	for i := range want.Rows {
		if got.Rows[i] != want.Rows[i] {
			return fmt.Errorf("of %s, row %d is %+v, expected %+v", what, i, got.Rows[i], want.Rows[i])
		}
	}
	one, other := *got, *want
	one.Rows, other.Rows = nil, nil
	if !reflect.DeepEqual(one, other) {
		return fmt.Errorf("of %s, the totals are %+v, expected %+v", what, one, other)
	}
	return nil
}
