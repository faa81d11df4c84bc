package useragent

import (
	"strconv"
	"testing"
	"unsafe"
)

func TestCacheSizes(t *testing.T) {
	for size, want := range map[int]int{1: 1, 2: 2, 3: 4, 1000: 1024, 1024: 1024} {
		if got := len(newCache(size).slots); got != want {
			t.Errorf("a cache of %d has %d slots, want %d", size, got, want)
		}
	}
	if newCache(0) != nil {
		t.Error("a cache of 0 is not nil")
	}
}

func TestCacheRemembers(t *testing.T) {
	c := newClassifier(t, 64)
	const userAgent = "curl/8.5.0"
	if _, ok := c.cache.slot(userAgent).load(userAgent); ok {
		t.Error("there is an entry before the first call")
	}
	c.Classify(userAgent)
	if class, ok := c.cache.slot(userAgent).load(userAgent); !ok || class != Crawler {
		t.Errorf("remembered %v, %v", class, ok)
	}
	allocations := testing.AllocsPerRun(100, func() { c.Classify(userAgent) })
	if allocations != 0 {
		t.Errorf("a hit allocates %v times", allocations)
	}
}

// TestCacheKeepsNoBuffer: an entry that shared its bytes with the argument
// would hold the whole chunk of a log which that was cut from.
func TestCacheKeepsNoBuffer(t *testing.T) {
	c := newClassifier(t, 1)
	userAgent := string(make([]byte, 4*MaxLength))
	c.Classify(userAgent)
	e := c.cache.slots[0].entry.Load()
	if len(e.userAgent) != MaxLength || unsafe.StringData(e.userAgent) == unsafe.StringData(userAgent) {
		t.Errorf("the entry holds %d bytes of the caller", len(e.userAgent))
	}
}

func TestCacheReplaces(t *testing.T) {
	c := newClassifier(t, 8)
	for i := range 1000 {
		userAgent := "curl/" + strconv.Itoa(i)
		c.Classify(userAgent)
		if class, ok := c.cache.slot(userAgent).load(userAgent); !ok || class != Crawler {
			t.Fatalf("the newest is not remembered: %v, %v", class, ok)
		}
	}
	if len(c.cache.slots) != 8 {
		t.Errorf("the cache grew to %d", len(c.cache.slots))
	}
}
