package database

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// ErrDamaged is matched by the error of Open when the files of the database lack
// something that was written, or do not check. The error is a *DamageError.
var ErrDamaged = errors.New("database is damaged")

// DamageError names the file that is damaged. It matches ErrDamaged.
type DamageError struct {
	File   string
	Reason string
}

func (e *DamageError) Error() string { return fmt.Sprintf("%s: %s", e.File, e.Reason) }

// Is makes errors.Is(err, ErrDamaged) hold.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

const manifestFile = "MANIFEST"

// check looks at the files of a database before Badger opens them, since Badger
// (4.9.6) takes much of what it finds for the end of what was written: a
// memtable's log up to the first entry that does not check, the manifest up to
// the first that is cut short. What follows is lost without a word, tables that
// the manifest lacks are even removed, and where a table is cut it panics in a
// goroutine of its own.
//
// Every table that the manifest names is read whole. Then the versions of what was
// written must follow each other without a gap: those of the tables, then those
// of each memtable's log, up to the one that the version file says. Each
// transaction takes the next version, and its newest entry is never removed, see
// DB.commit. Only the end of the newest log may be torn, and only
// behind that version: it is of a write that was never reported done.
//
// version is nil where that file is missing: nothing was written then.
func check(dir string, opts badger.Options, version *versionFile) error {
	tables, err := checkTables(dir, opts)
	if err != nil {
		return err
	}
	logs, err := scanMemtableLogs(dir)
	if err != nil {
		return err
	}
	if version == nil {
		return checkUnwritten(dir, tables, logs)
	}
	covered := tables
	for i, log := range logs {
		if log.first > covered+1 {
			return &DamageError{File: log.name, Reason: fmt.Sprintf(
				"it begins with version %d, but what comes before ends with version %d", log.first, covered)}
		}
		covered = max(covered, log.last)
		if log.stale && (i < len(logs)-1 || covered < version.last) {
			return &DamageError{File: log.name, Reason: fmt.Sprintf("the entry at byte %d does not check", log.end)}
		}
	}
	if covered < version.last {
		return &DamageError{File: dir, Reason: fmt.Sprintf(
			"what was written ends with version %d, but version %d had been reported as written", covered, version.last)}
	}
	return nil
}

// checkUnwritten refuses a database that lacks its version file though something
// was written: the file comes before the first write.
func checkUnwritten(dir string, tables uint64, logs []memtableScan) error {
	for _, log := range logs {
		tables = max(tables, log.last)
	}
	if tables > 0 {
		return &DamageError{File: filepath.Join(dir, versionFileName), Reason: "it is missing"}
	}
	return nil
}

// checkTables reads every table of the manifest and returns the highest version
// in them.
func checkTables(dir string, opts badger.Options) (highest uint64, err error) {
	name := filepath.Join(dir, manifestFile)
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, checkEmpty(dir)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // It was only read from.
	manifest, _, err := badger.ReplayManifestFile(file, opts.ExternalMagicVersion, opts)
	if err != nil {
		return 0, &DamageError{File: name, Reason: err.Error()}
	}
	for id, entry := range manifest.Tables {
		version, err := checkTable(table.NewFilename(id, dir), opts, entry.Compression)
		if err != nil {
			return 0, err
		}
		highest = max(highest, version)
	}
	return highest, nil
}

// checkEmpty refuses a directory that lacks its manifest. Badger would begin a
// new one and remove the tables.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if extension := filepath.Ext(entry.Name()); extension == ".sst" || extension == memtableLog {
			return &DamageError{File: filepath.Join(dir, manifestFile), Reason: "it is missing"}
		}
	}
	return nil
}

// checkTable reads every block of a table and returns the highest version in it.
func checkTable(name string, opts badger.Options, compression options.CompressionType) (version uint64, err error) {
	file, err := z.OpenMmapFile(name, os.O_RDONLY, 0)
	if err != nil {
		return 0, &DamageError{File: name, Reason: err.Error()}
	}
	defer func() {
		// The readers of a table panic at some damage: in OpenTable where the end
		// is not that of a table, in VerifyChecksum at a block that does not check.
		if reason := recover(); reason != nil {
			err = &DamageError{File: name, Reason: "it is cut short, or a block does not match its checksum"}
		}
		if closeErr := file.Close(-1); err == nil {
			err = closeErr
		}
	}()
	t, err := table.OpenTable(file, table.Options{
		ReadOnly:             true,
		BlockSize:            opts.BlockSize,
		Compression:          compression,
		ZSTDCompressionLevel: opts.ZSTDCompressionLevel,
		ChkMode:              options.OnBlockRead,
	})
	if err != nil {
		return 0, &DamageError{File: name, Reason: err.Error()}
	}
	if err := t.VerifyChecksum(); err != nil {
		return 0, &DamageError{File: name, Reason: err.Error()}
	}
	return t.MaxVersion(), nil
}

// scanMemtableLogs scans the logs of all memtables, oldest first.
func scanMemtableLogs(dir string) ([]memtableScan, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, entry := range entries {
		text, isLog := strings.CutSuffix(entry.Name(), memtableLog)
		number, err := strconv.Atoi(text)
		if isLog && err == nil {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	var logs []memtableScan
	for _, number := range numbers {
		log, err := scanMemtableLog(filepath.Join(dir, fmt.Sprintf("%05d%s", number, memtableLog)))
		if err != nil {
			return nil, err
		}
		logs = append(logs, log)
	}
	return logs, nil
}
