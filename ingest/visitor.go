package ingest

import (
	"encoding/binary"
	"net/netip"

	"github.com/dchest/siphash"

	"footfall/sketch"
)

// A visitor's identity begins with a byte that says what it is made of, so that
// no visitor ID can be made to look like an address and user agent. The bytes
// are part of what is hashed: never change them.
const (
	identityID      = 'v' // followed by the visitor ID
	identityAddress = 'a' // followed by the address as 16 bytes, and the user agent
	identityHost    = 'h' // followed by the host name, a zero byte, and the user agent
)

// hasher turns identities into hashes, keyed with the secret of a project by
// SipHash-2-4 (Aumasson and Bernstein, 2012), a pseudorandom function for short
// inputs. The key matters: with a public hash anyone could craft visitors that
// inflate a sketch or freeze it. A hasher is not safe for concurrent use.
type hasher struct {
	k0, k1 uint64
	buffer []byte
}

func (h *hasher) setKey(secret [16]byte) {
	h.k0 = binary.LittleEndian.Uint64(secret[:8])
	h.k1 = binary.LittleEndian.Uint64(secret[8:])
}

func (h *hasher) visitorID(id []byte) sketch.Hash {
	h.buffer = append(h.buffer[:0], identityID)
	h.buffer = append(h.buffer, id...)
	return h.sum()
}

// address hashes a client by address and user agent. An IPv4 address and the
// same one mapped into IPv6 are one visitor; zones do not count.
func (h *hasher) address(addr netip.Addr, userAgent []byte) sketch.Hash {
	bytes := addr.WithZone("").As16()
	h.buffer = append(h.buffer[:0], identityAddress)
	h.buffer = append(h.buffer, bytes[:]...)
	h.buffer = append(h.buffer, userAgent...)
	return h.sum()
}

// host hashes a client of an access log whose server wrote its host name.
func (h *hasher) host(name, userAgent []byte) sketch.Hash {
	h.buffer = append(h.buffer[:0], identityHost)
	h.buffer = append(h.buffer, name...)
	h.buffer = append(h.buffer, 0)
	h.buffer = append(h.buffer, userAgent...)
	return h.sum()
}

func (h *hasher) sum() sketch.Hash {
	return sketch.Hash(siphash.Hash(h.k0, h.k1, h.buffer))
}
