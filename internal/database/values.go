package database

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/dgraph-io/badger/v4"

	"footfall/sketch"
)

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

// GetJSON reads the JSON under key into value. found is false where there is none; a
// value that does not check is a sketch.ErrCorrupted.
func GetJSON(txn *badger.Txn, key []byte, kind sketch.Kind, value any) (found bool, err error) {
	payload, found, err := Get(txn, key, kind)
	if err != nil || !found {
		return false, err
	}
	return true, DecodeJSON(key, payload, value)
}

// DecodeJSON reads the JSON of a payload that stands under key. What is none is a
// sketch.ErrCorrupted.
func DecodeJSON(key, payload []byte, value any) error {
	if err := json.Unmarshal(payload, value); err != nil {
		return &sketch.CorruptionError{Key: bytes.Clone(key), Reason: err.Error()}
	}
	return nil
}

// SetJSON puts a value as JSON under key.
func SetJSON(txn *badger.Txn, key []byte, kind sketch.Kind, value any) error {
	payload, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding the value of key %q: %w", key, err)
	}
	return Set(txn, key, kind, payload)
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
	return EachFrom(txn, prefix, prefix, kind, visit)
}

// EachFrom calls visit like Each, from the first key on that is not before from.
func EachFrom(txn *badger.Txn, prefix, from []byte, kind sketch.Kind, visit func(key, payload []byte) error) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = prefix
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	for cursor.Seek(from); cursor.Valid(); cursor.Next() {
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

// Newest calls visit like Each, in the opposite order of the keys, until visit
// returns false.
func Newest(txn *badger.Txn, prefix []byte, kind sketch.Kind, visit func(key, payload []byte) (bool, error)) error {
	opts := badger.DefaultIteratorOptions
	opts.Reverse = true
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	// In reverse a seek goes to the last key that is not beyond the one it is given.
	last := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 32)...)
	for cursor.Seek(last); cursor.ValidForPrefix(prefix); cursor.Next() {
		more := false
		key := cursor.Item().Key()
		err := cursor.Item().Value(func(value []byte) error {
			_, payload, err := sketch.OpenFrame(key, kind, value)
			if err != nil {
				return err
			}
			more, err = visit(key, payload)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// EachKey calls visit with every key that begins with prefix, in their order. The
// slice dies with the call.
func EachKey(txn *badger.Txn, prefix []byte, visit func(key []byte) error) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = prefix
	opts.PrefetchValues = false
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	for cursor.Rewind(); cursor.Valid(); cursor.Next() {
		if err := visit(cursor.Item().Key()); err != nil {
			return err
		}
	}
	return nil
}

// EachCells calls visit with the parts of a project that have tables or sets. Each
// costs one seek.
func EachCells(txn *badger.Txn, project sketch.ProjectNumber, visit func(level uint8, run uint32)) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = append(VisitsPrefix(project), visitsCells)
	opts.PrefetchValues = false
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	for cursor.Rewind(); cursor.Valid(); {
		level, run, err := splitCellsKey(cursor.Item().Key())
		if err != nil {
			return err
		}
		visit(level, run)
		if run == math.MaxUint32 {
			level++
		}
		cursor.Seek(CellsPrefix(project, level, run+1))
	}
	return nil
}
