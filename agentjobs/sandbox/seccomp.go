package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are system calls that reach around the bounds or out of the
// namespaces. They return ENOSYS, as on a kernel built without them, for which
// programs have another way.
var refused = []uint32{
	// Memory that belongs to no process, so that no look finds it.
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET,
	// Keyrings are the user's, not the namespace's.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// io_uring does what the filter refuses, unseen by it.
	unix.SYS_IO_URING_SETUP,
	// Large parts of the kernel that no coding agent needs.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
}

// families of sockets that may be opened. A network namespace does not hold
// others: AF_VSOCK leads from a virtual machine to its host.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// Offsets in struct seccomp_data (seccomp(2)), on a little-endian machine.
const (
	offsetCall     = 0
	offsetArch     = 4
	offsetArgument = 16 // of the first argument's lower half
)

// x32 calls share amd64's architecture and have this bit in their number.
const x32Bit = 0x40000000

var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// installFilter binds the calling thread, and what it executes, to the filter.
func installFilter() error {
	architecture, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no filter of system calls is written for %s", runtime.GOARCH)
	}
	program := filter(architecture)
	header := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&header)), 0, 0); err != nil {
		return fmt.Errorf("install the filter of system calls: %w", err)
	}
	return nil
}

// filter is a program for the kernel's packet filter machine. All it does not
// name is allowed: an agent runs anybody's programs, and a list of what may pass
// would break those of tomorrow.
func filter(architecture uint32) []unix.SockFilter {
	const failing = unix.SECCOMP_RET_ERRNO
	program := []unix.SockFilter{
		load(offsetArch),
		// Numbers of another architecture mean other calls.
		jump(unix.BPF_JEQ, architecture, 1, 0), answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetCall),
		jump(unix.BPF_JGE, x32Bit, 0, 1), answer(failing | uint32(unix.ENOSYS)),
	}
	for _, call := range refused {
		program = append(program, jump(unix.BPF_JEQ, call, 0, 1), answer(failing|uint32(unix.ENOSYS)))
	}
	// A process that is not dumpable shows its open files to nobody, and holds
	// deleted ones unseen. The call seems to succeed, with error 0: a program that guards its
	// memory this way goes on.
	program = append(program,
		jump(unix.BPF_JEQ, unix.SYS_PRCTL, 0, 4),
		load(offsetArgument), jump(unix.BPF_JEQ, unix.PR_SET_DUMPABLE, 0, 1), answer(failing), answer(unix.SECCOMP_RET_ALLOW),
	)
	for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		program = append(program, jump(unix.BPF_JEQ, call, 0, uint8(len(families)+3)), load(offsetArgument))
		for i, family := range families {
			program = append(program, jump(unix.BPF_JEQ, family, uint8(len(families)-i), 0))
		}
		program = append(program, answer(failing|uint32(unix.EAFNOSUPPORT)), answer(unix.SECCOMP_RET_ALLOW))
	}
	return append(program, answer(unix.SECCOMP_RET_ALLOW))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jump(condition uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | condition | unix.BPF_K, Jt: yes, Jf: no, K: value}
}

func answer(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}
