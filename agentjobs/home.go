package agentjobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"footfall/agentjobs/agent"
	"footfall/agentjobs/checkout"
)

// What an agent may keep from one run to the next. What one run may add is the
// sandbox's to bound.
const (
	maxHomeFiles = 100_000
	maxHomeBytes = 1 << 30
)

var errHome = errors.New("the home can not be used")

// openHome puts an agent's configuration into its home, and looks whether what an
// earlier run left there can be used again. It can not where it grew too large, where
// the agent shut a directory that it can not open itself then, or made one whose path
// is too long, or where links or files lie in the way. Such a home is removed, with
// the session in it. kept is false then.
func openHome(home string, command agent.Command) (kept bool, err error) {
	if checkHome(home) == nil && furnish(home, command) == nil {
		return true, nil
	}
	if err := checkout.Discard(home, home+trashSuffix); err != nil {
		return false, fmt.Errorf("removing the home of the agent: %w", err)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		return false, fmt.Errorf("making the home of the agent: %w", err)
	}
	return false, furnish(home, command)
}

func checkHome(home string) error {
	files, size := 0, int64(0)
	return filepath.WalkDir(home, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		size += info.Size()
		if entry.IsDir() && info.Mode().Perm()&0o700 != 0o700 || files > maxHomeFiles || size > maxHomeBytes {
			return errHome
		}
		return nil
	})
}

// checkRoom says whether there is the room on the disk that a run may take. On a full
// disk the database could take no page views either.
func (js *Jobs) checkRoom() error {
	if err := js.db.CheckRoom(js.options.RunBytes); err != nil {
		return fmt.Errorf("%w: %w", errNoRoom, err)
	}
	return nil
}

var errNoRoom = errors.New("the server has too little room on its disk for a run")

// furnish puts the agent's configuration into its home, and removes from there what
// the agent would run code from as it starts. An earlier run may have left links
// there, which os.Root does not follow out of it.
func furnish(home string, command agent.Command) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("opening the home of the agent: %w", err)
	}
	defer func() { _ = root.Close() }() // It was read-only.
	for _, name := range command.Remove {
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("removing the agent's %s: %w", name, err)
		}
	}
	for name, content := range command.Files {
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return fmt.Errorf("writing the agent's %s: %w", name, err)
		}
		// Not into what lies there: that may be a link, or a file that nobody may write.
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("writing the agent's %s: %w", name, err)
		}
		if err := root.WriteFile(name, content, 0o600); err != nil {
			return fmt.Errorf("writing the agent's %s: %w", name, err)
		}
	}
	return nil
}
