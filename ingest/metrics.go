package ingest

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"footfall/internal/fairshare"
	"footfall/sketch"
)

// metrics are listed in docs/metrics.md.
type metrics struct {
	accepted  [2]prometheus.Counter // by traffic
	ignored   prometheus.Counter
	rejected  prometheus.Counter
	repeated  prometheus.Counter
	refused   prometheus.Counter
	bytes     prometheus.Counter
	logLines  prometheus.Counter
	logFaults prometheus.Counter
}

// newMetrics registers the metrics of the way in. A nil registerer leaves them
// unregistered.
func newMetrics(registerer prometheus.Registerer, memory *fairshare.Pool) *metrics {
	factory := promauto.With(registerer)
	events := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "footfall_events_total",
		Help: "Page views by what became of them, and by who read. Traffic is empty where nobody was counted.",
	}, []string{"result", "traffic"})
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "footfall_body_bytes", Help: "Memory of bodies that are being read.",
	}, func() float64 { return float64(memory.Used()) })
	return &metrics{
		accepted: [2]prometheus.Counter{
			sketch.Human: events.WithLabelValues("accepted", "human"),
			sketch.AI:    events.WithLabelValues("accepted", "ai"),
		},
		ignored:   events.WithLabelValues("ignored", ""),
		rejected:  events.WithLabelValues("rejected", ""),
		repeated:  counter("footfall_repeated_batches_total", "Batches that were sent again with their idempotency key, and counted once."),
		refused:   counter("footfall_bodies_refused_total", "Bodies refused because the memory for them, or their project's share of it, was taken."),
		bytes:     counter("footfall_ingest_bytes_total", "Bytes of request bodies and access logs that were read."),
		logLines:  counter("footfall_import_lines_total", "Lines of access logs that were read."),
		logFaults: counter("footfall_import_malformed_lines_total", "Lines of access logs that are in no known format."),
	}
}

// count counts what became of the events of a request.
func (m *metrics) count(result answer, views [2]int) {
	m.accept(views)
	m.ignored.Add(float64(result.Ignored))
	m.rejected.Add(float64(result.Rejected))
}

// accept counts page views, by traffic.
func (m *metrics) accept(views [2]int) {
	m.accepted[sketch.Human].Add(float64(views[sketch.Human]))
	m.accepted[sketch.AI].Add(float64(views[sketch.AI]))
}
