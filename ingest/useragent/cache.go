package useragent

import (
	"hash/maphash"
	"math/bits"
	"strings"
	"sync/atomic"
)

// MaxCacheSize is the most user agents that a Classifier can be asked to remember.
const MaxCacheSize = 1 << 20

// cache is direct-mapped: each user agent has one slot, and a newer one that
// falls into the slot replaces the older. An LRU keeps better entries, but every
// hit takes its lock to move an entry to the front; here a hit is an atomic load
// and a comparison, and what a worse choice costs is a miss of a microsecond.
type cache struct {
	seed  maphash.Seed // of this process, so that nobody can aim at a slot
	slots []slot
}

type slot struct {
	entry atomic.Pointer[entry]
}

type entry struct {
	userAgent string
	class     Class
}

// newCache returns nil for size 0.
func newCache(size int) *cache {
	if size == 0 {
		return nil
	}
	return &cache{seed: maphash.MakeSeed(), slots: make([]slot, 1<<bits.Len(uint(size-1)))}
}

func (c *cache) slot(userAgent string) *slot {
	return &c.slots[maphash.String(c.seed, userAgent)&uint64(len(c.slots)-1)]
}

func (s *slot) load(userAgent string) (class Class, ok bool) {
	if e := s.entry.Load(); e != nil && e.userAgent == userAgent {
		return e.class, true
	}
	return 0, false
}

// store copies userAgent, which is often a piece of a far larger buffer.
func (s *slot) store(userAgent string, class Class) {
	s.entry.Store(&entry{userAgent: strings.Clone(userAgent), class: class})
}
