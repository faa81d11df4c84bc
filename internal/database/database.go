package database

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"footfall/sketch"
)

// ErrFailed is matched by every write after one that failed. It lasts until the
// data directory is opened again.
var ErrFailed = errors.New("an earlier write to the database failed; restart to go on")

// The memory that Badger may take: two memtables, the block cache and the index
// cache. Values stay below the threshold, so that its value log is never used
// and never collected: the largest is a site cell of two times 64 KiB.
const (
	memTableBytes   = 16 << 20
	memTables       = 2
	blockCacheBytes = 32 << 20
	indexCacheBytes = 16 << 20
	valueThreshold  = 1 << 20
)

// DB is the open database. It is safe for concurrent use.
type DB struct {
	badger *badger.DB

	// changing is held shared by every write and exclusively by Drop: Badger
	// refuses writes while it drops a prefix.
	changing sync.RWMutex
	// updating makes Update's read, decide and write one step.
	updating sync.Mutex

	failure struct {
		sync.Mutex
		err error
	}
}

// Open opens the database in dir and creates it where it is missing. The caller
// holds the data directory's lock. The logger may be nil.
func Open(dir string, logger *slog.Logger) (*DB, error) {
	opts := badger.DefaultOptions(dir).
		WithSyncWrites(true).
		WithDetectConflicts(false). // Updates take turns; nothing else reads what it writes.
		WithNumVersionsToKeep(1).
		WithCompression(options.ZSTD).
		WithZSTDCompressionLevel(1).
		WithChecksumVerificationMode(options.OnBlockRead). // And see verify.
		WithMemTableSize(memTableBytes).
		WithNumMemtables(memTables).
		WithBlockCacheSize(blockCacheBytes).
		WithIndexCacheSize(indexCacheBytes).
		WithValueThreshold(valueThreshold).
		WithValueLogFileSize(64 << 20).
		WithMetricsEnabled(true).
		WithLogger(newLogger(logger))
	handle, err := badger.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("opening the database in %s: %w", dir, err)
	}
	if err := verify(handle); err != nil {
		return nil, errors.Join(fmt.Errorf("checking the database in %s: %w", dir, err), handle.Close())
	}
	return &DB{badger: handle}, nil
}

// verify reads every block of every table. Badger would do so while it opens
// them (OnTableAndBlockRead), but at a damaged block its version 4.9.6 follows a
// nil pointer (table.VerifyChecksum reads the offset of the block that it did not
// get): there in a goroutine of its own, which ends the process, and here in ours.
func verify(handle *badger.DB) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a block of a table is damaged")
		}
	}()
	return handle.VerifyChecksum()
}

// Close waits for running writes and closes the database.
func (db *DB) Close() error {
	db.changing.Lock()
	defer db.changing.Unlock()
	if err := db.badger.Close(); err != nil {
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
// it is, and nothing is written.
func (db *DB) Update(fn func(*badger.Txn) error) error {
	db.updating.Lock()
	defer db.updating.Unlock()
	db.changing.RLock()
	defer db.changing.RUnlock()
	if err := db.failed(); err != nil {
		return err
	}
	txn := db.badger.NewTransaction(true)
	defer txn.Discard()
	if err := fn(txn); err != nil {
		return err
	}
	if err := txn.Commit(); err != nil {
		return db.fail(fmt.Errorf("committing to the database: %w", err))
	}
	return nil
}

// Entry is a key and the value to put under it.
type Entry struct {
	Key   []byte
	Value []byte
}

// Write puts many entries, synced when Write returns. It is not atomic: after a
// crash or an error any part of them may be there. An error among the entries
// ends it. Keys and values must not be changed until Write has returned.
func (db *DB) Write(entries iter.Seq2[Entry, error]) error {
	db.changing.RLock()
	defer db.changing.RUnlock()
	if err := db.failed(); err != nil {
		return err
	}
	batch := db.badger.NewWriteBatch()
	defer batch.Cancel()
	for entry, err := range entries {
		if err != nil {
			return err
		}
		if err := batch.Set(entry.Key, entry.Value); err != nil {
			return db.fail(fmt.Errorf("writing key %q: %w", entry.Key, err))
		}
	}
	if err := batch.Flush(); err != nil {
		return db.fail(fmt.Errorf("writing to the database: %w", err))
	}
	return nil
}

// Drop removes every key that begins with one of the prefixes, from memory and
// from the tables on disk. A deletion in a transaction leaves the values in the
// tables until a compaction that may never come. Writes wait for it.
func (db *DB) Drop(prefixes ...[]byte) error {
	db.changing.Lock()
	defer db.changing.Unlock()
	if err := db.failed(); err != nil {
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

// Get returns a copy of the payload under key, checked. found is false where
// there is none; a value that does not check is a sketch.ErrCorrupted.
func Get(txn *badger.Txn, key []byte, kind sketch.Kind) (payload []byte, found bool, err error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading key %q: %w", key, err)
	}
	value, err := item.ValueCopy(nil)
	if err != nil {
		return nil, false, fmt.Errorf("reading the value of key %q: %w", key, err)
	}
	_, payload, err = sketch.OpenFrame(key, kind, value)
	if err != nil {
		return nil, false, err
	}
	return payload, true, nil
}

// Set puts a framed payload under key.
func Set(txn *badger.Txn, key []byte, kind sketch.Kind, payload []byte) error {
	if err := txn.Set(key, sketch.AppendFrame(nil, key, kind, 0, payload)); err != nil {
		return fmt.Errorf("writing key %q: %w", key, err)
	}
	return nil
}

// GetCounter returns the number under a counter's name, 0 where there is none.
func GetCounter(txn *badger.Txn, name string) (uint64, error) {
	key := CounterKey(name)
	payload, found, err := Get(txn, key, KindCounter)
	if err != nil || !found {
		return 0, err
	}
	if len(payload) != 8 {
		return 0, &sketch.CorruptionError{Key: key, Reason: "a counter takes 8 bytes"}
	}
	return binary.LittleEndian.Uint64(payload), nil
}

// SetCounter puts a number under a counter's name.
func SetCounter(txn *badger.Txn, name string, value uint64) error {
	return Set(txn, CounterKey(name), KindCounter, binary.LittleEndian.AppendUint64(nil, value))
}

// Each calls visit with the key and the checked payload of every value whose
// key begins with prefix, in the order of the keys. Both slices die with the
// call.
func Each(txn *badger.Txn, prefix []byte, kind sketch.Kind, visit func(key, payload []byte) error) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = prefix
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	for cursor.Rewind(); cursor.Valid(); cursor.Next() {
		key := cursor.Item().Key()
		err := cursor.Item().Value(func(value []byte) error {
			_, payload, err := sketch.OpenFrame(key, kind, value)
			if err != nil {
				return err
			}
			return visit(key, payload)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
