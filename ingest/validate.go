package ingest

import (
	"errors"
	"net/netip"
	"time"

	"footfall/sketch"
)

// Why an event is refused. Each names the field and its rule.
var (
	errVisitorMissing  = errors.New("visitorId, or ip and userAgent together, is required")
	errVisitorID       = errors.New("visitorId must have 1 to 256 bytes")
	errIP              = errors.New("ip must be an IPv4 or IPv6 address")
	errTraffic         = errors.New("traffic must be human or ai")
	errTrafficMissing  = errors.New("traffic, or userAgent from which it is derived, is required")
	errTimestamp       = errors.New("timestamp must be a date and time as RFC 3339 has it, such as 2026-01-31T12:00:00Z")
	errTimestampEarly  = errors.New("timestamp must not be before 2000-01-01")
	errTimestampFuture = errors.New("timestamp must not be more than 24 hours ahead")
)

const (
	maxVisitorIDBytes = 256
	maxAhead          = 24 * time.Hour
)

// validator makes visits of events for one request at a time. It is not safe for
// concurrent use.
type validator struct {
	pipeline *Pipeline
	hasher   hasher
	now      time.Time
	// paths remembers the normal form of paths as they were sent, across
	// requests: a page is seen many times.
	paths   map[string]string
	scratch []byte
}

// What a validator remembers is bounded by the number of paths and by their
// length: longer ones are normalised each time.
const (
	maxKnownPaths     = 4096
	maxKnownPathBytes = 256
)

func newValidator(p *Pipeline) *validator {
	return &validator{pipeline: p, paths: make(map[string]string)}
}

// begin readies the validator for a request on a project.
func (v *validator) begin(secret [16]byte) {
	v.hasher.setKey(secret)
	v.now = v.pipeline.now()
}

// visit applies the rules to an event. counted is false, without an error, for a
// crawler that is neither human nor AI, and for an event that is no page view.
func (v *validator) visit(e *event) (visit sketch.Visit, counted bool, err error) {
	if e.foreign {
		return visit, false, nil
	}
	if visit.Path, err = v.path(e.path); err != nil {
		return visit, false, err
	}
	if visit.Visitor, err = v.visitor(e); err != nil {
		return visit, false, err
	}
	if visit.Day, err = v.day(e.timestamp); err != nil {
		return visit, false, err
	}
	switch {
	case e.traffic != nil:
		switch string(e.traffic) {
		case "human":
			visit.Traffic = sketch.Human
		case "ai":
			visit.Traffic = sketch.AI
		default:
			return visit, false, errTraffic
		}
		return visit, true, nil
	case len(e.userAgent) > 0:
		visit.Traffic, counted = v.pipeline.classify(string(e.userAgent))
		return visit, counted, nil
	}
	return visit, false, errTrafficMissing
}

func (v *validator) path(raw []byte) (string, error) {
	if path, known := v.paths[string(raw)]; known {
		return path, nil
	}
	normal, err := appendPath(v.scratch[:0], raw)
	v.scratch = normal
	if err != nil {
		return "", err
	}
	path := string(normal)
	if len(raw) <= maxKnownPathBytes {
		if len(v.paths) == maxKnownPaths {
			clear(v.paths)
		}
		v.paths[string(raw)] = path
	}
	return path, nil
}

func (v *validator) visitor(e *event) (sketch.Hash, error) {
	if e.visitorID != nil {
		if len(e.visitorID) == 0 || len(e.visitorID) > maxVisitorIDBytes {
			return 0, errVisitorID
		}
		return v.hasher.visitorID(e.visitorID), nil
	}
	if len(e.ip) == 0 || len(e.userAgent) == 0 {
		return 0, errVisitorMissing
	}
	addr, err := netip.ParseAddr(string(e.ip))
	if err != nil {
		return 0, errIP
	}
	return v.hasher.address(addr, e.userAgent), nil
}

func (v *validator) day(timestamp []byte) (sketch.Day, error) {
	if timestamp == nil {
		return sketch.DayOf(v.now), nil
	}
	var t time.Time
	if err := t.UnmarshalText(timestamp); err != nil || !isRFC3339(timestamp) {
		return 0, errTimestamp
	}
	return v.dayOf(t)
}

// isRFC3339 refuses what package time takes beyond RFC 3339: an hour of one digit,
// a comma before the fraction, and offsets that are no time of day
// (go.dev/issue/54580). The rest it has checked.
func isRFC3339(timestamp []byte) bool {
	const clock, fraction = len("2006-01-02T15"), len("2006-01-02T15:04:05")
	if len(timestamp) <= fraction || timestamp[clock] != ':' || timestamp[fraction] == ',' {
		return false
	}
	if timestamp[len(timestamp)-1] == 'Z' {
		return true
	}
	offset := string(timestamp[len(timestamp)-len("07:00"):])
	return offset[:2] < "24" && offset[3:] < "60"
}

func (v *validator) dayOf(t time.Time) (sketch.Day, error) {
	switch day := sketch.DayOf(t); {
	case t.After(v.now.Add(maxAhead)):
		return 0, errTimestampFuture
	case t.Before(sketch.FirstDay.Start()):
		return 0, errTimestampEarly
	default:
		return day, nil
	}
}
