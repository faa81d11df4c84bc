package agentjobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
)

const (
	// maxWatchers bounds the streams of logs; each holds a connection.
	maxWatchers = 64
	// heartbeat is how often a stream on which nothing happens says so: a proxy would
	// take it for dead.
	heartbeat = 15 * time.Second
	// writePatience is how long a client may take to read what it is sent.
	writePatience = 30 * time.Second
)

// watchers wakes the streams of logs when something happened to any job.
type watchers struct {
	mu      sync.Mutex
	count   int
	changed chan struct{}
	closed  bool
}

func newWatchers() *watchers { return &watchers{changed: make(chan struct{})} }

// wake wakes all streams.
func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// next returns what is closed when something happens next. open is false when
// streams are to end.
func (w *watchers) next() (changed <-chan struct{}, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed, !w.closed
}

func (w *watchers) enter() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return errStopsNow
	case w.count == maxWatchers:
		return errWatchedByAll
	}
	w.count++
	return nil
}

func (w *watchers) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.changed)
	}
}

// flushed is called after lines of any log were written.
func (js *Jobs) flushed(err error) {
	if err != nil {
		js.logger.Error("Lines of a job's log were lost.", "error", err)
	}
	js.watchers.wake()
}

// GetLog answers GET /v2/agent/{projectId}/job/{id}/log: what there is, or as it
// comes to a client that asks for events.
func (js *Jobs) GetLog(w http.ResponseWriter, r *http.Request, project access.Project) error {
	id, err := js.idOf(r, project)
	if err != nil {
		return err
	}
	given := api.ParseParameters(r.URL.RawQuery)
	reader := &logReader{db: js.db, project: project, id: id}
	// A client of events goes on after the last one it saw, as it says by itself.
	after := func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return errors.New("must be the number of a line")
		}
		reader.next = uint32(n) + 1
		return nil
	}
	given.Read("after", after)
	if err := given.Err(); err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		if last := r.Header.Get("Last-Event-ID"); last != "" {
			if err := after(last); err != nil {
				return api.BadRequest("Last-Event-ID " + err.Error())
			}
		}
		return js.stream(w, r, reader)
	}
	lines, err := reader.read()
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "application/x-ndjson; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	for len(lines) > 0 {
		for _, line := range lines {
			if _, err := w.Write(append(line.text, '\n')); err != nil {
				return nil // The client has gone.
			}
		}
		if lines, err = reader.read(); err != nil {
			panic(http.ErrAbortHandler) // An answer that is cut off must not look whole.
		}
	}
	return nil
}

// stream sends the lines of a log as server-sent events (HTML Living Standard,
// section 9.2), each under its number, until the job is no longer active. The last
// event, of type job, is the job as it is then.
func (js *Jobs) stream(w http.ResponseWriter, r *http.Request, reader *logReader) error {
	if err := js.watchers.enter(); err != nil {
		return err
	}
	defer js.watchers.leave()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would hold events back.
	control := http.NewResponseController(w)
	send := func(format string, args ...any) error {
		// A stream outlives the time for an answer. Writers without deadlines are those of tests.
		if err := control.SetWriteDeadline(time.Now().Add(writePatience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return err
		}
		return control.Flush()
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	err := send(": the log of a job\n\n")
	for err == nil {
		// Before the lines are read: what comes in between wakes this at once.
		changed, open := js.watchers.next()
		j, live, loadErr := js.watched(reader.project, reader.id)
		if loadErr != nil {
			return nil // It was deleted meanwhile. The stream ends.
		}
		var sent int
		if sent, err = sendLines(reader, send); err != nil {
			break
		}
		if sent > 0 {
			continue // There may be more already.
		}
		if !live {
			text, _ := json.Marshal(j) // A plain struct.
			_ = send("event: job\ndata: %s\n\n", text)
			return nil
		}
		if !open {
			return nil
		}
		select {
		case <-changed:
		case <-beat.C:
			err = send(": \n\n")
		case <-r.Context().Done():
			return nil
		}
	}
	js.logger.Debug("A stream of a log ended.", "error", err)
	return nil // The answer has begun, and the client has gone.
}

func sendLines(reader *logReader, send func(string, ...any) error) (sent int, err error) {
	lines, err := reader.read()
	if err != nil {
		return 0, err
	}
	for _, line := range lines {
		if err := send("id: %d\ndata: %s\n\n", line.number, line.text); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

// watched returns a job, and whether more may come to its log.
func (js *Jobs) watched(project access.Project, id database.JobID) (Job, bool, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j, err := js.load(project, id)
	return j.told(), j.Status == Active || js.running[id] != nil, err
}
