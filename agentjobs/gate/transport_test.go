package gate

import (
	"crypto/tls"
	"testing"
)

// The way to the upstream is not seen from outside: net/http asks no proxy for
// addresses of this machine, which are all that a test has.
func TestTheOwnTransportAsksNoProxyAndOldTLS(t *testing.T) {
	transport := newTransport(Limits{}.withDefaults())
	if transport.Proxy != nil {
		t.Error("the environment chooses a proxy")
	}
	if transport.TLSClientConfig.MinVersion < tls.VersionTLS12 || transport.TLSClientConfig.InsecureSkipVerify {
		t.Errorf("TLS %+v", transport.TLSClientConfig)
	}
}
