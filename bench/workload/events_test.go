package workload_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"footfall/bench/workload"
	"footfall/sketch"
)

func writeEvents(t testing.TB, events *workload.Events) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := events.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo: %d bytes of %d, %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// readEvents reads the lines as the events endpoint does, and checks their order.
func readEvents(t *testing.T, lines []byte) []visit {
	t.Helper()
	var visits []visit
	var last time.Time
	for line := range bytes.Lines(lines) {
		var event struct {
			Path, VisitorID, Traffic string
			Timestamp                time.Time
		}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		traffic, err := sketch.ParseTraffic(event.Traffic)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if event.Timestamp.Before(last) {
			t.Fatalf("%v follows %v", event.Timestamp, last)
		}
		last = event.Timestamp
		visits = append(visits, visit{event.Path, event.VisitorID, traffic, sketch.DayOf(event.Timestamp)})
	}
	return visits
}

func TestEventsTruth(t *testing.T) {
	for name, config := range map[string]workload.EventsConfig{
		"small":           {Seed: 1, Days: 9, Events: 5_000, Paths: 40, Humans: 300, AIs: 60},
		"more than one":   {Seed: 2, Days: 3, Events: 2_000, Paths: 1_000, Humans: 3, AIs: 100},
		"one of each":     {Seed: 3, Days: 1, Events: 1, Paths: 1, Humans: 1, AIs: 1},
		"more days":       {Seed: 4, Days: 400, Events: 700, Paths: 3, Humans: 20, AIs: 40},
		"sparse defaults": {Seed: 5, Events: 3_000},
	} {
		t.Run(name, func(t *testing.T) {
			config.From = firstDay
			events := newEvents(t, config)
			checkRecount(t, events.Truth(), readEvents(t, writeEvents(t, events)))
		})
	}
}

func TestTruthOfWhatWasAcknowledged(t *testing.T) {
	events := newEvents(t, workload.EventsConfig{Seed: 6, From: firstDay, Days: 5, Events: 2_500, Paths: 10, Humans: 100, AIs: 40})
	acknowledged := map[int]bool{}
	var visits []visit
	for batch := range events.Batches(100) {
		if batch.First/100%3 == 1 {
			continue
		}
		for i := range batch.Events {
			acknowledged[batch.First+i] = true
		}
		visits = append(visits, readEvents(t, batch.Body)...)
	}
	checkRecount(t, events.TruthWhere(func(event int) bool { return acknowledged[event] }), visits)
}

func TestBatchesAreTheWholeInPieces(t *testing.T) {
	events := newEvents(t, workload.EventsConfig{Seed: 1, From: firstDay, Events: 10_250})
	whole := writeEvents(t, events)
	if again := writeEvents(t, newEvents(t, workload.EventsConfig{Seed: 1, From: firstDay, Events: 10_250})); !bytes.Equal(whole, again) {
		t.Error("the same configuration wrote other events")
	}
	if other := writeEvents(t, newEvents(t, workload.EventsConfig{Seed: 2, From: firstDay, Events: 10_250})); bytes.Equal(whole, other) {
		t.Error("another seed wrote the same events")
	}
	for _, size := range []int{1_000, 1, 20_000} {
		var pieces []byte
		next := 0
		for batch := range events.Batches(size) {
			if batch.First != next || batch.Events > size || batch.Events != bytes.Count(batch.Body, []byte("\n")) {
				t.Fatalf("batch of %d from %d on has %d lines; want from %d on", batch.Events, batch.First, bytes.Count(batch.Body, []byte("\n")), next)
			}
			next += batch.Events
			pieces = append(pieces, batch.Body...)
		}
		if !bytes.Equal(pieces, whole) {
			t.Errorf("batches of %d are not the whole", size)
		}
	}
	for batch := range events.Batches(10) {
		if batch.First > 20 {
			t.Fatal("batches went on")
		}
		if batch.First == 20 {
			break
		}
	}
}

func TestEventsProportions(t *testing.T) {
	const n = 200_000
	events := newEvents(t, workload.EventsConfig{Seed: 9, From: firstDay, Events: n})
	if average := float64(len(writeEvents(t, events))) / n; average < 136 || average > 140 {
		t.Errorf("a line has %.1f bytes, want about 138", average)
	}
	truth := events.Truth()
	if truth.Days() != (sketch.Range{From: firstDay, To: firstDay + 90}) {
		t.Errorf("the default days are %v", truth.Days())
	}
	totals, rows := truth.Count(sketch.AllDays())
	if share := float64(totals.Views[sketch.AI]) / n; share < 0.245 || share > 0.255 {
		t.Errorf("AI agents have %.3f of the views, want a quarter", share)
	}
	if totals.Visitors.Total >= totals.Visitors.Human+totals.Visitors.AI {
		t.Error("no visitor came as human and as AI")
	}
	if totals.Visitors.AI != 5_000 {
		t.Errorf("%d AI agents came, want all 5,000", totals.Visitors.AI)
	}
	// 150,000 views by any of 200,000 people: 1 - exp(-3/4) of them come.
	if h := totals.Visitors.Human; h < 104_500 || h > 106_600 {
		t.Errorf("%d people came, want about 105,500", h)
	}
	// Zipf's law with exponent 1.1 over 2,000 ranks: 1/5.91 for the first, and
	// 2^-1.1 of that for the second.
	views := map[string]float64{}
	for _, row := range rows {
		views[row.Path] = float64(row.Views[0]+row.Views[1]) / n
	}
	if got := views["/"]; got < 0.165 || got > 0.173 {
		t.Errorf("the first path has %.4f of the views, want about 0.169", got)
	}
	if got := views["/quickstart"] / views["/"]; got < 0.45 || got > 0.483 {
		t.Errorf("the second path has %.3f of the first one's views, want about 0.467", got)
	}
	for day := firstDay; day < firstDay+90; day++ {
		count, _ := truth.Count(sketch.Range{From: day, To: day + 1})
		if got := count.Views[0] + count.Views[1]; got < n/90-1 || got > n/90+2 {
			t.Errorf("%v has %d views, want %d", day, got, n/90)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	events := map[string]workload.EventsConfig{
		"From":   {From: sketch.FirstDay - 1},
		"up to":  {From: sketch.LastDay, Days: 2},
		"Days":   {From: firstDay, Days: -1},
		"Days ":  {From: firstDay, Days: workload.MaxDays + 1},
		"Events": {From: firstDay, Events: -1},
		"Paths":  {From: firstDay, Paths: workload.MaxPaths + 1},
		"Humans": {From: firstDay, Humans: -5},
		"AIs":    {From: firstDay, AIs: workload.MaxVisitors},
	}
	for field, config := range events {
		_, err := workload.NewEvents(config)
		if !errors.Is(err, workload.ErrConfig) || !strings.Contains(err.Error(), strings.TrimSpace(field)) {
			t.Errorf("NewEvents with a wrong %s: %v", field, err)
		}
	}
	logs := map[string]workload.AccessLogConfig{
		"From":  {},
		"Days":  {From: firstDay, Days: -1},
		"Lines": {From: firstDay, Lines: -1},
	}
	for field, config := range logs {
		_, err := workload.NewAccessLog(config)
		if !errors.Is(err, workload.ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("NewAccessLog with a wrong %s: %v", field, err)
		}
	}
}

func TestEventsReportTheWritersError(t *testing.T) {
	r, w := io.Pipe()
	broken := errors.New("connection is gone")
	if err := r.CloseWithError(broken); err != nil {
		t.Fatal(err)
	}
	if _, err := newEvents(t, workload.EventsConfig{From: firstDay, Events: 10}).WriteTo(w); !errors.Is(err, broken) {
		t.Errorf("WriteTo a broken writer: %v", err)
	}
}
