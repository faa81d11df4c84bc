package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The service and Init talk over a pair of sockets, which the agent does not
// inherit. Init sends one byte, with which the kernel tells the service its
// process id; the service sends an assignment; Init answers with a report once
// the agent runs, and with another at its end. In between it sends a line feed
// once a look: white space to the decoder, and silence means that nobody holds
// the bounds. The end of the connection ends the other side.

// An assignment is what Init is to run. Arguments and environment travel here
// and not on command lines, which any user of the host may read.
type assignment struct {
	Path   string   `json:"path"`
	Argv   []string `json:"argv"`
	Env    []string `json:"env"`
	Gate   bool     `json:"gate"`
	Limits Limits   `json:"limits"`
}

// A report has one of its fields set.
type report struct {
	Started bool        `json:"started,omitzero"`
	Failure string      `json:"failure,omitzero"` // of Init itself, or to start the agent
	Limit   *LimitError `json:"limit,omitzero"`
	Exit    *ExitError  `json:"exit,omitzero"` // also of exit code 0
}

const (
	helloByte = '!'
	aliveByte = '\n'

	// How long bwrap and Init may take until the agent runs. It takes 20 ms on an
	// idle machine, and the first look over a large tree is in it.
	startTimeout = time.Minute
	// How long Init may be silent. A look is due five times a second, and an agent
	// can take processor time away from Init, which is of the same user.
	silenceTimeout = 20 * time.Second
	// How long a sandbox may take to be gone once it was told to.
	endTimeout = 10 * time.Second
)

// controlPair returns the service's side, and the file to hand down.
func controlPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create the control sockets: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer ours.Close()
	if err := unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("ask for credentials on the control socket: %w", err)
	}
	conn, err := controlConn(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

// controlConn duplicates the descriptor; the file is still the caller's.
func controlConn(file *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("use the control socket: %w", err)
	}
	return conn.(*net.UnixConn), nil
}

// readHello returns Init's process id as the service sees it. Init waits for its
// assignment after it, so that the id is of no other process until then.
func readHello(conn *net.UnixConn) (int, error) {
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	n, oobn, _, _, err := conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return 0, fmt.Errorf("wait for the sandbox's first process: %w", err)
	}
	if n == 0 {
		return 0, errors.New("the sandbox ended before its first process ran")
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("the sandbox's first process came without credentials: %w", err)
	}
	credentials, err := unix.ParseUnixCredentials(&messages[0])
	if err != nil {
		return 0, fmt.Errorf("read the credentials of the sandbox's first process: %w", err)
	}
	return int(credentials.Pid), nil
}

// A patientReader ends a read after a silence. One that seems to have passed is
// tried once more: a service that was stopped itself comes back to a deadline
// that is over, with bytes waiting.
type patientReader struct {
	conn    *net.UnixConn
	timeout time.Duration
}

func (r *patientReader) Read(p []byte) (int, error) {
	var n int
	var err error
	for _, timeout := range []time.Duration{r.timeout, time.Second} {
		if err := r.conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			return 0, err
		}
		if n, err = r.conn.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	return n, err
}

func send(conn net.Conn, message any, timeout time.Duration) error {
	if err := conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	return json.NewEncoder(conn).Encode(message)
}
