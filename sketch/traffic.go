package sketch

import (
	"errors"
	"fmt"
)

// Traffic says who reads: a person or an AI agent. There is no third kind:
// crawlers that are neither are turned away before they become visits.
type Traffic uint8

// The two kinds of traffic. Their numbers are stored; never renumber them.
const (
	Human Traffic = 0
	AI    Traffic = 1
)

// ErrTraffic is returned by ParseTraffic for a word that is not a traffic.
var ErrTraffic = errors.New("traffic must be human or ai")

// ParseTraffic reads "human" or "ai". Anything else is an ErrTraffic.
func ParseTraffic(s string) (Traffic, error) {
	switch s {
	case "human":
		return Human, nil
	case "ai":
		return AI, nil
	}
	return 0, fmt.Errorf("%q: %w", s, ErrTraffic)
}

// String returns "human" or "ai".
func (t Traffic) String() string {
	if t == AI {
		return "ai"
	}
	return "human"
}
