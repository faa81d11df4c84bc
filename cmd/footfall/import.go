package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"footfall/ingest"
	"footfall/ingest/logfile"
	"footfall/internal/forwarded"
	"footfall/sketch"
)

func newImport(c *common) *cobra.Command {
	var (
		project, traffic string
		follow           bool
		trusted          forwarded.Trusted
	)
	command := &cobra.Command{
		Use:   "import --project ID FILE...|-",
		Short: "Import access logs",
		Long: `Imports access logs, plain or gzip, from files or from standard input (-): of
Apache and nginx in the common or combined format, of nginx and Caddy as JSON, of
CloudFront, and of AWS Application Load Balancers. The format is told by the lines.

A log is known by how it begins, whatever its name or compression: importing it
again, or when it has grown, adds only what is new, and an import that was
stopped goes on where it ended.

The common format has no user agent, so nothing tells people from agents in it:
its lines are ignored unless --traffic says what they count as.

Without a running server the import holds the data directory until it ends, and
other commands wait for it. With one, it goes through the server.`,
		Example: `  footfall import --project docs /var/log/nginx/access.log /var/log/nginx/access.log.*.gz
  footfall import --project docs --follow /var/log/nginx/access.log`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if project == "" {
				return errors.New("--project is required: the project's ID")
			}
			if follow && slices.Contains(files, logfile.Stdin) {
				return errors.New("--follow takes files: standard input is read to its end as it is")
			}
			imp := &importer{project: project, log: cmd.ErrOrStderr()}
			if traffic != "" {
				parsed, err := sketch.ParseTraffic(traffic)
				if err != nil {
					return fmt.Errorf("--traffic: %w", err)
				}
				imp.traffic = &parsed
			}
			imp.trusted = trusted
			return c.with(cmd.Context(), func(conn *connection) error {
				imp.conn = conn
				if follow {
					imp.following = true
					return imp.followAll(cmd.Context(), files)
				}
				return imp.all(cmd.Context(), files, cmd.OutOrStdout())
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&project, "project", "", "project that the logs belong to")
	flags.BoolVar(&follow, "follow", false, "go on as the logs grow and are rotated, until interrupted")
	flags.Var(oneOf(&traffic, "", "human", "ai"), "traffic", "what lines in a format without user agents count as: human, ai (default they are ignored)")
	flags.Var(ranges((*[]netip.Prefix)(&trusted)), "trusted-proxy", "addresses or CIDR ranges of proxies whose X-Forwarded-For is believed (default none)")
	return command
}

// importer imports logs into one project.
type importer struct {
	conn    *connection
	project string
	traffic *sketch.Traffic
	trusted forwarded.Trusted
	// following says that a server that is away is waited for.
	following bool
	log       io.Writer
}

// all imports logs one after the other and prints a summary. A log that fails
// does not stop the others; its error is returned at the end.
func (imp *importer) all(ctx context.Context, files []string, out io.Writer) error {
	var total ingest.Report
	var failures []error
	for _, name := range files {
		report, err := imp.one(ctx, name)
		total.Add(report)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", name, err))
		}
		if ctx.Err() != nil {
			break
		}
		if len(files) > 1 || err != nil {
			if _, err := fmt.Fprintf(out, "%s: %d lines\n", name, report.Lines); err != nil {
				return err
			}
		}
		imp.noteMalformed(name, report)
	}
	return errors.Join(append(failures, writeSummary(out, total, imp.traffic == nil))...)
}

// one imports a log from where its last import ended to its end.
func (imp *importer) one(ctx context.Context, name string) (report ingest.Report, err error) {
	r, source, err := imp.open(ctx, name)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	bar := imp.progress(name, r)
	defer func() { err = errors.Join(err, bar.Finish()) }()
	for {
		part, more, err := imp.next(ctx, r, &source)
		report.Add(part)
		if err != nil {
			return report, err
		}
		if err := bar.Set64(r.Read()); err != nil {
			return report, err
		}
		if !more {
			return report, imp.noteLeft(name, r)
		}
	}
}

// open opens a log at the place where its last import ended. A log that was never
// imported is named by its first chunk.
func (imp *importer) open(ctx context.Context, name string) (*logfile.Reader, sketch.Source, error) {
	r, err := logfile.Open(name)
	if err != nil {
		return nil, sketch.Source{}, err
	}
	head, err := r.Head()
	if err != nil {
		return nil, sketch.Source{}, errors.Join(err, r.Close())
	}
	source, err := imp.resume(ctx, r, head)
	if errors.Is(err, logfile.ErrChanged) && int(source.Length) < len(head) && name != logfile.Stdin {
		// Another log, imported when it was still short, was named by what this
		// one begins with too. By now there is more to tell them apart.
		if err := r.Close(); err != nil {
			return nil, sketch.Source{}, err
		}
		r, err = logfile.Open(name)
		return r, sketch.Source{}, err
	}
	if err != nil {
		return nil, sketch.Source{}, errors.Join(err, r.Close())
	}
	return r, source, nil
}

// resume finds out which log begins with head and goes to where its last import
// ended.
func (imp *importer) resume(ctx context.Context, r *logfile.Reader, head []byte) (sketch.Source, error) {
	if len(head) == 0 {
		return sketch.Source{}, nil
	}
	var known sourceAnswer
	if err := imp.conn.call(ctx, http.MethodPost, imp.path("source"), head, &known); err != nil {
		return sketch.Source{}, err
	}
	if !known.Found {
		return sketch.Source{}, nil
	}
	return known.Mark.Source, r.SkipTo(known.Mark)
}

// moved reports whether another import of the same log came in between, or an
// answer was lost and the chunk is in: the place to go on is to be found anew.
func moved(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.status == http.StatusConflict
}

// next imports the next chunk. more is false at the end of the log.
//
// As long as nothing was imported, the log is named anew by what it holds now:
// one that is just being written would else be named by a part of its first
// line, and every other that begins alike be taken for it.
func (imp *importer) next(ctx context.Context, r *logfile.Reader, source *sketch.Source) (report ingest.Report, more bool, err error) {
	inside := r.Inside()
	chunk, err := r.Next()
	if errors.Is(err, io.EOF) {
		return report, false, nil
	}
	if err != nil {
		return report, false, err
	}
	if chunk.From == 0 {
		*source = sketch.SourceOf(chunk.Data)
	}
	query := chunkToQuery(ingest.Chunk{
		Source: *source, From: chunk.From, Lines: chunk.Lines,
		Inside: inside, End: chunk.End, Traffic: imp.traffic, Trusted: imp.trusted,
	})
	err = imp.patiently(ctx, func() error {
		return imp.conn.call(ctx, http.MethodPost, imp.path("import")+"?"+query.Encode(), chunk.Data, &report)
	})
	if err != nil {
		return ingest.Report{}, false, fmt.Errorf("importing from offset %d: %w", chunk.From, err)
	}
	r.Advance(chunk, report.Mark.To, report.Mark.Lines)
	return report, !chunk.End, nil
}

// patiently tries again while the server is overloaded; when following, also while
// it is away, and for as long as that lasts.
func (imp *importer) patiently(ctx context.Context, try func() error) error {
	const longest = 5 * time.Second
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, longest) {
		err := try()
		var refused *refusedError
		again := errors.As(err, &refused) && refused.status == http.StatusServiceUnavailable && pause < longest
		if imp.following && err != nil {
			again = refused == nil || refused.status == http.StatusServiceUnavailable
		}
		if !again {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (imp *importer) path(what string) string {
	return "/projects/" + url.PathEscape(imp.project) + "/" + what
}

// progress returns a bar over the bytes of the file, where a person watches.
func (imp *importer) progress(name string, r *logfile.Reader) *progressbar.ProgressBar {
	size := r.Size()
	if size == 0 {
		size = -1
	}
	file, isFile := imp.log.(*os.File)
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(imp.log),
		progressbar.OptionSetDescription("importing "+name),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(65*time.Millisecond),
		progressbar.OptionSetVisibility(isFile && term.IsTerminal(int(file.Fd()))),
		progressbar.OptionOnCompletion(func() { _, _ = fmt.Fprintln(imp.log) }),
	)
}

func (imp *importer) noteMalformed(name string, report ingest.Report) {
	if report.Malformed == 0 {
		return
	}
	numbers := make([]string, len(report.MalformedLines))
	for i, n := range report.MalformedLines {
		numbers[i] = fmt.Sprint(n)
	}
	// A note on standard error; nothing depends on it.
	_, _ = fmt.Fprintf(imp.log, "%s: %d malformed, first at line %s\n", name, report.Malformed, strings.Join(numbers, ", "))
}

// noteLeft says when the log ends within a line that was left for later.
func (imp *importer) noteLeft(name string, r *logfile.Reader) error {
	if r.Left() == 0 {
		return nil
	}
	_, err := fmt.Fprintf(imp.log, "%s: the last line has no end yet and is left for the next import (%d bytes)\n", name, r.Left())
	return err
}

// followAll imports logs and goes on as they grow.
func (imp *importer) followAll(ctx context.Context, files []string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range files {
		group.Go(func() error {
			if err := imp.follow(ctx, name); err != nil && ctx.Err() == nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

func (imp *importer) follow(ctx context.Context, name string) error {
	watch, err := logfile.Follow(name)
	if err != nil {
		return err
	}
	defer func() { _ = watch.Close() }() // Nothing is lost with a watch.
	for {
		if err := imp.followOne(ctx, watch, name); err != nil {
			return err
		}
	}
}

// followOne follows a log until it is rotated.
func (imp *importer) followOne(ctx context.Context, watch *logfile.Follower, name string) (err error) {
	r, source, err := imp.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if !r.CanFollow() {
		return errors.New("only plain files can be followed")
	}
	for {
		var report ingest.Report
		more := true
		for more {
			part, again, err := imp.next(ctx, r, &source)
			if moved(err) {
				return nil // Opened again, it is found where to go on.
			}
			if err != nil {
				return err
			}
			report.Add(part)
			more = again
		}
		if report.Lines > 0 {
			imp.noteMalformed(name, report)
			if _, err := fmt.Fprintf(imp.log, "%s: %d lines, %d human and %d AI views\n", name, report.Lines, report.Human, report.AI); err != nil {
				return err
			}
		}
		growth, err := watch.Wait(ctx, r)
		if err != nil {
			return err
		}
		if growth == logfile.Rotated {
			_, err := fmt.Fprintf(imp.log, "%s: rotated; import the old file once more if a server wrote into it later\n", name)
			return err
		}
	}
}

func writeSummary(w io.Writer, r ingest.Report, hint bool) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%d lines: %d human views, %d AI views, %d malformed\n", r.Lines, r.Human, r.AI, r.Malformed)
	for _, reason := range slices.Sorted(maps.Keys(r.Ignored)) {
		fmt.Fprintf(&text, "%10d ignored: %s\n", r.Ignored[reason], reason)
	}
	if r.Ignored[ingest.IgnoredNoFormatUserAgent] > 0 && hint {
		text.WriteString("The common format has no user agents: give --traffic with the first import of such\na log to say what its lines count as. What was read is not read again.\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
