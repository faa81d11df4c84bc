package useragent

// keyBytes is how many first bytes of a literal choose its bucket. Some
// crawlers have no longer literal than 3 bytes (ds9, BW/).
const keyBytes = 3

// bucketBits leaves 19 of 20 buckets empty, which is what most places of a
// browser's user agent find. The buckets take 400 KB. An Aho-Corasick automaton would
// look at each byte once instead of three times, for a state and its transitions per letter of each literal.
const bucketBits = 14

// literal is a text whose presence calls for a look at its row.
type literal struct {
	text string
	row  int // of agents, or behind those, of crawlers
}

// index holds literals by a hash of their first bytes that takes upper and
// lower case for the same.
type index struct {
	buckets [1 << bucketBits][]literal
}

func (x *index) add(l literal) {
	b := bucket(l.text)
	x.buckets[b] = append(x.buckets[b], l)
}

// candidates returns the literals that may stand at the beginning of text,
// which has at least keyBytes bytes, and some that do not.
func (x *index) candidates(text string) []literal {
	return x.buckets[bucket(text)]
}

func bucket(text string) uint32 {
	const lowerCase = 0x202020
	key := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | lowerCase
	return key * 2654435769 >> (32 - bucketBits) // Fibonacci hashing: Knuth, TAOCP 3, 6.4
}
