package agentjobs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"footfall/agentjobs/gate"
)

type metrics struct {
	jobs     *prometheus.GaugeVec
	outcomes *prometheus.CounterVec
	wait     prometheus.Histogram
	seconds  prometheus.Histogram
	tokens   *prometheus.CounterVec
	requests *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer, depth func() float64) *metrics {
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "footfall_agent_queue_depth", Help: "Agent jobs that wait for a run.",
	}, depth)
	buckets := []float64{1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600}
	m := &metrics{
		jobs: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "footfall_agent_jobs", Help: "Agent jobs that are kept, by status.",
		}, []string{"status"}),
		outcomes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_agent_runs_total", Help: "Runs of agent jobs that ended, by outcome.",
		}, []string{"outcome"}),
		wait: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "footfall_agent_wait_seconds", Help: "From when a message was queued until its run began.", Buckets: buckets,
		}),
		seconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "footfall_agent_run_duration_seconds", Help: "From the beginning of a run to its end.", Buckets: buckets,
		}),
		tokens: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_agent_tokens_total", Help: "Tokens of models, as the models report them, else as estimated, by direction.",
		}, []string{"direction"}),
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_agent_model_requests_total", Help: "Requests of agents to models, by result.",
		}, []string{"result"}),
	}
	// Each is there from the start, as 0: what appears later has no rate.
	for _, status := range statuses {
		m.jobs.WithLabelValues(string(status))
	}
	for _, outcome := range []string{"completed", "failed", "cancelled", "interrupted"} {
		m.outcomes.WithLabelValues(outcome)
	}
	m.used(gate.Usage{})
	return m
}

// moved counts a job that went from one state to another. An empty one is none.
func (m *metrics) moved(from, to Status) {
	if from == to {
		return
	}
	if from != "" {
		m.jobs.WithLabelValues(string(from)).Dec()
	}
	if to != "" {
		m.jobs.WithLabelValues(string(to)).Inc()
	}
}

func (m *metrics) ended(err error, took time.Duration) {
	outcome := "completed"
	if err != nil {
		outcome = "failed"
	}
	m.outcomes.WithLabelValues(outcome).Inc()
	m.seconds.Observe(took.Seconds())
}

func (m *metrics) used(usage gate.Usage) {
	m.tokens.WithLabelValues("input").Add(float64(usage.InputTokens))
	m.tokens.WithLabelValues("output").Add(float64(usage.OutputTokens))
	m.requests.WithLabelValues("passed").Add(float64(usage.Requests))
	m.requests.WithLabelValues("refused").Add(float64(usage.Refused))
}
