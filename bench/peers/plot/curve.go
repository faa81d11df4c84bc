package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const nanosecondsPerMillisecond = 1e6

// curve is the points of one system.
type curve struct {
	peer   string
	points plotter.XYs // milliseconds over amounts
}

// curvePanel draws the medians of points, as package report writes them, a line for
// each system. Both axes are logarithmic, since systems and amounts differ by powers
// of ten.
func curvePanel(s samples, o options) (*plot.Plot, error) {
	curves, err := s.curves()
	if err != nil {
		return nil, err
	}
	p := newPanel(o.title, "p50 (ms)")
	p.X.Label.Text = s.head[1]
	p.Legend.Left, p.Legend.XOffs = true, vg.Points(10)
	all := plotter.XYs{}
	for i, c := range curves {
		line, dots, err := plotter.NewLinePoints(c.points)
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", c.peer, err)
		}
		colours := []color.Color{blue, vermillion, green, purple, orange}
		line.Color, line.Width = colours[i%len(colours)], vg.Points(2)
		dots.Color, dots.Shape, dots.Radius = line.Color, draw.CircleGlyph{}, vg.Points(3)
		p.Add(line, dots)
		p.Legend.Add(c.peer, line, dots)
		all = append(all, c.points...)
	}
	lowestX, highestX, lowestY, highestY := plotter.XYRange(all)
	if lowestX <= 0 || lowestY <= 0 {
		return nil, fmt.Errorf("%s: nothing that is 0 can be drawn", o.in)
	}
	p.X.Min, p.X.Max = decades(lowestX, highestX)
	p.Y.Min, p.Y.Max = decades(lowestY, highestY)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = powers{}, powers{}
	return p, nil
}

// decades returns the powers of ten around a range of numbers above 0.
func decades(lowest, highest float64) (below, above float64) {
	return math.Pow(10, math.Floor(math.Log10(lowest))), math.Pow(10, math.Ceil(math.Log10(highest)))
}

// curves returns the points by system, in the order of the file.
func (s samples) curves() (curves []curve, err error) {
	if len(s.head) < 3 || s.head[0] != "peer" || s.head[2] != "p50_ns" {
		return nil, fmt.Errorf("the columns are %s, want peer, an amount and p50_ns", strings.Join(s.head, ", "))
	}
	for i, row := range s.rows {
		amount, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return nil, fmt.Errorf("point %d: %w", i, err)
		}
		median, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			return nil, fmt.Errorf("point %d: %w", i, err)
		}
		at := slices.IndexFunc(curves, func(c curve) bool { return c.peer == row[0] })
		if at < 0 {
			at = len(curves)
			curves = append(curves, curve{peer: row[0]})
		}
		curves[at].points = append(curves[at].points, plotter.XY{X: amount, Y: median / nanosecondsPerMillisecond})
	}
	return curves, nil
}

// powers are ticks at powers of ten, and unlabelled ones at their multiples.
type powers struct{}

// Ticks returns the ticks between two powers of ten.
func (powers) Ticks(lowest, highest float64) (ticks []plot.Tick) {
	for power := lowest; power <= highest*1.01; power *= 10 {
		ticks = append(ticks, plot.Tick{Value: power, Label: strconv.FormatFloat(power, 'f', -1, 64)})
		for multiple := 2.0; multiple < 10 && multiple*power < highest; multiple++ {
			ticks = append(ticks, plot.Tick{Value: multiple * power})
		}
	}
	return ticks
}
