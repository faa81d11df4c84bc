package store_test

import (
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// patience bounds every wait for what a fault would keep from happening.
const patience = 20 * time.Second

// testClock is a clock that the test moves.
type testClock struct{ hours atomic.Int64 }

func (c *testClock) now() time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.hours.Load()) * time.Hour)
}

func (c *testClock) advance(hours int64) { c.hours.Add(hours) }

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// counter returns the value of a counter.
func counter(t *testing.T, from prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

func timeout() <-chan time.Time { return time.After(patience) }

// answer returns what arrives, and fails where nothing does.
func answer(t *testing.T, answers <-chan error, what string) error {
	t.Helper()
	select {
	case err := <-answers:
		return err
	case <-timeout():
		t.Fatalf("%s: no answer in %v", what, patience)
		return nil
	}
}
