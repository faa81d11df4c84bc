package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Point is one point of a curve: how long an answer of a system takes at some
// amount of something.
type Point struct {
	Peer   string
	Amount int
	P50    time.Duration
	P99    time.Duration
}

// WritePoints writes points as a CSV file, a row each; axis is of what the amounts
// are, such as "days". Times are in nanoseconds.
func WritePoints(name, axis string, points []Point) error {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing points: %w", err)
	}
	rows := [][]string{{"peer", axis, "p50_ns", "p99_ns"}}
	for _, p := range points {
		rows = append(rows, []string{
			p.Peer, strconv.Itoa(p.Amount), strconv.FormatInt(p.P50.Nanoseconds(), 10), strconv.FormatInt(p.P99.Nanoseconds(), 10),
		})
	}
	if err := errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close()); err != nil {
		return fmt.Errorf("writing points: %w", err)
	}
	return nil
}
