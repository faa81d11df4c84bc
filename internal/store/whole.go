package store

import (
	"context"
	"math"

	"footfall/sketch"
)

// Ranker is what both stores are for a query.
type Ranker interface {
	Snapshot(context.Context, sketch.ProjectNumber, sketch.Range) (sketch.Snapshot, error)
}

// Rank returns a ranking with all its rows at once, which take the more memory the
// more paths there are. It is for tools and tests; queries take pages.
func Rank(ctx context.Context, from Ranker, project sketch.ProjectNumber, within sketch.Range) (*sketch.Ranking, error) {
	snapshot, err := from.Snapshot(ctx, project, within)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	listing, err := snapshot.All(ctx)
	if err != nil {
		return nil, err
	}
	return listing.Page(ctx, 0, math.MaxInt)
}
