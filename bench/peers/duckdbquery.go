package main

import (
	"context"
	"fmt"

	"footfall/bench/exports"
	"footfall/query"
	"footfall/sketch"
)

// counters are asked on a table in memory, in the order of time, whose visitors are
// 64-bit hashes, as Footfall's are: DuckDB counts them faster than texts. Making it
// is not timed.
func (d *duckDBPeer) counters(ctx context.Context) ([]counter, error) {
	if !d.asked {
		return nil, nil
	}
	for _, statement := range []string{
		"SET threads TO 2", // as many as there are processors on the machines that this is measured on
		"ATTACH ':memory:' AS memory",
		"CREATE TABLE memory.hashed AS SELECT seen, path, hash(visitor) AS visitor, ai FROM views ORDER BY seen",
	} {
		if _, err := d.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("preparing exports of DuckDB: %w", err)
		}
	}
	var counters []counter
	for _, way := range []duckDBWay{exactly(), approximately()} {
		counters = append(counters, counter{name: way.name, prepare: func(within sketch.Range) (exports.Ask, error) {
			return func(ctx context.Context) (query.Page, error) { return d.export(ctx, way, within) }, nil
		}})
	}
	return counters, nil
}

// duckDBWay is how DuckDB counts distinct visitors.
type duckDBWay struct{ name, totals, rows string }

const (
	inRange = " WHERE seen >= $1 AND seen < $2 "
	byTotal = " GROUP BY path ORDER BY total DESC, path LIMIT $3"
)

// Exact counts are of groups, which is faster than count(DISTINCT visitor) with a
// FILTER, and says the same.
func exactly() duckDBWay {
	const (
		counts = " count(*) FILTER (human), count(*) FILTER (agent), count(*) AS total FROM "
		came   = " bool_or(NOT ai) AS human, bool_or(ai) AS agent FROM memory.hashed" + inRange
	)
	return duckDBWay{
		name:   "duckdb-distinct",
		totals: "SELECT" + counts + "(SELECT visitor," + came + "GROUP BY visitor)",
		rows:   "SELECT path," + counts + "(SELECT path, visitor," + came + "GROUP BY path, visitor)" + byTotal,
	}
}

func approximately() duckDBWay {
	const (
		distinct = "approx_count_distinct(visitor)"
		counts   = " " + distinct + " FILTER (NOT ai), " + distinct + " FILTER (ai), " + distinct + " AS total FROM memory.hashed" + inRange
	)
	return duckDBWay{name: "duckdb-approx", totals: "SELECT" + counts, rows: "SELECT path," + counts + byTotal}
}

// export asks for the totals and for the top rows.
func (d *duckDBPeer) export(ctx context.Context, way duckDBWay, within sketch.Range) (page query.Page, err error) {
	from, to := within.From.Start(), within.To.Start()
	if err := d.QueryRowContext(ctx, way.totals, from, to).Scan(&page.Totals.Human, &page.Totals.AI, &page.Totals.Total); err != nil {
		return page, fmt.Errorf("counting the site: %w", err)
	}
	rows, err := d.QueryContext(ctx, way.rows, from, to, exports.Top)
	if err != nil {
		return page, fmt.Errorf("counting paths: %w", err)
	}
	defer func() { _ = rows.Close() }() // What it could say, Err says.
	for rows.Next() {
		var row query.Row
		if err := rows.Scan(&row.Path, &row.Human, &row.AI, &row.Total); err != nil {
			return page, fmt.Errorf("counting paths: %w", err)
		}
		page.Visitors = append(page.Visitors, row)
	}
	if err := rows.Err(); err != nil {
		return page, fmt.Errorf("counting paths: %w", err)
	}
	return page, nil
}
