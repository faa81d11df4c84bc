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

// validator makes a batch of events or lines, for one request at a time. It is not
// safe for concurrent use.
type validator struct {
	pipeline *Pipeline
	hasher   hasher
	now      time.Time
	paths    *pathTable
	visits   []sketch.Visit
	views    [2]int // of visits, by traffic
}

// maxKeptVisits bounds the visits that a validator keeps memory for.
const maxKeptVisits = 16 << 10

func newValidator(p *Pipeline) *validator {
	return &validator{pipeline: p, paths: newPathTable()}
}

// begin readies the validator for a batch of a project.
func (v *validator) begin(secret [16]byte) {
	v.hasher.setKey(secret)
	v.now = v.pipeline.now()
	v.reset()
}

// reset forgets what is in the batch.
func (v *validator) reset() {
	v.paths.reset()
	if v.visits = v.visits[:0]; cap(v.visits) > maxKeptVisits {
		v.visits = nil
	}
	v.views = [2]int{}
}

// batch returns what was added since begin. It is valid until the next one.
func (v *validator) batch(project sketch.ProjectNumber) sketch.Batch {
	return sketch.Batch{Project: project, Paths: v.paths.paths, Visits: v.visits}
}

// add adds a page view of a normalised path.
func (v *validator) add(path []byte, visitor sketch.Hash, day sketch.Day, traffic sketch.Traffic) {
	v.visits = append(v.visits, sketch.Visit{Path: v.paths.number(path), Visitor: visitor, Day: day, Traffic: traffic})
	v.views[traffic]++
}

// event applies the rules to an event and adds it. counted is false, without an
// error, for a crawler that is neither human nor AI, and for an event that is no
// page view.
func (v *validator) event(e *event) (traffic sketch.Traffic, counted bool, err error) {
	if e.foreign {
		return 0, false, nil
	}
	path, err := v.paths.normalise(e.path)
	if err != nil {
		return 0, false, err
	}
	visitor, err := v.visitor(e)
	if err != nil {
		return 0, false, err
	}
	day, err := v.day(e.timestamp)
	if err != nil {
		return 0, false, err
	}
	if traffic, counted, err = v.traffic(e); counted {
		v.add(path, visitor, day, traffic)
	}
	return traffic, counted, err
}

func (v *validator) traffic(e *event) (traffic sketch.Traffic, counted bool, err error) {
	switch {
	case e.traffic != nil:
		switch string(e.traffic) {
		case "human":
			return sketch.Human, true, nil
		case "ai":
			return sketch.AI, true, nil
		}
		return 0, false, errTraffic
	case len(e.userAgent) > 0:
		traffic, counted = v.pipeline.classify(string(e.userAgent))
		return traffic, counted, nil
	}
	return 0, false, errTrafficMissing
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
		return v.dayOf(v.now)
	}
	seconds, nanoseconds, ok := parseTimestamp(timestamp)
	if !ok {
		return 0, errTimestamp
	}
	return v.dayOf(time.Unix(seconds, nanoseconds))
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
