package ingest

import (
	"net/netip"
	"testing"

	"footfall/sketch"
)

// Stored sets hold these hashes. Another hash of the same visitor would count
// them again, so what goes into it is fixed: the values come from SipHash-2-4
// written anew after its paper, over the bytes that visitor.go describes.
func TestHashesAreFixed(t *testing.T) {
	var h hasher
	h.setKey([16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	userAgent := []byte("Mozilla/5.0")
	for name, test := range map[string]struct{ got, want sketch.Hash }{
		"visitor ID":   {h.visitorID([]byte("visitor-1")), 0x6347a0ea62864d38},
		"IPv4":         {h.address(netip.MustParseAddr("192.0.2.1"), userAgent), 0xa28d958b9c0f50f4},
		"IPv6":         {h.address(netip.MustParseAddr("2001:db8::1"), userAgent), 0x7a56d03175ce1592},
		"host":         {h.host([]byte("client.example"), userAgent), 0x24691138f39c0c1b},
		"empty values": {h.host(nil, nil), 0xcdccf7c2f563baed},
	} {
		if test.got != test.want {
			t.Errorf("%s: %#x, want %#x", name, uint64(test.got), uint64(test.want))
		}
	}
}
