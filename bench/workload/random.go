package workload

import (
	"math/bits"
	"math/rand/v2"
)

// random is a stream of random numbers. It is not safe for concurrent use.
type random struct {
	pcg rand.PCG
}

// Streams of one seed, so that what one draws does not move the others.
const (
	streamPeople uint64 = iota + 1
	streamRequests
	streamEvents
)

func newRandom(seed, stream uint64) *random {
	r := new(random)
	r.pcg.Seed(seed, stream)
	return r
}

func (r *random) uint64() uint64 { return r.pcg.Uint64() }

// below64 returns a number in [0, n), or 0 where n is 0. Its bias is below n/2^64.
func (r *random) below64(n uint64) uint64 {
	high, _ := bits.Mul64(r.uint64(), n)
	return high
}

// below returns a number in [0, n), or 0 where n is 0. n must not be negative.
func (r *random) below(n int) int { return int(r.below64(uint64(n))) }

// between returns a number in [low, high].
func (r *random) between(low, high int) int { return low + r.below(high-low+1) }

// percent is true in p of a hundred draws.
func (r *random) percent(p int) bool { return r.below(100) < p }

// perMille is true in p of a thousand draws.
func (r *random) perMille(p int) bool { return r.below(1000) < p }

// pick returns one of the options, each as likely.
func pick[T any](r *random, options []T) T { return options[r.below(len(options))] }

// mix is a bijection that leaves no trace of the order of its arguments: the
// finaliser of SplitMix64 (Steele, Lea and Flood, 2014). Distinct numbers give
// distinct results, which makes it fit for identities.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
