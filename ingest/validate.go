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

// validator makes visits of events for one request. It is not safe for
// concurrent use.
type validator struct {
	pipeline *Pipeline
	hasher   *hasher
	now      time.Time
	// paths holds each path of the request once: a page is seen many times.
	paths   map[string]string
	scratch []byte
}

func (p *Pipeline) newValidator(secret [16]byte) *validator {
	return &validator{pipeline: p, hasher: newHasher(secret), now: p.now(), paths: make(map[string]string)}
}

// visit applies the rules to an event. counted is false, without an error, for a
// crawler that is neither human nor AI.
func (v *validator) visit(e *event) (visit sketch.Visit, counted bool, err error) {
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
		if visit.Traffic, err = sketch.ParseTraffic(string(e.traffic)); err != nil {
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
	normal, err := appendPath(v.scratch[:0], raw)
	v.scratch = normal
	if err != nil {
		return "", err
	}
	path, known := v.paths[string(normal)]
	if !known {
		path = string(normal)
		v.paths[path] = path
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
	// UnmarshalText is strict about RFC 3339; time.Parse takes more than it says.
	if err := t.UnmarshalText(timestamp); err != nil {
		return 0, errTimestamp
	}
	return v.dayOf(t)
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
