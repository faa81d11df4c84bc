package store_test

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// Every metric is documented, and moves.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	n := open(t, func(opts *store.Options) { opts.Registerer = registry })
	n.commit(t, 1, storetest.NewWorkload(1).Visits()...)
	n.rank(t, 1)
	if err := n.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	n.commit(t, 1, storetest.NewWorkload(1).Visits()...)
	n.rank(t, 1)
	if err := n.BuildBlocks(); err != nil {
		t.Fatal(err)
	}
	n.commit(t, 1, storetest.NewWorkload(1).Visits()...)
	top(t, n)

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	documented, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		name := family.GetName()
		if !strings.Contains(string(documented), name) {
			t.Errorf("%s is not in docs/metrics.md", name)
		}
		switch name {
		case "footfall_queue_bytes", "footfall_batches_refused_total", "footfall_overflow_views_total":
			continue // Nothing waits.
		case "footfall_database_bytes":
			continue // Badger measures its files once a minute.
		}
		for _, m := range family.GetMetric() {
			if m.GetHistogram().GetSampleCount() == 0 && m.GetGauge().GetValue() == 0 && m.GetCounter().GetValue() == 0 {
				t.Errorf("%s did not move: %v", name, m)
			}
		}
	}
	if len(families) != 15 {
		t.Errorf("%d metrics", len(families))
	}
}

func top(t *testing.T, n *node) {
	t.Helper()
	snapshot, err := n.Snapshot(t.Context(), 1, sketch.AllDays())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	if _, err := snapshot.Top(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}
