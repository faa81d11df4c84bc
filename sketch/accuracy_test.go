package sketch_test

import (
	"fmt"
	"math"
	"testing"

	"footfall/sketch"
)

// standardError is the relative standard error of HyperLogLog: Flajolet et al.,
// "HyperLogLog: the analysis of a near-optimal cardinality estimation
// algorithm" (2007).
func standardError(p sketch.Precision) float64 {
	return 1.04 / math.Sqrt(float64(p.Registers()))
}

func relativeError(estimate, truth uint64) float64 {
	return (float64(estimate) - float64(truth)) / float64(truth)
}

// Numbers of visitors that no test can add: registers drawn as that many would
// leave them, up to where a good part of them holds all they can.
func TestEstimateUpToSaturation(t *testing.T) {
	for _, p := range []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision} {
		top := float64(sketch.MaxRegister(p))
		for _, visitors := range []uint64{1 << 24, 1 << 40, 1 << 56, 1 << 60, 1<<61 + 1<<60} {
			random, registers, saturated := seeded(visitors), make([]byte, p.Registers()), 0
			each := float64(visitors) / float64(p.Registers())
			for i := range registers {
				// A register stays at k or below with probability exp(-each/2^k).
				value := math.Ceil(math.Log2(each / -math.Log(1-random.Float64())))
				registers[i] = byte(min(max(value, 0), top))
				if registers[i] == sketch.MaxRegister(p) {
					saturated++
				}
			}
			off := relativeError(sketch.EstimateRegisters(p, registers), visitors)
			t.Logf("precision %d, %d visitors: %d registers saturated, off %+.3f %%", p, visitors, saturated, 100*off)
			if math.Abs(off) > 3*standardError(p) {
				t.Errorf("precision %d: %d visitors are estimated %+.3f %% off", p, visitors, 100*off)
			}
		}
	}
}

// Over many groups of visitors the error has the theoretical size and no bias.
// The groups are always the same, so the test does not depend on luck.
func TestStandardError(t *testing.T) {
	tests := []struct {
		precision sketch.Precision
		visitors  int
		trials    int
		atMost    float64 // of the theoretical standard error
		atLeast   float64
	}{
		{sketch.PathPrecision, 3_000, 300, 1.1, 0.2}, // few visitors are counted better
		{sketch.PathPrecision, 20_000, 300, 1.1, 0.5},
		{sketch.PathPrecision, 70_000, 200, 1.1, 0.9},
		{sketch.SitePrecision, 10_000, 200, 1.1, 0.2},
		{sketch.SitePrecision, 100_000, 100, 1.1, 0.5},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("precision %d, %d visitors", test.precision, test.visitors), func(t *testing.T) {
			var sum, squares float64
			registers := make([]byte, test.precision.Registers())
			for group := range uint64(test.trials) {
				clear(registers)
				for i := range uint64(test.visitors) {
					sketch.AddToRegisters(registers, test.precision, mix(group<<32+i))
				}
				off := relativeError(sketch.EstimateRegisters(test.precision, registers), uint64(test.visitors))
				sum += off
				squares += off * off
			}
			n, theory := float64(test.trials), standardError(test.precision)
			deviation := math.Sqrt(squares / n)
			bias := sum / n
			t.Logf("standard error %.3f %%, theory %.3f %%, bias %+.3f %%", 100*deviation, 100*theory, 100*bias)
			if deviation > test.atMost*theory || deviation < test.atLeast*theory {
				t.Errorf("standard error is %.2f of the theoretical one", deviation/theory)
			}
			if math.Abs(bias) > 4*deviation/math.Sqrt(n) {
				t.Errorf("bias of %+.3f %%", 100*bias)
			}
		})
	}
}
