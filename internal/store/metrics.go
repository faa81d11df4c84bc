package store

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"footfall/sketch"
)

// metrics are listed in docs/metrics.md.
type metrics struct {
	commitSeconds     prometheus.Histogram
	appendSeconds     prometheus.Histogram
	checkpointSeconds prometheus.Histogram
	topSeconds        prometheus.Observer
	allSeconds        prometheus.Observer
	blocks            prometheus.Counter
	overloaded        prometheus.Counter
	diskFull          prometheus.Counter
	overflow          prometheus.Counter
}

// newMetrics registers the store's metrics. A nil registerer leaves them
// unregistered.
func newMetrics(registerer prometheus.Registerer, s *Store) *metrics {
	factory := promauto.With(registerer)
	const kilo = 1e-3
	latency := []float64{.25 * kilo, .5 * kilo, 1 * kilo, 2.5 * kilo, 5 * kilo, 10 * kilo, 25 * kilo, 50 * kilo, .1, .25, .5, 1, 2.5, 5, 10}
	histogram := func(name, help string) prometheus.Histogram {
		return factory.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latency})
	}
	gauge := func(name, help string, value func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	gauge("footfall_queue_bytes", "Memory of batches that wait to be durable or folded.",
		func() float64 { return float64(s.queue.pool.Used()) })
	gauge("footfall_overlay_bytes", "Memory of what was folded since the last checkpoint.",
		func() float64 { return float64(s.overlaySize()) })
	gauge("footfall_log_bytes", "Bytes of the log since the last checkpoint.",
		func() float64 { return float64(s.log.Size()) })
	gauge("footfall_database_bytes", "Bytes of the database on disk.",
		func() float64 { return float64(s.db.Size()) })
	gauge("footfall_log_position", "Position of the last acknowledged batch.",
		func() float64 { return float64(s.Acknowledged()) })
	refused := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "footfall_batches_refused_total",
		Help: "Batches refused because the queue, or their project's share of it, was full, or the disk.",
	}, []string{"reason"})
	gauge("footfall_blocks_due", "Blocks of days that are over which are not built yet, and days of such page views that no checkpoint has written.",
		func() float64 { return float64(s.due()) })
	rank := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name: "footfall_rank_duration_seconds", Help: "Time to rank the visitors of a range, for its first rows or for all.", Buckets: latency,
	}, []string{"rows"})
	return &metrics{
		commitSeconds:     histogram("footfall_commit_duration_seconds", "Time from handing in a batch until it is durable."),
		appendSeconds:     histogram("footfall_log_append_duration_seconds", "Time to append a group of batches to the log and sync it."),
		checkpointSeconds: histogram("footfall_checkpoint_duration_seconds", "Time to write a checkpoint."),
		topSeconds:        rank.WithLabelValues("first"),
		allSeconds:        rank.WithLabelValues("all"),
		blocks: factory.NewCounter(prometheus.CounterOpts{
			Name: "footfall_blocks_built_total", Help: "Blocks that were built from days that are over.",
		}),
		overloaded: refused.WithLabelValues("queue"),
		diskFull:   refused.WithLabelValues("disk"),
		overflow: factory.NewCounter(prometheus.CounterOpts{
			Name: "footfall_overflow_views_total", Help: "Page views counted in the row (other), because their project has too many paths.",
		}),
	}
}

func (s *Store) overlaySize() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := s.active.bytes
	if s.flushing != nil {
		size += s.flushing.bytes
	}
	return size
}

// due returns how many blocks are due, and how many days that are over have page
// views that are not in a checkpoint.
func (s *Store) due() int {
	today := sketch.DayOf(s.now())
	due := int(s.blocksDue.Load())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range []*overlay{s.active, s.flushing} {
		if o != nil {
			due += o.daysBefore(today)
		}
	}
	return due
}

// refused counts batches that may be taken later.
func (m *metrics) refused(err error, batches int) {
	switch {
	case errors.Is(err, sketch.ErrOverloaded):
		m.overloaded.Add(float64(batches))
	case errors.Is(err, sketch.ErrDiskFull):
		m.diskFull.Add(float64(batches))
	}
}
