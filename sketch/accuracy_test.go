package sketch_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"footfall/sketch"
)

func relativeError(estimate, truth uint64) float64 {
	return (float64(estimate) - float64(truth)) / float64(truth)
}

// What an answer says of its estimates is what the theory says.
func TestRelativeStandardError(t *testing.T) {
	for p, want := range map[sketch.Precision]float64{sketch.PathPrecision: 0.008125, sketch.SitePrecision: 0.0040625} {
		if got := p.RelativeStandardError(); got != want {
			t.Errorf("precision %d: %g, expected %g", p, got, want)
		}
	}
}

// drawRegisters fills registers as so many visitors would leave them, where they are
// more than a test can add: a register stays at k or below with probability
// exp(-visitors/registers/2^k).
func drawRegisters(random *rand.Rand, p sketch.Precision, visitors float64, registers []byte) {
	each, top := visitors/float64(p.Registers()), int(sketch.MaxRegister(p))
	for i := range registers {
		_, value := math.Frexp(each / random.ExpFloat64()) // The binary logarithm, rounded up.
		registers[i] = byte(min(max(value, 0), top))
	}
}

// Up to where a good part of the registers holds all they can.
func TestEstimateUpToSaturation(t *testing.T) {
	for _, p := range precisions {
		registers := make([]byte, p.Registers())
		for _, visitors := range []uint64{1 << 24, 1 << 40, 1 << 56, 1 << 60, 1<<61 + 1<<60} {
			drawRegisters(seeded(visitors), p, float64(visitors), registers)
			saturated := bytes.Count(registers, []byte{sketch.MaxRegister(p)})
			off := relativeError(sketch.EstimateRegisters(p, registers), visitors)
			t.Logf("precision %d, %d visitors: %d registers saturated, off %+.3f %%", p, visitors, saturated, 100*off)
			if math.Abs(off) > 3*p.RelativeStandardError() {
				t.Errorf("precision %d: %d visitors are estimated %+.3f %% off", p, visitors, 100*off)
			}
		}
	}
}

// What is promised of any count that is not exact, over 400 trials: a relative
// standard error of 0.84 % for a path and 0.42 % for the site. The visitors are
// always the same, so the test does not depend on luck.
func TestStandardError(t *testing.T) {
	const trials = 400
	sizes := []uint64{2_048, 2_049, 5_000, 8_192, 8_193, 20_000, 100_000}
	for _, test := range []struct {
		precision sketch.Precision
		promised  float64
	}{{sketch.PathPrecision, 0.0084}, {sketch.SitePrecision, 0.0042}} {
		t.Run(fmt.Sprintf("precision %d", test.precision), func(t *testing.T) {
			t.Parallel()
			limit := uint64(test.precision.ExactLimit())
			counted := make([]deviations, len(sizes))
			for trial := range uint64(trials) {
				s, added := sketch.NewSet(test.precision), uint64(0)
				for i, visitors := range sizes {
					for ; added < visitors; added++ {
						s.Add(mix(trial<<32 + added))
					}
					counted[i].add(s.Count(), visitors)
				}
			}
			for i, visitors := range sizes {
				standard, bias := counted[i].standard(), counted[i].bias()
				t.Logf("%9d visitors: standard error %.3f %%, bias %+.3f %%", visitors, 100*standard, 100*bias)
				if visitors <= limit && standard != 0 {
					t.Errorf("%d visitors are not counted exactly", visitors)
				}
				if standard > test.promised {
					t.Errorf("%d visitors: standard error %.3f %%, promised %.2f %%", visitors, 100*standard, 100*test.promised)
				}
				// At the turn counts do not fall below the floor, so their mean is above.
				if visitors > 2*limit && math.Abs(bias) > 4*standard/math.Sqrt(trials) {
					t.Errorf("%d visitors: bias of %+.3f %%", visitors, 100*bias)
				}
			}
		})
	}
}

// Where every register is in use, the error is the largest: 1.04/sqrt(registers),
// which is 0.81 % and 0.41 %. That is 3.5 % below what is promised, and what is measured
// over 400 trials varies by as much. So it is compared with the theory, three standard
// errors of the measurement apart at most.
func TestStandardErrorOfManyVisitors(t *testing.T) {
	const trials, visitors = 200, 100_000_000
	for _, p := range precisions {
		t.Run(fmt.Sprintf("precision %d", p), func(t *testing.T) {
			t.Parallel()
			var counted deviations
			random, registers := seeded(uint64(p)), make([]byte, p.Registers())
			for range trials {
				drawRegisters(random, p, visitors, registers)
				counted.add(decoded(t, p, registers, visitors).Count(), visitors)
			}
			standard, bias, theory := counted.standard(), counted.bias(), p.RelativeStandardError()
			t.Logf("standard error %.3f %%, theory %.3f %%, bias %+.3f %%", 100*standard, 100*theory, 100*bias)
			if math.Abs(standard/theory-1) > 3/math.Sqrt(2*trials) {
				t.Errorf("the standard error is %.2f of the theory", standard/theory)
			}
			if math.Abs(bias) > 4*standard/math.Sqrt(trials) {
				t.Errorf("bias of %+.3f %%", 100*bias)
			}
		})
	}
}

// deviations are the relative errors of some estimates.
type deviations struct{ n, sum, squares float64 }

func (e *deviations) add(estimate, truth uint64) {
	off := relativeError(estimate, truth)
	e.n++
	e.sum += off
	e.squares += off * off
}

// standard is the root of their mean square.
func (e *deviations) standard() float64 { return math.Sqrt(e.squares / e.n) }

func (e *deviations) bias() float64 { return e.sum / e.n }
