package useragent

import "fmt"

// Class is who reads.
type Class uint8

const (
	// Human is whoever is none of the others.
	Human Class = iota
	// AI is an agent of our table, or a crawler tagged ai-crawler.
	AI
	// Crawler is any other crawler, tool or library of crawler-user-agents.
	Crawler
	// None says nothing of itself: the user agent is empty or "-".
	None
)

// String is the class in lower case.
func (c Class) String() string {
	switch c {
	case Human:
		return "human"
	case AI:
		return "ai"
	case Crawler:
		return "crawler"
	case None:
		return "none"
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// MaxLength is how many bytes of a user agent are looked at. Those of browsers
// and crawlers have 60 to 400. Without a bound, whoever writes a request sets
// how long the regular expressions run and how much a cache entry holds.
const MaxLength = 1024

// Classifier classifies user agents. It is safe for concurrent use.
type Classifier struct {
	tables *tables
	cache  *cache
}

// New makes a Classifier of the embedded tables that remembers up to cacheSize
// user agents, rounded up to a power of two; 0 is no cache. A remembered user agent
// takes 64 bytes and its length, so 1.1 KB at most. It fails when cacheSize is
// negative or above MaxCacheSize, or a table is damaged.
func New(cacheSize int) (*Classifier, error) {
	if cacheSize < 0 || cacheSize > MaxCacheSize {
		return nil, fmt.Errorf("user agent cache of %d entries: want 0 to %d", cacheSize, MaxCacheSize)
	}
	agents, err := parseAgents(agentsTSV)
	if err != nil {
		return nil, fmt.Errorf("read agents.tsv: %w", err)
	}
	crawlers, err := parseCrawlers(crawlersTSV)
	if err != nil {
		return nil, fmt.Errorf("read crawlers.tsv: %w", err)
	}
	return &Classifier{tables: newTables(agents, crawlers), cache: newCache(cacheSize)}, nil
}

// Classify says who reads. Only the first MaxLength bytes count. It keeps no
// reference to userAgent.
func (c *Classifier) Classify(userAgent string) Class {
	if userAgent == "" || userAgent == "-" {
		return None
	}
	if len(userAgent) > MaxLength {
		userAgent = userAgent[:MaxLength]
	}
	if c.cache == nil {
		return c.tables.classify(userAgent)
	}
	slot := c.cache.slot(userAgent)
	if class, ok := slot.load(userAgent); ok {
		return class
	}
	class := c.tables.classify(userAgent)
	slot.store(userAgent, class)
	return class
}
