package sketch

// What the tests see of the registers, which the public API hides.

// DenseRegisters returns the registers of a dense set, nil while it is exact.
func DenseRegisters(s *Set) []byte { return s.dense }

// BuildRegisters returns registers that hold the hashes, however few they are.
func BuildRegisters(p Precision, hashes []Hash) []byte {
	r := make(registers, p.Registers())
	for _, h := range hashes {
		r.add(p, h)
	}
	return r
}

// AddToRegisters adds one hash and reports whether it raised a register.
func AddToRegisters(r []byte, p Precision, h Hash) bool { return registers(r).add(p, h) }

// MergeRegisters raises each register of r to that of other.
func MergeRegisters(r, other []byte) { registers(r).merge(other) }

// EstimateRegisters returns the estimate without the floor of a dense set.
func EstimateRegisters(p Precision, r []byte) uint64 {
	h := registers(r).histogram()
	return h.estimate(p)
}

// MaxRegister returns the largest value a register can take.
func MaxRegister(p Precision) uint8 { return p.maxRegister() }
