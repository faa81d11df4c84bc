package workload

import (
	"encoding/binary"
	"net/netip"
)

// network is IPv4 addresses in a row that are set aside for no one.
type network struct {
	first uint32
	size  int
}

var (
	documentation1 = network{first: 0xc0_00_02_00, size: 1 << 8}        // 192.0.2.0/24, RFC 5737
	documentation2 = network{first: 0xc6_33_64_00, size: 1 << 8}        // 198.51.100.0/24, RFC 5737
	documentation3 = network{first: 0xcb_00_71_00, size: 1 << 8}        // 203.0.113.0/24, RFC 5737
	benchmark      = network{first: 0xc6_12_00_00, size: 1 << 17}       // 198.18.0.0/15, RFC 2544
	private        = network{first: 0x0a_00_00_00, size: 1 << 24}       // 10.0.0.0/8, RFC 1918
	documentation6 = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8}) // 2001:db8::/32, RFC 3849
)

// address returns the i-th address of the network; they come round.
func (n network) address(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n.first+uint32(i%n.size))
	return netip.AddrFrom4(b)
}

// address6 returns an address of 2001:db8::/32: that of a device within a home,
// which has a /64 of its own.
func address6(home uint32, device uint64) netip.Addr {
	b := documentation6.As16()
	binary.BigEndian.PutUint32(b[4:], home)
	binary.BigEndian.PutUint64(b[8:], device)
	return netip.AddrFrom16(b)
}

// fleet is agents with the addresses that they come from.
type fleet struct {
	agents    []agent
	addresses [][]netip.Addr // of each agent; none where it uses those of people
	choice    *choice
}

// newFleet gives each agent addresses of its own, from the networks in turn.
func newFleet(agents []agent, from ...network) *fleet {
	f := &fleet{agents: agents, choice: newChoice(weightsOf(agents, func(a agent) uint64 { return a.weight }))}
	next := 1 // The first address names the network.
	for _, a := range agents {
		var addresses []netip.Addr
		for range a.addresses {
			if next == from[0].size-1 {
				from, next = from[1:], 1
			}
			addresses = append(addresses, from[0].address(next))
			next++
		}
		f.addresses = append(f.addresses, addresses)
	}
	return f
}

// draw returns an agent's user agent and one of its addresses, if it has any.
func (f *fleet) draw(r *random) (userAgent string, address netip.Addr) {
	i := f.choice.draw(r)
	if addresses := f.addresses[i]; len(addresses) > 0 {
		address = pick(r, addresses)
	}
	return f.agents[i].userAgent, address
}
