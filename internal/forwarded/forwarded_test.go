package forwarded_test

import (
	"net/netip"
	"strings"
	"testing"

	"footfall/internal/forwarded"
)

func TestClient(t *testing.T) {
	trusted := forwarded.Trusted{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	tests := []struct {
		name    string
		trusted forwarded.Trusted
		peer    string
		values  []string
		want    string
	}{
		{"nobody is trusted", nil, "10.0.0.1", []string{"192.0.2.1"}, "10.0.0.1"},
		{"no proxy", trusted, "192.0.2.9", []string{"192.0.2.1"}, "192.0.2.9"},
		{"a trusted proxy without a list", trusted, "10.0.0.1", nil, "10.0.0.1"},
		{"one proxy", trusted, "10.0.0.1", []string{"192.0.2.1"}, "192.0.2.1"},
		{"two proxies", trusted, "10.0.0.1", []string{"192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		{"the client wrote a list itself", trusted, "10.0.0.1", []string{"198.51.100.7, 192.0.2.1"}, "192.0.2.1"},
		{"the client claims to be a proxy", trusted, "10.0.0.1", []string{"198.51.100.7, 10.0.0.9, 192.0.2.1"}, "192.0.2.1"},
		{"several headers", trusted, "10.0.0.1", []string{"192.0.2.1", "10.0.0.2,10.0.0.3"}, "192.0.2.1"},
		{"all are proxies", trusted, "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"IPv6", trusted, "2001:db8:1::1", []string{"2001:db8:2::7"}, "2001:db8:2::7"},
		{"IPv4 mapped into IPv6", trusted, "::ffff:10.0.0.1", []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
		{"with ports", trusted, "10.0.0.1", []string{"192.0.2.1:4711, [2001:db8:1::2]:80"}, "192.0.2.1"},
		{"in brackets", trusted, "10.0.0.1", []string{"[2001:db8:2::7]"}, "2001:db8:2::7"},
		{"no address", trusted, "10.0.0.1", []string{"192.0.2.1, unknown"}, "10.0.0.1"},
		{"an empty entry", trusted, "10.0.0.1", []string{"192.0.2.1,"}, "10.0.0.1"},
		{"an endless list", trusted, "10.0.0.1", []string{"192.0.2.1" + strings.Repeat(",10.0.0.2", 1000)}, "10.0.0.2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var values [][]byte
			for _, value := range test.values {
				values = append(values, []byte(value))
			}
			if got := test.trusted.Client(netip.MustParseAddr(test.peer), values...); got != netip.MustParseAddr(test.want) {
				t.Errorf("the client is %v, want %v", got, test.want)
			}
		})
	}
}
