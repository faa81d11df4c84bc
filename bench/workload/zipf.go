package workload

import "math"

// zipfWeights returns the weights of n ranks that Zipf's law gives them: that of
// rank k, from 1, is in proportion to 1/k^exponent.
func zipfWeights(n int, exponent float64) []uint64 {
	weights := make([]uint64, n)
	for i := range weights {
		weights[i] = uint64(maxWeight / power(float64(i+1), exponent))
	}
	return weights
}

// power returns base^exponent for an exponent that is not negative, by its
// binary digits: 1.625 is base times its square root times its eighth root.
//
// math.Pow is not for this: its last bit differs between architectures, and a
// weight that differs moves every draw after it. Multiplication and square root
// alone are the same on all (IEEE 754 says how they round), and with nothing
// added to a product there is nothing to fuse.
func power(base, exponent float64) float64 {
	whole := math.Floor(exponent)
	rest := exponent - whole
	result := 1.0
	for range int(whole) {
		result *= base
	}
	for root := base; rest > 0; {
		root = math.Sqrt(root)
		rest *= 2
		if rest >= 1 {
			result *= root
			rest--
		}
	}
	return result
}
