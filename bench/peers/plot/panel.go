package main

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Colours that also those tell apart who do not see all of them (Okabe and Ito,
// "Color Universal Design", 2008).
var (
	blue       = color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	vermillion = color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	green      = color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	purple     = color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
	orange     = color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	grid       = color.RGBA{R: 0xc8, G: 0xc8, B: 0xc8, A: 0xff}
)

func newPanel(title, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(12)
	p.Y.Label.Text = y
	p.X.Tick.Marker = steps{}
	p.Title.TextStyle.Font.Size = vg.Points(17)
	p.Title.TextStyle.Font.Variant = "Sans"
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Min, axis.Max = 0, 0
		axis.Padding = 0
		axis.Label.Padding = vg.Points(6)
		axis.Label.TextStyle.Font.Size = vg.Points(13)
		axis.Label.TextStyle.Font.Variant = "Sans"
		axis.Tick.Label.Font.Size = vg.Points(12)
		axis.Tick.Label.Font.Variant = "Sans"
	}
	p.Legend.TextStyle.Font.Size = vg.Points(13)
	p.Legend.TextStyle.Font.Variant = "Sans"
	p.Legend.ThumbnailWidth = vg.Points(30)
	p.Legend.Padding = vg.Points(5)
	p.Legend.Top, p.Legend.XOffs = true, vg.Points(-10)
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = grid, grid
	p.Add(lines)
	return p
}

// line is one column drawn over time.
type line struct {
	name   string // with a verb each for its lowest and highest value
	column string
	unit   float64
	color  color.Color
	width  float64 // in points
}

func addLine(p *plot.Plot, s samples, l line) error {
	points, err := s.over(l.column, l.unit)
	if err != nil {
		return err
	}
	drawn, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", l.column, err)
	}
	drawn.Color, drawn.Width = l.color, vg.Points(l.width)
	p.Add(drawn)
	_, last, lowest, highest := plotter.XYRange(points)
	p.Legend.Add(fmt.Sprintf(l.name, lowest, highest), drawn)
	p.X.Min, p.X.Max = 0, last
	const room = 1.45 // for the legend
	p.Y.Min, p.Y.Max = 0, max(p.Y.Max, room*highest)
	return nil
}

// steps are ticks at multiples of a width, or of 1, 2 or 5 times a power of ten
// where that is 0, such that there are about six.
type steps struct{ width float64 }

// Ticks returns the ticks from 0 to a maximum.
func (s steps) Ticks(_, highest float64) (ticks []plot.Tick) {
	width := s.width
	if width == 0 {
		width = math.Pow(10, math.Floor(math.Log10(highest/6)))
		for _, factor := range []float64{5, 2} {
			if highest/(factor*width) >= 4 {
				width *= factor
				break
			}
		}
	}
	for i := 0; float64(i)*width <= highest; i++ {
		value := float64(i) * width
		ticks = append(ticks, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'g', 6, 64)})
	}
	return ticks
}
