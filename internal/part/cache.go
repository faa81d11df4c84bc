package part

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"footfall/sketch"
)

// Cache keeps payloads of tables and sets in memory, checked, those that were used
// last. They never change, so nothing in it can be out of date. It is safe for
// concurrent use.
type Cache struct {
	mu       sync.Mutex
	payloads *simplelru.LRU[cacheKey, []byte]
	bytes    int
	limit    int

	hits, misses prometheus.Counter
}

type cacheKey struct {
	project    sketch.ProjectNumber
	generation sketch.Position
	run, group uint32
	ordinal    uint16
	level      Level
}

// cacheOverhead is what an entry takes beside its payload.
const cacheOverhead = 176

// NewCache returns a cache that takes so many bytes. A nil registerer leaves its
// metrics unregistered.
func NewCache(limit int, registerer prometheus.Registerer) *Cache {
	c := &Cache{limit: limit}
	lookups := promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "footfall_part_cache_lookups_total",
		Help: "Tables and sets of cells that were looked for in memory, by whether they were there.",
	}, []string{"result"})
	c.hits, c.misses = lookups.WithLabelValues("hit"), lookups.WithLabelValues("miss")
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "footfall_part_cache_bytes",
		Help: "Memory of the tables and sets of cells that are kept for queries.",
	}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return float64(c.bytes)
	})
	// It is bounded by bytes, below. The number of entries follows.
	c.payloads, _ = simplelru.NewLRU(max(1, limit/cacheOverhead), func(_ cacheKey, payload []byte) {
		c.bytes -= cacheOverhead + cap(payload)
	})
	return c
}

func keyOf(id ID, g Group, ordinal uint16) cacheKey {
	return cacheKey{project: id.Project, level: id.Level, run: id.Run, group: g.Number, generation: g.Generation, ordinal: ordinal}
}

func (c *Cache) get(key cacheKey) ([]byte, bool) {
	c.mu.Lock()
	payload, found := c.payloads.Get(key)
	c.mu.Unlock()
	if found {
		c.hits.Inc()
	} else {
		c.misses.Inc()
	}
	return payload, found
}

func (c *Cache) add(key cacheKey, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.payloads.Contains(key) {
		return // Two queries read it at once.
	}
	c.bytes += cacheOverhead + cap(payload)
	c.payloads.Add(key, payload)
	for c.bytes > c.limit && c.payloads.Len() > 0 {
		c.payloads.RemoveOldest()
	}
}
