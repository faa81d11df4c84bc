package agentjobs

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/agentjobs/agent"
	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
)

// Line is a line of a job's log.
type Line struct {
	Time time.Time  `json:"time"`
	Kind agent.Kind `json:"kind"`
	Text string     `json:"text"`
}

const (
	// flushBytes and flushEvery are when lines that gathered are written. Each write
	// is synced, so not every line gets one of its own.
	flushBytes = 32 << 10
	flushEvery = 250 * time.Millisecond
)

// logWriter appends to the log of one job. It is safe for concurrent use; there is
// at most one for a job.
type logWriter struct {
	db      *database.DB
	project access.Project
	id      database.JobID
	now     func() time.Time
	limit   int // bytes, for what the agent says
	flushed func(error)

	mu     sync.Mutex
	buffer bytes.Buffer
	first  uint32 // number of the first line in buffer
	next   uint32 // number of the next line
	size   int    // bytes of the log, buffer included
	full   bool
	timer  *time.Timer
	closed bool
}

// openLog returns a writer that goes on where the log ends. flushed is called after
// each write.
func openLog(db *database.DB, project access.Project, id database.JobID, now func() time.Time, limit int, flushed func(error)) (*logWriter, error) {
	l := &logWriter{db: db, project: project, id: id, now: now, limit: limit, flushed: flushed}
	err := db.View(func(txn *badger.Txn) error {
		return database.Each(txn, database.JobLogPrefix(project.Number, id), database.KindJobLog, func(key, payload []byte) error {
			line, err := database.JobLogLine(key)
			l.next = line + uint32(bytes.Count(payload, []byte("\n")))
			l.size += len(payload)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading the log of a job: %w", err)
	}
	l.first = l.next
	l.full = l.size >= l.limit
	return l, nil
}

// agentSaid appends what an agent said or did, as long as there is room.
func (l *logWriter) agentSaid(event agent.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return
	}
	if l.full = !l.append(event.Kind, event.Text, l.limit); l.full {
		l.append(agent.KindStatus, "The log is full. What the agent says from here on is not kept.", math.MaxInt)
	}
}

// note appends a line of the service itself, also to a log that is full: how a run
// ended is never missing. There are few in a run, and runs are bounded.
func (l *logWriter) note(kind agent.Kind, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.append(kind, fmt.Sprintf(format, args...), math.MaxInt)
}

// append appends a line unless the log would have more than limit bytes then. The
// caller holds mu.
func (l *logWriter) append(kind agent.Kind, text string, limit int) (taken bool) {
	line := api.Encode(Line{Time: l.now().UTC().Truncate(time.Millisecond), Kind: kind, Text: text})
	if l.closed || l.size+len(line) > limit {
		return false
	}
	l.buffer.Write(line)
	l.size += len(line)
	l.next++
	if l.buffer.Len() >= flushBytes {
		l.flush()
	} else if l.timer == nil {
		l.timer = time.AfterFunc(flushEvery, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.flush()
		})
	}
	return true
}

// flush writes what gathered. The caller holds mu.
func (l *logWriter) flush() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if l.buffer.Len() == 0 {
		return
	}
	err := l.db.Update(func(txn *badger.Txn) error {
		return database.Set(txn, database.JobLogKey(l.project.Number, l.id, l.first), database.KindJobLog, l.buffer.Bytes())
	})
	l.buffer.Reset()
	l.first = l.next
	l.flushed(err)
}

// close writes what is left. What is appended later is dropped.
func (l *logWriter) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	l.closed = true
}

// logReader reads a job's log from the beginning, or from the line after one that
// was seen.
type logReader struct {
	db      *database.DB
	project access.Project
	id      database.JobID
	next    uint32 // number of the line that is read next
	chunk   uint32 // where the lines from next on begin to stand in the database
}

// numberedLine is a line of a log as it is stored, without its end.
type numberedLine struct {
	number uint32
	text   []byte
}

// readAtOnce is after how many bytes a read ends. A transaction must not wait for a
// client that takes its time.
const readAtOnce = 256 << 10

var errEnough = errors.New("enough was read")

// read returns the lines that follow; none where there are no more yet.
func (r *logReader) read() (lines []numberedLine, err error) {
	size := 0
	err = r.db.View(func(txn *badger.Txn) error {
		from := database.JobLogKey(r.project.Number, r.id, r.chunk)
		return database.EachFrom(txn, database.JobLogPrefix(r.project.Number, r.id), from, database.KindJobLog, func(key, payload []byte) error {
			if size >= readAtOnce {
				return errEnough
			}
			number, err := database.JobLogLine(key)
			if err != nil {
				return err
			}
			for line := range bytes.Lines(payload) {
				if number >= r.next {
					lines = append(lines, numberedLine{number: number, text: bytes.Clone(bytes.TrimSuffix(line, []byte("\n")))})
					size += len(line)
				}
				number++
			}
			r.chunk, r.next = number, max(r.next, number)
			return nil
		})
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("reading the log of a job: %w", err)
	}
	return lines, nil
}
