package workload

import (
	"cmp"
	"encoding/binary"
	"io"
	"iter"
	"math/bits"
	"slices"
	"time"

	"footfall/sketch"
)

// EventsConfig says what page views to make up. Each field but Seed and From
// that is zero takes its default.
type EventsConfig struct {
	Seed   uint64
	From   sketch.Day // the first day
	Days   int        // default 90
	Events int        // default 2,000,000
	Paths  int        // default 2,000
	Humans int        // visitors that are people, default 200,000
	AIs    int        // visitors that are AI agents, default 5,000
}

// The traffic: a quarter of the views are by AI agents, and one agent in twenty
// goes by the visitor ID of a person, as one does that a person has sent with
// their own session. Such a visitor counts as human and as AI, but once in total.
const (
	aiViewsOneIn     = 4
	sharedIDsOneIn   = 20
	pathZipfExponent = 1.1
)

// Events are page views in the order of their time, evenly spread over the days.
// Paths follow Zipf's law with exponent 1.1; the visitors of a kind are equally
// likely, which makes for the most distinct ones. A line has about 138 bytes.
//
// Everything is computed again each time it is asked for. Events is safe for
// concurrent use.
type Events struct {
	config EventsConfig
	paths  []string
	ranks  *choice
	salt   uint64
}

// NewEvents prepares events. A configuration that breaks a rule is an ErrConfig.
func NewEvents(config EventsConfig) (*Events, error) {
	config.Days = cmp.Or(config.Days, 90)
	config.Events = cmp.Or(config.Events, 2_000_000)
	config.Paths = cmp.Or(config.Paths, 2_000)
	config.Humans = cmp.Or(config.Humans, 200_000)
	config.AIs = cmp.Or(config.AIs, 5_000)
	for _, err := range []error{
		checkDays(config.From, config.Days),
		checkLimit("Events", config.Events, MaxEvents),
		checkLimit("Paths", config.Paths, min(MaxPaths, maxChoices)),
		checkLimit("Humans", config.Humans, MaxVisitors/2),
		checkLimit("AIs", config.AIs, MaxVisitors/2),
	} {
		if err != nil {
			return nil, err
		}
	}
	return &Events{
		config: config,
		paths:  manyPaths(config.Paths),
		ranks:  newChoice(zipfWeights(config.Paths, pathZipfExponent)),
		salt:   mix(config.Seed),
	}, nil
}

// Batch is consecutive events, ready to be posted.
type Batch struct {
	First  int    // the number of its first event, from 0
	Events int    // how many
	Body   []byte // a line each, with its line feed
}

// Batches renders batches of at most size events, in order. The receiver owns
// each Body.
func (e *Events) Batches(size int) iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		s := e.stream()
		for s.next < e.config.Events {
			batch := Batch{First: s.next, Events: min(max(size, 1), e.config.Events-s.next)}
			batch.Body = make([]byte, 0, batch.Events*maxUsualLine)
			batch.Body = s.appendLines(batch.Body, batch.Events)
			if !yield(batch) {
				return
			}
		}
	}
}

// WriteTo writes all events. Its error is w's.
func (e *Events) WriteTo(w io.Writer) (int64, error) {
	const lines = 512
	var (
		s       = e.stream()
		buffer  = make([]byte, 0, lines*maxUsualLine)
		written int64
	)
	for s.next < e.config.Events {
		buffer = s.appendLines(buffer[:0], min(lines, e.config.Events-s.next))
		n, err := w.Write(buffer)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Truth returns the truth of all events.
func (e *Events) Truth() *Truth {
	return e.TruthWhere(func(int) bool { return true })
}

// TruthWhere returns the truth of those events for whose number counted is true,
// asked in order: those that were acknowledged, say.
func (e *Events) TruthWhere(counted func(event int) bool) *Truth {
	truth := &Truth{
		paths:    e.paths,
		visitors: e.config.Humans + e.config.AIs,
		days:     sketch.Range{From: e.config.From, To: e.config.From + sketch.Day(e.config.Days)},
	}
	s := e.stream()
	for number := range e.config.Events {
		if drawn := s.draw(); counted(number) {
			truth.views = append(truth.views, newView(drawn.path, drawn.visitor, drawn.traffic, sketch.Day(drawn.at/millisPerDay)))
		}
	}
	slices.Sort(truth.views)
	return truth
}

const (
	millisPerSecond = 1000
	millisPerDay    = 24 * 60 * 60 * millisPerSecond
	// maxUsualLine is what is set aside for a line; longer ones are only slower.
	maxUsualLine = 176
)

// event is one page view before it is written.
type event struct {
	path    int
	visitor int // people first, then agents
	traffic sketch.Traffic
	at      int64 // milliseconds from the start of the first day
}

// eventStream draws one event after the other.
type eventStream struct {
	*Events
	random random
	next   int   // number of the next event
	at     int64 // where its slot of time begins
	// The day of the last event written, and how it is written.
	day  int64
	date []byte
}

func (e *Events) stream() *eventStream {
	return &eventStream{Events: e, random: *newRandom(e.config.Seed, streamEvents), day: -1}
}

// slot returns when the time begins that is set aside for an event.
func (s *eventStream) slot(number int) int64 {
	high, low := bits.Mul64(uint64(s.config.Days)*millisPerDay, uint64(number))
	quotient, _ := bits.Div64(high, low, uint64(s.config.Events))
	return int64(quotient)
}

func (s *eventStream) draw() event {
	s.next++
	end := s.slot(s.next)
	drawn := event{at: s.at + int64(s.random.below64(uint64(end-s.at)))}
	s.at = end
	drawn.path = s.ranks.draw(&s.random)
	if s.random.below(aiViewsOneIn) > 0 {
		drawn.visitor = s.random.below(s.config.Humans)
		return drawn
	}
	drawn.traffic = sketch.AI
	agent := s.random.below(s.config.AIs)
	if agent < min(s.config.AIs/sharedIDsOneIn, s.config.Humans) {
		drawn.visitor = agent
	} else {
		drawn.visitor = s.config.Humans + agent
	}
	return drawn
}

// appendLines draws and writes events.
func (s *eventStream) appendLines(dst []byte, events int) []byte {
	for range events {
		drawn := s.draw()
		dst = append(dst, `{"path":"`...)
		dst = append(dst, s.paths[drawn.path]...)
		dst = append(dst, `","visitorId":"`...)
		dst = s.appendVisitorID(dst, drawn.visitor)
		if drawn.traffic == sketch.AI {
			dst = append(dst, `","traffic":"ai","timestamp":"`...)
		} else {
			dst = append(dst, `","traffic":"human","timestamp":"`...)
		}
		dst = s.appendTime(dst, drawn.at)
		dst = append(dst, "\"}\n"...)
	}
	return dst
}

// appendVisitorID writes a visitor's ID as a UUID of version 8, whose bits are
// anyone's to define (RFC 9562 section 5.8). Distinct visitors have distinct IDs:
// the number that tells them apart gives up no bit to version and variant.
func (s *eventStream) appendVisitorID(dst []byte, visitor int) []byte {
	var id [16]byte
	distinct := mix(s.salt + uint64(visitor))
	binary.BigEndian.PutUint64(id[:8], distinct)
	binary.BigEndian.PutUint64(id[8:], mix(distinct+s.salt))
	id[14], id[15] = id[6], id[7]
	id[6] = 0x80 | id[6]&0x0f // version 8
	id[8] = 0x80 | id[8]&0x3f // the variant of RFC 9562
	return appendUUID(dst, &id)
}

func appendUUID(dst []byte, id *[16]byte) []byte {
	const digits = "0123456789abcdef"
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// appendTime writes a time as browsers do, with milliseconds, in UTC.
func (s *eventStream) appendTime(dst []byte, at int64) []byte {
	if day := at / millisPerDay; day != s.day {
		s.day = day
		s.date = (s.config.From + sketch.Day(day)).Start().AppendFormat(s.date[:0], time.DateOnly)
	}
	millis := at % millisPerDay
	seconds := millis / millisPerSecond
	millis %= millisPerSecond
	dst = append(dst, s.date...)
	dst = append(dst, 'T')
	dst = appendClock(dst, seconds)
	return append(dst, '.', byte('0'+millis/100), byte('0'+millis/10%10), byte('0'+millis%10), 'Z')
}

// appendClock writes the seconds of a day as hh:mm:ss.
func appendClock(dst []byte, seconds int64) []byte {
	dst = appendTwoDigits(dst, seconds/3600)
	dst = append(dst, ':')
	dst = appendTwoDigits(dst, seconds/60%60)
	dst = append(dst, ':')
	return appendTwoDigits(dst, seconds%60)
}

func appendTwoDigits(dst []byte, n int64) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}
