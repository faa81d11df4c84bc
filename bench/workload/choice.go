package workload

import (
	"math"
	"math/bits"
)

// maxChoices bounds the options of a choice, and with maxWeight keeps its
// arithmetic within 64 bits.
const (
	maxChoices = 1 << 20
	maxWeight  = 1 << 40
)

// choice draws options with probabilities in proportion to their weights, each
// in constant time: Walker's alias method, as Vose builds it ("A Linear
// Algorithm for Generating Random Numbers with a Given Distribution", 1991), in
// integers.
type choice struct {
	columns []column
}

// column is an option, and another that fills up the rest of its share.
type column struct {
	threshold uint64 // the option's part of the column, in 2^-64
	other     int
}

// newChoice takes at most maxChoices weights of at most maxWeight each, not all
// of them zero.
func newChoice(weights []uint64) *choice {
	n := uint64(len(weights))
	var total uint64
	for _, weight := range weights {
		total += weight
	}
	// A column is as high as the total. An option's shares over all columns make
	// n times its weight.
	columns := make([]column, n)
	shares := make([]uint64, n)
	var low, high []int
	for i, weight := range weights {
		shares[i] = weight * n
		columns[i] = column{threshold: math.MaxUint64, other: i}
		if shares[i] < total {
			low = append(low, i)
		} else {
			high = append(high, i)
		}
	}
	for len(low) > 0 {
		short, long := low[len(low)-1], high[len(high)-1]
		low = low[:len(low)-1]
		threshold, _ := bits.Div64(shares[short], 0, total)
		columns[short] = column{threshold: threshold, other: long}
		shares[long] -= total - shares[short]
		if shares[long] < total {
			high = high[:len(high)-1]
			low = append(low, long)
		}
	}
	return &choice{columns: columns}
}

// draw returns the index of an option.
func (c *choice) draw(r *random) int {
	i, part := bits.Mul64(r.uint64(), uint64(len(c.columns)))
	if column := &c.columns[i]; part >= column.threshold {
		return column.other
	}
	return int(i)
}

// weightsOf returns the weight of each item.
func weightsOf[T any](items []T, weight func(T) uint64) []uint64 {
	weights := make([]uint64, len(items))
	for i, item := range items {
		weights[i] = weight(item)
	}
	return weights
}
