package sketch

import "math"

// Precision is the number of leading hash bits that choose a HyperLogLog
// register. A set of precision p turns into 2^p registers of one byte each,
// whose estimate has a relative standard error of about 1.04/sqrt(2^p).
type Precision uint8

// The precisions in use. They are stored with every set; sets of different
// precision are never united.
const (
	PathPrecision Precision = 14 // 16 KiB of registers, 0.81 % standard error
	SitePrecision Precision = 16 // 64 KiB of registers, 0.41 % standard error
)

// Registers returns the number of registers, which is their size in bytes.
func (p Precision) Registers() int { return 1 << p }

// ExactLimit returns how many visitors a set holds exactly: as many 8-byte
// hashes as fit into the space of the registers. 2,048 for a path, 8,192 for
// the site.
func (p Precision) ExactLimit() int { return p.Registers() / 8 }

// RelativeStandardError returns the standard error of an estimate, as a part of the
// true number: 0.008125 for a path, 0.0040625 for the site.
func (p Precision) RelativeStandardError() float64 {
	return 1.04 / math.Sqrt(float64(p.Registers()))
}

// maxRegister is the largest value a register can take: one more than the
// number of hash bits that are left to count leading zeros in.
func (p Precision) maxRegister() uint8 { return uint8(64 - p + 1) }
