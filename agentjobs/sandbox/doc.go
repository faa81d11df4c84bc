// Package sandbox runs an agent's process apart from the service: what it can
// see, what it can reach and how much it can use. It runs on Linux, on amd64 and
// arm64.
//
// The nouns:
//
//   - A Sandbox is how all runs of a service are kept: the mode and the limits.
//   - A Room is what one run is locked into: a tree, a home, a way to the model.
//   - A Process is an agent that runs in a room. When it ends, all that it started
//     ends.
//   - Init is the first process inside. It is this program, started again.
//   - A look is one measurement by Init of what the run uses.
//
// # What is there inside
//
// bwrap(1) gives the run user, process, IPC, host name and network namespaces of
// its own, and a control group namespace where there is one; no capability; no
// way to make further user namespaces; and these paths:
//
//	/workspace, /home/agent      the run's tree and home, writable
//	/tmp, /dev/shm               in memory, writable, gone with the run
//	/usr, /bin, /lib, ...        the host's programs, read-only
//	/etc                         a few files of the host, and some of our own
//	/proc                        of its processes; the kernel's settings read-only
//	/run/footfall/init           this program
//	/run/footfall/gate.sock      the run's way to the model
//	the agent's own program      at the host's path, and Options.Runtime, read-only
//
// Nothing else of the host has a name there. The only network is a loopback of
// its own, on which Init listens at port 8484 and forwards to the gate. A filter
// of system calls (seccomp(2)) refuses what would lead around this: sockets that a
// network namespace does not hold, keyrings, io_uring, memory that belongs to no
// process.
//
// Files that the agent makes belong to the service's user. Where the service runs
// as root, so does the agent as far as files are concerned: it reads what root may
// below /usr. The service should have a user of its own.
//
// Inside, the agent and Init have one user id. Init is not dumpable, so that the
// agent can not read its memory, environment or files, or trace it. The kernel
// drops SIGKILL and SIGSTOP for the first process of a namespace, and Init takes
// the others without effect. An agent can still make Init fail: by a signal that
// stands for a fault, by limits that it sets on it, by taking its turns on the
// processor. Then the run ends: with Init all processes of its namespace die, a
// look that fails is the end, and the service kills a sandbox whose looks stop.
//
// # Bounds
//
// Limits are held by the kernel where it can, and by looks: five a second at
// processes and memory, one a second or fewer at the disk.
//
//	bound            what holds it                         what gets past, until the next look
//	Processes        looks; RLIMIT_NPROC of 64 more,       as root, what is forked in 0.2 s
//	                 unless the service is root
//	MemoryBytes      looks at anonymous and shared memory  what is touched in 0.2 s; the kernel's
//	                 and swap of each process, and at      own for sockets, pipes and page
//	                 /tmp and /dev/shm                     tables, at any time. Memory shared
//	                                                       after a fork counts for each process
//	CPU              looks at live and reaped processes;   0.2 s of each processor; children that
//	                 RLIMIT_CPU for each process           end between looks, of a parent that
//	                                                       ignores SIGCHLD, at any time
//	DiskBytes        looks at tree and home and at files   what is written until the walk: a
//	                 that are deleted and open;            second, and less once the file system
//	                 RLIMIT_FSIZE for each file            lost a quarter of it. Deleted files
//	                                                       that are only mapped, or on their way
//	                                                       through a socket, at any time
//	Files            the same walks, with /tmp, /dev/shm   what is made until the walk
//	TempBytes        size of each tmpfs                    nothing
//	StderrBytes      a ring in the service                 nothing; older output is dropped
//	standard output  the pipe: 64 KiB wait for a reader    nothing
//	open files       RLIMIT_NOFILE, 4,096 a process        nothing
//	core dumps       RLIMIT_CORE, none                     nothing
//	connections to   64 at once, the rest waits            nothing
//	the model
//	wall time        Start's context, held by the caller   nothing
//
// When memory is short, the kernel's choice falls on the agent first
// (oom_score_adj). The agent runs at a lower priority than the service and Init,
// and where the service is root, which no RLIMIT_NPROC holds, Init has the
// highest there is: else a fork bomb crowds the looks out.
//
// # How a run ends
//
// The end of Init is the end of all: the kernel kills every process of the
// namespace, whatever its parent or session (pid_namespaces(7)). Init ends when
// the agent ends, when a limit is passed, and when its control socket closes, as
// it does by itself when the service is killed. It is also killed when bwrap dies,
// and bwrap when the service does (--die-with-parent). Done is closed only after
// the kernel told that Init and all others are gone.
//
// # Mode None
//
// The agent is a plain child with the service's own rights. It can read the data
// directory, reach the control socket and the network, and no Limits but
// StderrBytes hold. Its process group is killed at the end, and its first process
// when the service dies; what leaves the group stays. Any local user can use the
// loopback port that leads to the model.
package sandbox
