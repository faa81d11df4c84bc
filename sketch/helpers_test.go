package sketch_test

import (
	"math/rand/v2"

	"pgregory.net/rapid"

	"footfall/sketch"
)

// mix is the finalizer of SplitMix64, a bijection: different numbers become
// different hashes, spread like those of a keyed hash.
func mix(x uint64) sketch.Hash {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return sketch.Hash(x ^ x>>31)
}

// visitors returns n different visitors. Those of another group are others.
func visitors(group uint32, n int) []sketch.Hash {
	hashes := make([]sketch.Hash, n)
	for i := range hashes {
		hashes[i] = mix(uint64(group)<<32 + uint64(i))
	}
	return hashes
}

func setOf(p sketch.Precision, hashes ...sketch.Hash) *sketch.Set {
	s := sketch.NewSet(p)
	for _, h := range hashes {
		s.Add(h)
	}
	return s
}

func distinct(hashes []sketch.Hash) int {
	seen := make(map[sketch.Hash]bool, len(hashes))
	for _, h := range hashes {
		seen[h] = true
	}
	return len(seen)
}

// smallPrecision draws precisions whose exact limits are 2, 4 and 16, so that
// short lists of visitors reach both sides of the turn. The laws do not depend
// on the precision.
func smallPrecision() *rapid.Generator[sketch.Precision] {
	return rapid.SampledFrom([]sketch.Precision{4, 5, 7})
}

// anyHash draws hashes that meet again, that agree in their low or their high
// bits, and the hash 0.
func anyHash() *rapid.Generator[sketch.Hash] {
	number := rapid.Uint64Range(0, 63)
	return rapid.OneOf(
		rapid.Map(number, mix),
		rapid.Map(number, func(n uint64) sketch.Hash { return sketch.Hash(n) }),
		rapid.Map(number, func(n uint64) sketch.Hash { return sketch.Hash(n << 58) }),
		rapid.Map(rapid.Uint64(), func(n uint64) sketch.Hash { return sketch.Hash(n) }),
	)
}

func anyVisitors() *rapid.Generator[[]sketch.Hash] {
	return rapid.Custom(func(t *rapid.T) []sketch.Hash {
		n := rapid.IntRange(0, 48).Draw(t, "n")
		return rapid.SliceOfN(anyHash(), n, n).Draw(t, "hashes")
	})
}

// view is a page view as a cell sees it.
type view struct {
	traffic sketch.Traffic
	visitor sketch.Hash
}

func anyViews() *rapid.Generator[[]view] {
	one := rapid.Custom(func(t *rapid.T) view {
		return view{
			traffic: rapid.SampledFrom([]sketch.Traffic{sketch.Human, sketch.AI}).Draw(t, "traffic"),
			visitor: anyHash().Draw(t, "visitor"),
		}
	})
	return rapid.Custom(func(t *rapid.T) []view {
		n := rapid.IntRange(0, 48).Draw(t, "n")
		return rapid.SliceOfN(one, n, n).Draw(t, "views")
	})
}

func cellOf(p sketch.Precision, views ...view) *sketch.Cell {
	c := sketch.NewCell(p)
	for _, v := range views {
		c.Add(v.traffic, v.visitor)
	}
	return c
}

func equalCells(a, b *sketch.Cell) bool {
	return a.Views == b.Views &&
		a.Visitors[sketch.Human].Equal(&b.Visitors[sketch.Human]) &&
		a.Visitors[sketch.AI].Equal(&b.Visitors[sketch.AI])
}

// seeded returns a source of randomness that repeats.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
