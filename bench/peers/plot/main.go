// Command plot draws results: the samples of a soak, which are memory over time with
// its budget and below it open files and goroutines; or points of curves.
package main

import (
	"errors"
	"flag"
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

type options struct {
	in, out string
	title   string
	budget  float64 // MiB
	curves  bool
}

func main() {
	var o options
	flag.StringVar(&o.in, "in", "soak.csv", "samples, as the soak writes them, or points")
	flag.StringVar(&o.out, "out", "soak.png", "PNG to draw")
	flag.StringVar(&o.title, "title", "footfall serve under a steady load", "title")
	flag.Float64Var(&o.budget, "budget", 512, "memory budget in MiB; 0 draws none")
	flag.BoolVar(&o.curves, "curves", false, "draw points of curves instead of a soak")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

// The image, at vgimg's 96 dots an inch: 1,200 by 800 pixels.
const (
	width  = 12.5 * vg.Inch
	height = 25 * vg.Inch / 3
)

const mebibyte = 1 << 20

func run(o options) error {
	s, err := readSamples(o.in)
	if err != nil {
		return err
	}
	if o.curves {
		panel, err := curvePanel(s, o)
		if err != nil {
			return err
		}
		return drawPanels(o.out, panel)
	}
	memory, err := memoryPanel(s, o)
	if err != nil {
		return err
	}
	counts, err := countsPanel(s)
	if err != nil {
		return err
	}
	return drawPanels(o.out, memory, counts)
}

func memoryPanel(s samples, o options) (*plot.Plot, error) {
	p := newPanel(o.title, "memory (MiB)")
	err := addLine(p, s, line{name: "anonymous resident memory, %.0f to %.0f MiB", column: "rss_anon", unit: mebibyte, color: blue, width: 2})
	if err != nil {
		return nil, err
	}
	p.Y.Tick.Marker = steps{}
	if o.budget > 0 {
		p.Y.Max = max(p.Y.Max, o.budget*1.1)
		p.Y.Tick.Marker = steps{width: o.budget / 4}
		budget := plotter.NewFunction(func(float64) float64 { return o.budget })
		budget.Color, budget.Width, budget.Dashes = vermillion, vg.Points(2), []vg.Length{vg.Points(8), vg.Points(4)}
		p.Add(budget)
		p.Legend.Add(fmt.Sprintf("budget of %.0f MiB", o.budget), budget)
	}
	// Memory is to stay near the budget: the room is below.
	p.Legend.Top, p.Legend.YOffs = false, vg.Points(8)
	return p, nil
}

func countsPanel(s samples) (*plot.Plot, error) {
	p := newPanel("", "number")
	p.X.Label.Text = "time (minutes)"
	p.Y.Tick.Marker = steps{}
	return p, errors.Join(
		addLine(p, s, line{name: "goroutines, %.0f to %.0f", column: "goroutines", unit: 1, color: green, width: 1.5}),
		addLine(p, s, line{name: "open file descriptors, %.0f to %.0f", column: "open_fds", unit: 1, color: purple, width: 1.5}),
	)
}

// drawPanels draws panels one below the other, their axes aligned.
func drawPanels(name string, panels ...*plot.Plot) error {
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseBackgroundColor(color.White))
	tiles := draw.Tiles{
		Rows: len(panels), Cols: 1, PadY: vg.Points(16),
		PadTop: vg.Points(10), PadBottom: vg.Points(8), PadLeft: vg.Points(8), PadRight: vg.Points(20),
	}
	rows := make([][]*plot.Plot, len(panels))
	for i, p := range panels {
		rows[i] = []*plot.Plot{p}
	}
	for i, row := range plot.Align(rows, tiles, draw.New(canvas)) {
		panels[i].Draw(row[0])
	}
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing an image: %w", err)
	}
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing an image: %w", err)
	}
	return nil
}
