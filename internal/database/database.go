package database

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// ErrFailed is matched by every write after one that failed. It lasts until the
// data directory is opened again.
var ErrFailed = errors.New("an earlier write to the database failed; restart to go on")

// Options says what memory the database may take. A zero field takes its default.
type Options struct {
	// IndexCacheBytes is the size of Badger's cache of table indices: 16 MiB.
	IndexCacheBytes int64
	// MemTableBytes is the size of a memtable, of which memTables and one that
	// takes writes exist: 16 MiB.
	MemTableBytes int64
	// Logger may be nil.
	Logger *slog.Logger
}

const (
	memTables = 2
	// Values stay below the threshold, so that Badger's value log is never used
	// and never collected: the largest is a site cell of two times 64 KiB. Badger
	// wants it to be less than 15 % of a memtable.
	valueThreshold = 256 << 10
	// A checkpoint writes several memtables at once and then nothing for a while.
	// With Badger's defaults, 5 and 15, it waits for compactions in between, and
	// page views wait for it.
	levelZeroTables = 10
	levelZeroStall  = 40
	// What is compacted out of level 0 at once is 160 MiB. A level below it of 10 MiB,
	// Badger's default, would only pass that on, and write it once more.
	baseLevelBytes = 256 << 20
	baseTableBytes = 4 << 20
	// Each takes memory for tables that it builds; four are Badger's default.
	compactors = 2
)

// DB is the open database. It is safe for concurrent use.
type DB struct {
	dir     string
	badger  *badger.DB
	version *versionFile // guarded by updating
	reserve atomic.Uint64

	// changing is held shared by every write and exclusively by Drop: Badger
	// refuses writes while it drops a prefix.
	changing sync.RWMutex
	// updating makes Update's read, decide and write one step, and guards the
	// version file. It is taken after changing, never before: a drop that waits for
	// a write, which waits for an update, would be what the update waits for.
	updating sync.Mutex

	failure struct {
		sync.Mutex
		err error
	}
}

// Open opens the database in dir and creates it where it is missing. The caller
// holds the data directory's lock. ErrDamaged says that something that was written
// is gone or does not check; nothing was changed then.
// sketch.ErrDiskFull says that there is no room to work in.
func Open(dir string, o Options) (*DB, error) {
	o.IndexCacheBytes = cmp.Or(o.IndexCacheBytes, 16<<20)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, 16<<20)
	// Tables are not compressed: most of a cell is hashes, which are random bytes.
	// zstd made the directory a quarter smaller and took a tenth of all processor
	// time while page views came in (bench/README.md). So blocks are read where the
	// file is mapped, and the system's page cache is the cache of blocks: Badger's
	// own would count a block of a map as all of the file behind it, and keep none.
	opts := badger.DefaultOptions(dir).
		WithSyncWrites(true).
		WithDetectConflicts(false). // Updates take turns; nothing else reads what it writes.
		WithNumVersionsToKeep(1).
		WithCompression(options.None).
		WithChecksumVerificationMode(options.OnBlockRead). // And see check.
		WithMemTableSize(o.MemTableBytes).
		WithNumMemtables(memTables).
		WithNumLevelZeroTables(levelZeroTables).
		WithNumLevelZeroTablesStall(levelZeroStall).
		WithNumCompactors(compactors).
		WithBaseLevelSize(baseLevelBytes).
		WithBaseTableSize(baseTableBytes).
		WithBlockCacheSize(0).
		WithIndexCacheSize(o.IndexCacheBytes).
		WithValueThreshold(valueThreshold).
		WithValueLogFileSize(64 << 20).
		WithMetricsEnabled(true).
		WithLogger(newLogger(o.Logger))
	db, err := openChecked(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the database in %s: %w", dir, err)
	}
	return db, nil
}

func openChecked(dir string, opts badger.Options) (_ *DB, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkRoom(dir, reserveBytes); err != nil {
		return nil, err
	}
	if err := removeEmpty(dir); err != nil {
		return nil, err
	}
	db := &DB{dir: dir}
	if db.version, err = openVersionFile(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && db.version != nil {
			err = errors.Join(err, db.version.close())
		}
	}()
	if err := check(dir, opts, db.version); err != nil {
		return nil, err
	}
	if db.badger, err = badger.Open(opts); err != nil {
		return nil, err
	}
	if db.version == nil {
		if db.version, err = createVersionFile(dir, db.currentVersion()); err != nil {
			return nil, errors.Join(err, db.badger.Close())
		}
	}
	db.updateReserve()
	return db, nil
}

// removeEmpty removes memtable logs and value logs of no bytes. Badger makes such a
// file first and gives it its size after that; where a kill fell in between,
// version 4.9.6 does not open again.
func removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if extension := filepath.Ext(entry.Name()); extension != memtableLog && extension != ".vlog" {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Size() > 0 {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for running writes and closes the database.
func (db *DB) Close() error {
	db.changing.Lock()
	defer db.changing.Unlock()
	if err := errors.Join(db.badger.Close(), db.version.close()); err != nil {
		return fmt.Errorf("closing the database: %w", err)
	}
	return nil
}

// Snapshot returns a read transaction on the database as it is now. The caller
// discards it. Slices of keys and values die with it.
func (db *DB) Snapshot() *badger.Txn {
	return db.badger.NewTransaction(false)
}

// View calls fn with a read transaction on the database as it is now.
func (db *DB) View(fn func(*badger.Txn) error) error {
	return db.badger.View(fn)
}

// Update calls fn with a transaction and commits what it wrote, all or nothing,
// synced when Update returns. Updates take turns. An error of fn is returned as
// it is, and nothing is written. With sketch.ErrDiskFull nothing was written either.
func (db *DB) Update(fn func(*badger.Txn) error) error {
	db.changing.RLock()
	defer db.changing.RUnlock()
	db.updating.Lock()
	defer db.updating.Unlock()
	if err := db.failed(); err != nil {
		return err
	}
	if err := db.CheckRoom(0); err != nil {
		return err
	}
	return db.commit(fn)
}

// commit commits what fn writes and with it the newest entry of writtenCounter,
// which nothing removes: so the highest version among all entries is that of the
// last commit, whatever is dropped or compacted later. Then it keeps the version.
// The caller holds changing and updating, or changing alone for writing.
func (db *DB) commit(fn func(*badger.Txn) error) error {
	txn := db.badger.NewTransaction(true)
	defer txn.Discard()
	if err := fn(txn); err != nil {
		return err
	}
	if err := SetCounter(txn, writtenCounter, txn.ReadTs()+1); err != nil {
		return err
	}
	if err := txn.Commit(); err != nil {
		return db.fail(fmt.Errorf("committing to the database: %w", err))
	}
	if err := db.version.set(db.currentVersion()); err != nil {
		return db.fail(fmt.Errorf("committing to the database: %w", err))
	}
	db.updateReserve()
	return nil
}

// writtenCounter is written with every commit.
const writtenCounter = "written"

// currentVersion returns the version of the last write. It waits for those that
// run.
func (db *DB) currentVersion() uint64 {
	txn := db.badger.NewTransaction(false)
	defer txn.Discard()
	return txn.ReadTs()
}

// Entry is a key and the value to put under it. A nil value removes the key.
type Entry struct {
	Key   []byte
	Value []byte
}

// Write puts many entries, synced when Write returns. It is not atomic: after a
// crash or an error any number of them may be there, from the first on: never one
// without those before it. An error among the entries ends it, and so does
// sketch.ErrDiskFull. Keys and values must not be changed until Write has returned.
func (db *DB) Write(entries iter.Seq2[Entry, error]) (err error) {
	db.changing.RLock()
	defer db.changing.RUnlock()
	if err := db.failed(); err != nil {
		return err
	}
	batch := db.badger.NewWriteBatch()
	defer func() {
		// A part is committed while the next is gathered. Whatever ends the write, a
		// commit that failed latches: what it wrote may be visible and not synced.
		batch.Cancel()
		if failed := batch.Error(); failed != nil {
			err = errors.Join(err, db.fail(fmt.Errorf("writing to the database: %w", failed)))
		}
	}()
	unchecked := roomEvery
	for entry, err := range entries {
		if err != nil {
			return err
		}
		if unchecked += len(entry.Key) + len(entry.Value); unchecked >= roomEvery {
			db.updateReserve()
			if err := db.CheckRoom(0); err != nil {
				return err
			}
			unchecked = 0
		}
		if err := put(batch, entry); err != nil {
			return db.fail(fmt.Errorf("writing key %q: %w", entry.Key, err))
		}
	}
	if err := batch.Flush(); err != nil {
		return db.fail(fmt.Errorf("writing to the database: %w", err))
	}
	// Not before: whoever updates would wait for all of it. The version of an update
	// in between covers what was written until then, since reading it waits.
	db.updating.Lock()
	defer db.updating.Unlock()
	return db.commit(func(*badger.Txn) error { return nil })
}

func put(batch *badger.WriteBatch, entry Entry) error {
	if entry.Value == nil {
		return batch.Delete(entry.Key)
	}
	return batch.Set(entry.Key, entry.Value)
}

// roomEvery is after how many bytes a Write looks again whether there is room.
const roomEvery = 1 << 20

// Drop removes every key that begins with one of the prefixes, from memory and
// from the tables on disk. A deletion in a transaction leaves the values in the
// tables until a compaction that may never come. Writes wait for it.
func (db *DB) Drop(prefixes ...[]byte) error {
	db.changing.Lock()
	defer db.changing.Unlock()
	if err := db.failed(); err != nil {
		return err
	}
	if err := db.CheckRoom(0); err != nil {
		return err
	}
	// What is dropped may hold the highest version.
	if err := db.commit(func(*badger.Txn) error { return nil }); err != nil {
		return err
	}
	if err := db.badger.DropPrefix(prefixes...); err != nil {
		return db.fail(fmt.Errorf("dropping the keys that begin with %q: %w", prefixes, err))
	}
	return nil
}

// Size returns the bytes on disk of the tables and of the value log.
func (db *DB) Size() int64 {
	lsm, vlog := db.badger.Size()
	return lsm + vlog
}

func (db *DB) failed() error {
	db.failure.Lock()
	defer db.failure.Unlock()
	if db.failure.err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrFailed, db.failure.err)
}

func (db *DB) fail(err error) error {
	db.failure.Lock()
	defer db.failure.Unlock()
	if db.failure.err == nil {
		db.failure.err = err
	}
	return err
}
