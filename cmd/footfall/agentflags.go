package main

import (
	"crypto/rand"
	"fmt"
	"net/mail"
	"os"
	"time"

	"github.com/spf13/pflag"

	"footfall/agentjobs"
	"footfall/agentjobs/checkout"
	"footfall/agentjobs/gate"
	"footfall/agentjobs/sandbox"
)

// agentOptions are the flags of agent jobs. A zero field means the default.
type agentOptions struct {
	sandbox     string
	runtime     []string
	author      string
	concurrent  int64
	runsPerHour int64
	runTimeout  time.Duration
	idleTimeout time.Duration
	archiveDays int64
	retainDays  int64
	logBytes    int64
	insecure    bool

	processes int64
	memory    int64
	cpu       time.Duration
	disk      int64

	modelRequests int64
	modelBytes    int64
	modelTokens   int64
}

// addFlags adds the flags of agent jobs to a command that runs them.
func (o *agentOptions) addFlags(flags *pflag.FlagSet) {
	flags.Var(oneOf(&o.sandbox, string(sandbox.Bubblewrap), string(sandbox.Bubblewrap), string(sandbox.None)), "sandbox",
		"where agents run: bwrap (bubblewrap), or none. With none an agent can reach everything that this process can: the data directory, the control socket, the network")
	flags.StringArrayVar(&o.runtime, "agent-runtime", nil, "directory that agents see, read-only, beside /usr and where they are installed; may be given more than once")
	flags.StringVar(&o.author, "agent-author", "Footfall <footfall@localhost>", "who commits are by, Name <address>")
	flags.Var(between(&o.concurrent, 2, 1, 64), "agent-runs", "agent jobs that run at a time")
	flags.Var(between(&o.runsPerHour, 100, 1, 1_000_000), "agent-runs-per-hour", "messages that may be posted an hour for a project")
	flags.Var(duration(&o.runTimeout, 15*time.Minute), "agent-run-timeout", "time that a run may take")
	flags.Var(duration(&o.idleTimeout, 2*time.Minute), "agent-idle-timeout", "time that an agent may take between two signs of life")
	flags.Var(between(&o.archiveDays, 30, 1, 3650), "agent-archive-days", "days after which a job to which nothing happens is archived")
	flags.Var(between(&o.retainDays, 90, 1, 3650), "agent-retention-days", "days after which an archived job is removed with its messages and log")
	flags.Var(size(&o.logBytes, 4<<20, 256<<10), "agent-log-size", "size of a job's log, at least 256KiB")
	flags.Var(between(&o.processes, 512, 16, 100_000), "agent-processes", "processes and threads that a run may have")
	flags.Var(size(&o.memory, 4<<30, 64<<20), "agent-memory", "memory that a run may take, beside --memory, at least 64MiB")
	flags.Var(duration(&o.cpu, 30*time.Minute), "agent-cpu", "processor time that a run may take")
	flags.Var(size(&o.disk, 2<<30, 1<<20), "agent-disk", "disk that a run may take, at least 1MiB")
	flags.Var(between(&o.modelRequests, 1000, 1, 1_000_000), "agent-model-requests", "requests to the model that a run may make")
	flags.Var(size(&o.modelBytes, 512<<20, 1<<20), "agent-model-bytes", "bytes that a run may exchange with the model, at least 1MiB")
	flags.Var(between(&o.modelTokens, 20_000_000, 1000, 1_000_000_000), "agent-model-tokens", "tokens that a run may use")
	flags.BoolVar(&o.insecure, "agent-insecure", false, "take repositories, forges and models on this machine, by http or file. For tests: settings could then reach what listens only here")
}

// Requests to the model are held in memory while they are looked over, three times
// their size: 48 MiB a run at most. A request of 4 MiB is about a million tokens.
const (
	modelRequestBytes = 4 << 20
	modelConcurrent   = 4
)

// openJobs opens the agent jobs of an app.
func openJobs(a *app, opts appOptions) (*agentjobs.Jobs, error) {
	o := opts.agents
	author, err := parseAuthor(o.author)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program itself: %w", err)
	}
	mode := sandbox.Bubblewrap
	if o.sandbox != "" {
		mode = sandbox.Mode(o.sandbox)
	}
	box, err := sandbox.New(sandbox.Options{
		Mode: mode, Self: self, Runtime: o.runtime, Logger: opts.logger,
		Limits: sandbox.Limits{Processes: int(o.processes), MemoryBytes: o.memory, CPU: o.cpu, DiskBytes: o.disk},
	})
	if err != nil {
		return nil, err
	}
	const day = 24 * time.Hour
	return agentjobs.Open(agentjobs.Options{
		Database: a.db,
		Registry: a.registry,
		Dir:      a.dir.Jobs(),
		Now:      opts.now,
		Random:   rand.Reader,
		Sandbox:  box,
		Gate: gate.Limits{
			Requests: o.modelRequests, Bytes: o.modelBytes, Tokens: o.modelTokens,
			RequestBytes: modelRequestBytes, Concurrent: modelConcurrent,
		},
		Author:       author,
		Concurrent:   int(o.concurrent),
		RunsPerHour:  int(o.runsPerHour),
		RunTimeout:   o.runTimeout,
		RunBytes:     uint64(o.disk),
		IdleTimeout:  o.idleTimeout,
		ArchiveAfter: time.Duration(o.archiveDays) * day,
		Retention:    time.Duration(o.retainDays) * day,
		LogBytes:     int(o.logBytes),
		Insecure:     o.insecure,
		Logger:       opts.logger,
		Registerer:   opts.registerer,
	})
}

func parseAuthor(text string) (checkout.Author, error) {
	if text == "" {
		return checkout.Author{}, nil
	}
	address, err := mail.ParseAddress(text)
	if err != nil || address.Name == "" {
		return checkout.Author{}, fmt.Errorf("--agent-author must be a name and an address, such as Footfall <footfall@example.com>")
	}
	return checkout.Author{Name: address.Name, Email: address.Address}, nil
}
