package ingest

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"footfall/sketch"
)

// metrics are listed in docs/metrics.md.
type metrics struct {
	accepted  [2]prometheus.Counter // by traffic
	ignored   prometheus.Counter
	rejected  prometheus.Counter
	bytes     prometheus.Counter
	logLines  prometheus.Counter
	logFaults prometheus.Counter
}

// newMetrics registers the metrics of the way in. A nil registerer leaves them
// unregistered.
func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	events := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "footfall_events_total",
		Help: "Page views by what became of them, and by who read. Traffic is empty where nobody was counted.",
	}, []string{"result", "traffic"})
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return &metrics{
		accepted: [2]prometheus.Counter{
			sketch.Human: events.WithLabelValues("accepted", "human"),
			sketch.AI:    events.WithLabelValues("accepted", "ai"),
		},
		ignored:   events.WithLabelValues("ignored", ""),
		rejected:  events.WithLabelValues("rejected", ""),
		bytes:     counter("footfall_ingest_bytes_total", "Bytes of request bodies and access logs that were read."),
		logLines:  counter("footfall_import_lines_total", "Lines of access logs that were read."),
		logFaults: counter("footfall_import_malformed_lines_total", "Lines of access logs that are in no known format."),
	}
}

func (m *metrics) accept(visits []sketch.Visit) {
	var human, ai float64
	for i := range visits {
		if visits[i].Traffic == sketch.AI {
			ai++
		} else {
			human++
		}
	}
	m.accepted[sketch.Human].Add(human)
	m.accepted[sketch.AI].Add(ai)
}
