// Package forwarded finds the address of a client behind proxies.
//
// Each proxy appends the address that it was reached from to X-Forwarded-For, so
// the list is read from its end: as long as the one who speaks is trusted, the
// last entry is believed. What stands before the first address that is not
// trusted may have been written by the client itself, and is not looked at.
package forwarded

import (
	"bytes"
	"net/netip"
)

// Trusted are the address ranges of proxies that are believed. The zero value
// trusts nobody: the address of the connection is then the client's.
type Trusted []netip.Prefix

// maxProxies bounds how many entries of a list are read.
const maxProxies = 32

// Client returns the address of the client who reached us from peer with these
// values of X-Forwarded-For, in their order. Where a trusted proxy's entry is no
// address, the proxy's own address is returned: nothing better is known.
func (t Trusted) Client(peer netip.Addr, values ...[]byte) netip.Addr {
	peer = plain(peer)
	for range maxProxies {
		if !t.contains(peer) || len(values) == 0 {
			return peer
		}
		list := values[len(values)-1]
		entry := list
		if comma := bytes.LastIndexByte(list, ','); comma >= 0 {
			entry, values[len(values)-1] = list[comma+1:], list[:comma]
		} else {
			values = values[:len(values)-1]
		}
		next, ok := parse(bytes.TrimSpace(entry))
		if !ok {
			return peer
		}
		peer = next
	}
	return peer
}

func (t Trusted) contains(addr netip.Addr) bool {
	for _, prefix := range t {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// parse reads an entry: an address, which some proxies write with a port or, for
// IPv6, in brackets.
func parse(entry []byte) (netip.Addr, bool) {
	text := string(entry)
	if addr, err := netip.ParseAddr(text); err == nil {
		return plain(addr), true
	}
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return plain(withPort.Addr()), true
	}
	if len(text) > 2 && text[0] == '[' && text[len(text)-1] == ']' {
		if addr, err := netip.ParseAddr(text[1 : len(text)-1]); err == nil {
			return plain(addr), true
		}
	}
	return netip.Addr{}, false
}

// plain drops what does not make another client: the mapping of IPv4 into IPv6,
// and zones.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
