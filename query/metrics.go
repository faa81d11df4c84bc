package query

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// listingMetrics counts the pages that follow a first one.
type listingMetrics struct {
	kept prometheus.Counter
	anew prometheus.Counter
}

func newListingMetrics(l *listings, registerer prometheus.Registerer) *listingMetrics {
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "footfall_kept_rankings",
		Help: "Rankings that are kept for following pages.",
	}, func() float64 { entries, _ := l.size(); return float64(entries) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "footfall_kept_ranking_bytes",
		Help: "Memory of rankings that are kept for following pages.",
	}, func() float64 { _, bytes := l.size(); return float64(bytes) })
	pages := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "footfall_following_pages_total",
		Help: "Pages beyond the first, by whether the ranking of their first page was kept or they were ranked anew.",
	}, []string{"outcome"})
	return &listingMetrics{kept: pages.WithLabelValues("kept"), anew: pages.WithLabelValues("anew")}
}
