package workload

import "net/netip"

// person is someone who reads with one browser. Returning is what people do:
// the first ones of a crowd come again and again, the last ones hardly once.
type person struct {
	browser string
	zone    int // hours ahead of UTC
	address netip.Addr
	// A home with IPv6 gives its devices another address each day (RFC 8981). To
	// an access log, that is another visitor.
	home uint32 // not 0 for such a person
}

// Where people come from, in percent; the others have a fixed address at home.
const (
	atOffices    = 22
	onIPv6       = 18
	officesCount = 40
)

// zones are where people live; some more than once, for there are more of them.
var zones = []int{-8, -7, -5, -5, -4, 0, 1, 1, 1, 2, 3, 5, 8, 9}

// hours is how much people read in each hour of their day.
var hours = []uint64{3, 2, 1, 1, 1, 2, 4, 9, 15, 20, 22, 20, 15, 18, 21, 20, 17, 12, 9, 8, 9, 9, 7, 5}

// weekdays is how much of the week's traffic comes on each day, from Sunday.
var weekdays = [7]int64{45, 96, 103, 104, 100, 87, 42}

func newPeople(r *random, n int) []person {
	choice := newChoice(weightsOf(browsers, func(a agent) uint64 { return a.weight }))
	offices := make([]netip.Addr, officesCount)
	for i := range offices {
		offices[i] = private.address(r.below(private.size))
	}
	people := make([]person, n)
	for i := range people {
		p := person{browser: browsers[choice.draw(r)].userAgent, zone: pick(r, zones)}
		switch from := r.below(100); {
		case from < atOffices:
			// One address for all in the office, so that user agents matter.
			p.address = pick(r, offices)
		case from < atOffices+onIPv6:
			p.home = uint32(i + 1)
		default:
			p.address = benchmark.address(r.below(benchmark.size))
		}
		people[i] = p
	}
	return people
}

// addressOn returns the address that the person has on a day of the log.
func (p person) addressOn(day int) netip.Addr {
	if p.home == 0 {
		return p.address
	}
	return address6(p.home, mix(uint64(p.home)<<dayBits|uint64(day)))
}
