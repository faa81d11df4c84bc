package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"footfall/ingest"
	"footfall/ingest/logfile"
	"footfall/internal/store"
	"footfall/sketch"
)

// archive imports files into a store in memory, as the import command does.
type archive struct {
	t        testing.TB
	memory   *store.Memory
	pipeline *ingest.Pipeline
	dir      string
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	a := &archive{t: t, memory: store.NewMemory(nil, store.Limits{}), dir: t.TempDir()}
	a.pipeline = newPipeline(t, a)
	return a
}

// Commit commits to the store there is now.
func (a *archive) Commit(ctx context.Context, b sketch.Batch) error { return a.memory.Commit(ctx, b) }

// FindReceipt looks into the store there is now.
func (a *archive) FindReceipt(ctx context.Context, project sketch.ProjectNumber, key [32]byte) (sketch.Receipt, bool, error) {
	return a.memory.FindReceipt(ctx, project, key)
}

// clear begins anew with an empty store. A new pipeline would take longer.
func (a *archive) clear() { a.memory = store.NewMemory(nil, store.Limits{}) }

func (a *archive) file(name, content string) string {
	a.t.Helper()
	name = filepath.Join(a.dir, name)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return name
}

func (a *archive) gzip(name, content string) string {
	a.t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, content)
	if err := errors.Join(err, w.Close()); err != nil {
		a.t.Fatal(err)
	}
	return a.file(name, b.String())
}

// importFile imports a file from where its last import ended, up to a number of
// chunks.
func (a *archive) importFile(name string, chunks int) (total ingest.Report, err error) {
	ctx := context.Background()
	r, err := logfile.Open(name)
	if err != nil {
		return total, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	head, err := r.Head()
	if err != nil || len(head) == 0 {
		return total, err
	}
	source := sketch.SourceOf(head)
	mark, found, err := a.memory.FindSource(ctx, project.Number, head)
	if err != nil {
		return total, err
	}
	if found {
		source = mark.Source
		if err := r.SkipTo(mark); err != nil {
			return total, err
		}
	}
	for ; chunks > 0; chunks-- {
		inside := r.Inside()
		chunk, err := r.Next()
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		report, err := a.pipeline.Import(ctx, project, ingest.Chunk{
			Source: source, From: chunk.From, Lines: chunk.Lines, Data: chunk.Data, Inside: inside, End: chunk.End,
		})
		if err != nil {
			return total, err
		}
		total.Add(report)
		r.Advance(chunk, report.Mark.To, report.Mark.Lines)
		if chunk.End {
			return total, nil
		}
	}
	return total, nil
}

func (a *archive) importAll(name string) ingest.Report {
	a.t.Helper()
	report, err := a.importFile(name, 1<<30)
	if err != nil {
		a.t.Fatal(err)
	}
	return report
}

// counts is what an export tells of the whole site.
type counts struct {
	visitors sketch.Count
	views    [2]uint64
	rows     string
}

func (a *archive) counts() counts {
	a.t.Helper()
	ranking, err := store.Rank(context.Background(), a.memory, project.Number, sketch.AllDays())
	if err != nil {
		a.t.Fatal(err)
	}
	return counts{ranking.Totals, ranking.Views, fmt.Sprint(ranking.Rows)}
}

// logOf makes a log of readers, agents and all that is ignored, in which no two
// lines are alike and some are malformed.
func logOf(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		host := fmt.Sprintf("10.0.%d.%d", i%7, i*i%199)
		switch i % 10 {
		case 3:
			b.WriteString(combined(host, fmt.Sprintf("GET /%d.css HTTP/1.1", i), 200, browser))
		case 5:
			b.WriteString(combined(host, fmt.Sprintf("GET /page/%d?%d HTTP/1.1", i%23, i), 200, agent))
		case 7:
			fmt.Fprintf(&b, "malformed %d", i)
		default:
			b.WriteString(combined(host, fmt.Sprintf("GET /page/%d?%d HTTP/1.1", i%23, i), 200, browser))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestImportTwice(t *testing.T) {
	a := newArchive(t)
	log := logOf(0, 500)
	first := a.importAll(a.file("access.log", log))
	if first.Lines != 500 || first.Human != 350 || first.AI != 50 || first.Malformed != 50 || first.Ignored[ingest.IgnoredNotPage] != 50 {
		t.Fatalf("%+v", first)
	}
	want := a.counts()
	for _, name := range []string{
		a.file("access.log", log),
		a.file("renamed.log.1", log),
		a.gzip("renamed.log.2.gz", log),
		a.gzip("access.log", log),
	} {
		if report := a.importAll(name); report.Lines != 0 || report.Human != 0 || report.Malformed != 0 {
			t.Errorf("%s again: %+v", name, report)
		}
		if got := a.counts(); got != want {
			t.Errorf("%s again: %+v, want %+v", name, got, want)
		}
	}
}

func TestImportOfAFileThatHasGrown(t *testing.T) {
	a := newArchive(t)
	wanted := a.importAll(a.file("access.log", logOf(0, 700)))
	want := a.counts()
	// The first time it may be shorter than what names it, or end within a line.
	log := logOf(0, 700)
	for _, sizes := range [][]int{
		{1}, {80}, {200, 300}, {4000, 4096, 4097, 4098}, {4095, 5000}, {20_000, 40_000}, {len(log) - 1}, {len(log) - 2, len(log) - 1},
	} {
		for _, compressed := range []bool{false, true} {
			a.clear()
			write := a.file
			if compressed {
				write = a.gzip
			}
			var total ingest.Report
			for _, size := range append(sizes, len(log)) {
				total.Add(a.importAll(write("access.log", log[:size])))
			}
			if got := a.counts(); got != want {
				t.Errorf("grown by %v, compressed %v: %+v, want %+v", sizes, compressed, got, want)
			}
			if total.Lines != wanted.Lines || total.Malformed != wanted.Malformed || !reflect.DeepEqual(total.MalformedLines, wanted.MalformedLines) {
				t.Errorf("grown by %v, compressed %v: %+v, want %+v", sizes, compressed, total, wanted)
			}
			if total.Mark.To != wanted.Mark.To || total.Mark.Lines != wanted.Mark.Lines {
				t.Errorf("grown by %v: mark %+v, want %+v", sizes, total.Mark, wanted.Mark)
			}
		}
	}
}

// A last line without its end that is whole is taken at once, and its end, which
// comes later, is not another line.
func TestImportOfALineThatGetsItsEndLater(t *testing.T) {
	a := newArchive(t)
	one, two := view("192.0.2.1", "/a"), view("192.0.2.2", "/b")
	if report := a.importAll(a.file("access.log", one)); report.Human != 1 || report.Mark.Lines != 1 {
		t.Errorf("%+v", report)
	}
	if report := a.importAll(a.file("access.log", one+"\n")); report.Human != 0 || report.Lines != 0 {
		t.Errorf("its end: %+v", report)
	}
	if report := a.importAll(a.file("access.log", one+"\n"+two+"\nmalformed\n")); report.Human != 1 || report.Lines != 2 || report.MalformedLines[0] != 3 {
		t.Errorf("the next: %+v", report)
	}
}

func TestImportOfALogInTwoParts(t *testing.T) {
	a := newArchive(t)
	a.importAll(a.file("access.log", logOf(0, 600)))
	want := a.counts()
	for _, border := range []int{1, 10, 300, 599} {
		first, second := logOf(0, border), logOf(border, 600)
		orders := [][2]string{{first, second}, {second, first}}
		for i, order := range orders {
			a.clear()
			a.importAll(a.file("one.log", order[0]))
			a.importAll(a.gzip("two.log.gz", order[1]))
			if got := a.counts(); got != want {
				t.Errorf("in two parts at line %d, order %d: %+v, want %+v", border, i, got, want)
			}
			// And again: each is known.
			a.importAll(a.file("two.log", order[1]))
			a.importAll(a.gzip("one.log.gz", order[0]))
			if got := a.counts(); got != want {
				t.Errorf("again, in two parts at line %d, order %d: %+v, want %+v", border, i, got, want)
			}
		}
	}
}

// Another log with the same lines is another source: its visitors count once as
// always, its views again.
func TestImportOfTheSameLinesInAnotherLog(t *testing.T) {
	a := newArchive(t)
	a.importAll(a.file("one.log", logOf(0, 300)))
	once := a.counts()
	report := a.importAll(a.file("two.log", "# another beginning\n"+logOf(0, 300)))
	if report.Human != 210 || report.AI != 30 {
		t.Errorf("%+v", report)
	}
	twice := a.counts()
	if twice.visitors != once.visitors {
		t.Errorf("visitors %+v, want %+v", twice.visitors, once.visitors)
	}
	if twice.views != [2]uint64{2 * once.views[0], 2 * once.views[1]} {
		t.Errorf("views %v, want twice %v", twice.views, once.views)
	}
}

// Nothing is taken of a log that is not the one it looks like, and the one it
// looks like can still be continued.
func TestImportOfALogThatLooksLikeAnother(t *testing.T) {
	a := newArchive(t)
	log := logOf(0, 500)
	other := strings.Replace(log, logOf(450, 451), logOf(1450, 1451), 1)
	for name, content := range map[string]string{
		"a copy that was cut off":                            log[:30_000],
		"a copy that was cut off within its beginning":       log[:4096],
		"a log that begins alike":                            other,
		"a log that begins alike and goes on":                other + logOf(600, 800),
		"a log that begins alike and is other at the end":    log[:len(log)-3] + "XX\n" + logOf(600, 800),
		"a log that begins alike and goes on for some lines": log[:20_000] + "\n" + logOf(600, 700),
	} {
		for _, compressed := range []bool{false, true} {
			a.clear()
			a.importAll(a.file("access.log", log))
			want := a.counts()
			write := a.file
			if compressed {
				write = a.gzip
			}
			report, err := a.importFile(write("other.log", content), 1<<30)
			if !errors.Is(err, logfile.ErrChanged) || !strings.Contains(err.Error(), "other.log") {
				t.Errorf("%s: %v, want ErrChanged and its name", name, err)
			}
			if report.Lines != 0 || a.counts() != want {
				t.Errorf("%s: %+v was taken", name, report)
			}
			if report := a.importAll(a.file("access.log", log+logOf(500, 510))); report.Lines != 10 {
				t.Errorf("after %s the log goes on with %+v", name, report)
			}
		}
	}
}

// Two imports of one log at the same time: what one has committed, the other can
// not commit again.
func TestImportAtTheSameTime(t *testing.T) {
	a := newArchive(t)
	log := []byte(logOf(0, 100))
	chunk := ingest.Chunk{Source: sketch.SourceOf(log), Data: log, End: true}
	importChunk(t, a.pipeline, chunk)
	want := a.counts()
	if _, err := a.pipeline.Import(t.Context(), project, chunk); !errors.Is(err, sketch.ErrSourceMoved) {
		t.Errorf("the same chunk again: %v, want ErrSourceMoved", err)
	}
	chunk.From += int64(len(log)) + 1
	if _, err := a.pipeline.Import(t.Context(), project, chunk); !errors.Is(err, sketch.ErrSourceMoved) {
		t.Errorf("a chunk behind a gap: %v, want ErrSourceMoved", err)
	}
	if got := a.counts(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Lines longer than a chunk, and lines across the borders of chunks, count once,
// and the lines behind them have their numbers.
func TestImportOfManyChunks(t *testing.T) {
	a := newArchive(t)
	const chunkBytes = 1 << 20
	long := strings.Repeat("x", 2*chunkBytes+chunkBytes/2)
	lines := logOf(0, 10_000) // over one chunk
	log := lines + long + "\n" + lines + "malformed\n" + view("192.0.2.1", "/last")
	report := a.importAll(a.file("access.log", log))
	if report.Lines != 20_003 || report.Human != 14_001 || report.AI != 2000 || report.Malformed != 2002 {
		t.Errorf("%+v", report)
	}
	if report.Mark.To != int64(len(log)) || report.Mark.Lines != 20_003 {
		t.Errorf("mark %+v", report.Mark)
	}
	if first := report.MalformedLines[0]; first != 8 {
		t.Errorf("first malformed line %d, want 8", first)
	}
	got := a.counts()
	a.clear()
	a.importAll(a.file("access.log", strings.Replace(log, long, "short", 1)))
	if want := a.counts(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Stopped after any chunk and begun again, under any name and compression, an
// import ends as one that was never stopped.
func TestImportThatIsStopped(t *testing.T) {
	log := logOf(0, 25_000) // over three chunks
	a := newArchive(t)
	wanted := a.importAll(a.file("access.log", log))
	want := a.counts()
	names := []string{a.file("a.log", log), a.gzip("b.log.gz", log), a.file("c.log", log)}
	for _, chunks := range [][]int{{1}, {2, 1}, {1, 3}} {
		a.clear()
		var total ingest.Report
		for i := 0; total.Mark.To < int64(len(log)); i++ {
			report, err := a.importFile(names[i%len(names)], chunks[i%len(chunks)])
			if err != nil {
				t.Fatal(err)
			}
			total.Add(report)
		}
		if got := a.counts(); got != want {
			t.Errorf("stopped after %v chunks: %+v, want %+v", chunks, got, want)
		}
		if !reflect.DeepEqual(total, wanted) {
			t.Errorf("stopped after %v chunks: %+v, want %+v", chunks, total, wanted)
		}
	}
}

// However a log is cut into chunks, what comes of it is the same.
func TestChunksOfAnySize(t *testing.T) {
	log := logOf(0, 60) + "\n\r\n" + common("192.0.2.9", "/common") + "\n" + view("192.0.2.8", "/last")
	human := sketch.Human
	a := newArchive(t)
	chunk := chunkOf(log)
	chunk.Traffic = &human
	wanted := importChunk(t, a.pipeline, chunk)
	want := a.counts()
	rapid.Check(t, func(rt *rapid.T) {
		a.clear()
		var total ingest.Report
		rest := log
		for from, lines := int64(0), int64(0); rest != ""; {
			// A chunk ends with a line end, unless the log ends there.
			size := rapid.IntRange(1, len(rest)).Draw(rt, "size")
			if size < len(rest) {
				size = strings.LastIndexByte(rest[:size], '\n') + 1
			}
			if size == 0 {
				continue
			}
			report, err := a.pipeline.Import(context.Background(), project, ingest.Chunk{
				Source: chunk.Source, From: from, Lines: lines, Data: []byte(rest[:size]), End: size == len(rest), Traffic: &human,
			})
			if err != nil {
				rt.Fatal(err)
			}
			total.Add(report)
			from, lines, rest = report.Mark.To, report.Mark.Lines, rest[size:]
		}
		total.Mark, wanted.Mark = sketch.Mark{Lines: total.Mark.Lines, To: total.Mark.To}, sketch.Mark{Lines: wanted.Mark.Lines, To: wanted.Mark.To}
		if got := a.counts(); got != want || !reflect.DeepEqual(total, wanted) {
			rt.Fatalf("%+v, %+v\nwant %+v, %+v", total, got, wanted, want)
		}
	})
}
