package sketch

import "math"

// histogram counts registers by value. All that an estimate needs of a sketch
// is here: 65 numbers instead of 2^p.
type histogram [256]uint32

// maxEstimate bounds an estimate, which only crafted registers come near. A
// float beyond the range of uint64 has no defined conversion, and two estimates
// must be safe to add.
const maxEstimate = 1 << 62

// estimate returns the number of distinct hashes behind the registers, by the
// improved raw estimator of Otmar Ertl, "New cardinality estimation algorithms
// for HyperLogLog sketches" (2017), arXiv:1702.01284, algorithm 6. It needs no
// table of empirical bias corrections, and it is monotone: raising a register
// never lowers it. That is what lets a count never fall when visitors are added
// (the estimators with bias tables do not have it).
func (h *histogram) estimate(p Precision) uint64 {
	m := float64(p.Registers())
	top := int(p.maxRegister())

	z := m * tau(1-float64(h[top])/m)
	for value := top - 1; value >= 1; value-- {
		z = (z + float64(h[value])) / 2
	}
	z += m * sigma(float64(h[0])/m)
	// Division by the infinity that sigma returns for empty registers is zero.
	// Division by the zero that tau returns for saturated ones is infinity.
	return uint64(min(m*m/(2*math.Ln2*z)+0.5, maxEstimate))
}

// sigma is x + sum of x^(2^k) * 2^(k-1) for k >= 1, the contribution of the
// registers that are still zero (Ertl 2017, section 4).
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	sum, weight := x, 1.0
	for {
		x *= x
		before := sum
		sum += x * weight
		weight *= 2
		if sum == before {
			return sum
		}
	}
}

// tau is (1 - x - sum of (1 - x^(2^-k))^2 * 2^-k for k >= 1) / 3, the
// contribution of the registers that are saturated (Ertl 2017, section 4).
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	sum, weight := 1-x, 1.0
	for {
		x = math.Sqrt(x)
		before := sum
		weight /= 2
		sum -= (1 - x) * (1 - x) * weight
		if sum == before {
			return sum / 3
		}
	}
}
