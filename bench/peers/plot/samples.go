package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot/plotter"
)

// samples are the rows of a CSV, below their head.
type samples struct {
	head []string
	rows [][]string
}

func readSamples(name string) (samples, error) {
	file, err := os.Open(name)
	if err != nil {
		return samples{}, fmt.Errorf("reading samples: %w", err)
	}
	rows, err := csv.NewReader(file).ReadAll()
	if err := errors.Join(err, file.Close()); err != nil {
		return samples{}, fmt.Errorf("reading samples: %w", err)
	}
	if len(rows) < 3 {
		return samples{}, fmt.Errorf("%s holds too few samples to draw", name)
	}
	return samples{head: rows[0], rows: rows[1:]}, nil
}

// over returns a column, in a unit, over the minutes since the start.
func (s samples) over(column string, unit float64) (plotter.XYs, error) {
	const secondsPerMinute = 60
	x, y := slices.Index(s.head, "seconds"), slices.Index(s.head, column)
	if x < 0 || y < 0 {
		return nil, fmt.Errorf("the samples have no column seconds or %s", column)
	}
	points := make(plotter.XYs, len(s.rows))
	for i, row := range s.rows {
		seconds, err := strconv.ParseFloat(row[x], 64)
		if err != nil {
			return nil, fmt.Errorf("sample %d: seconds: %w", i, err)
		}
		value, err := strconv.ParseFloat(row[y], 64)
		if err != nil {
			return nil, fmt.Errorf("sample %d: %s: %w", i, column, err)
		}
		points[i] = plotter.XY{X: seconds / secondsPerMinute, Y: value / unit}
	}
	return points, nil
}
