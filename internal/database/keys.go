package database

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"footfall/sketch"
)

// Every key of the database begins with one of these bytes. They are stored;
// never renumber or reuse one.
//
//	'a' project number, 'i', SHA-256 of route, job and idempotency key -> KindJobReceipt
//	'a' project number, 'j', job ID                                  -> KindJob
//	'a' project number, 'l', job ID, number of the first line        -> KindJobLog
//	'a' project number, 'm', job ID, number of the message           -> KindJobMessage
//	'a' project number, 's'                                          -> KindJobSettings
//	'k' SHA-256 of an API key                                        -> KindKey
//	'n' name of a counter                                            -> KindCounter
//	'p' project ID, 0                                                -> KindProject
//	'v' project number, 'c', level, run, group, generation, ordinal  -> KindTable, KindSets
//	'v' project number, 'd'                                          -> KindDirectory
//	'v' project number, 'i', SHA-256 of an idempotency key           -> KindReceipt
//	'v' project number, 'm', length and SHA-256 of a source          -> KindSource
//	'v' project number, 'p', path                                    -> KindPath
//	'v' project number, 'q', path number                             -> KindPathName
//	'v' project number, 'r', level, run                              -> KindRoot
//
// Numbers are big endian, so keys sort as numbers do: project numbers and
// generations take 8 bytes, runs, groups, path numbers, and those of lines and
// messages 4, ordinals and lengths 2, levels 1. A job ID takes 16. What page views
// made of a project stands under one prefix, and its agent jobs under another, so
// that one drop removes them.
const (
	prefixJobs    = 'a'
	prefixKey     = 'k'
	prefixCounter = 'n'
	prefixProject = 'p'
	prefixVisits  = 'v'

	jobReceipt  = 'i'
	jobRecord   = 'j'
	jobLog      = 'l'
	jobMessage  = 'm'
	jobSettings = 's'

	visitsCells     = 'c'
	visitsDirectory = 'd'
	visitsReceipt   = 'i'
	visitsSource    = 'm'
	visitsPath      = 'p'
	visitsPathName  = 'q'
	visitsRoot      = 'r'
)

// The kinds of values, see sketch.Kind. 1 was the cells of format 2.
const (
	KindSource    sketch.Kind = 2
	KindProject   sketch.Kind = 3
	KindKey       sketch.Kind = 4
	KindCounter   sketch.Kind = 5
	KindPath      sketch.Kind = 6 // its payload is the path's number
	KindReceipt   sketch.Kind = 7
	KindDirectory sketch.Kind = 8
	KindRoot      sketch.Kind = 9
	KindTable     sketch.Kind = 10
	KindSets      sketch.Kind = 11
	KindPathName  sketch.Kind = 12 // its payload is the path

	// The payloads of these are JSON, of KindJobLog JSON lines.
	KindJob         sketch.Kind = 13
	KindJobMessage  sketch.Kind = 14
	KindJobLog      sketch.Kind = 15
	KindJobReceipt  sketch.Kind = 16
	KindJobSettings sketch.Kind = 17
)

// APIKeyPrefix begins the keys of all API keys.
func APIKeyPrefix() []byte { return []byte{prefixKey} }

// APIKeyKey is the key of the API key with this SHA-256.
func APIKeyKey(sum [32]byte) []byte { return append([]byte{prefixKey}, sum[:]...) }

// CounterKey is the key of a named number.
func CounterKey(name string) []byte { return append([]byte{prefixCounter}, name...) }

// ProjectPrefix begins the keys of all projects.
func ProjectPrefix() []byte { return []byte{prefixProject} }

// ProjectKey is the key of a project. It ends the ID, so that dropping one project
// by its key drops no other whose ID is longer.
func ProjectKey(id string) []byte { return append(append([]byte{prefixProject}, id...), 0) }

// ProjectID returns the ID in a project's key.
func ProjectID(key []byte) string { return string(bytes.Trim(key[1:], "\x00")) }

// AllVisitsPrefix begins the keys of what page views made of any project.
func AllVisitsPrefix() []byte { return []byte{prefixVisits} }

// VisitsPrefix begins the keys of what page views made of one project.
func VisitsPrefix(project sketch.ProjectNumber) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixVisits}, uint64(project))
}

// VisitsProject returns the project whose page views a key belongs to.
func VisitsProject(key []byte) (sketch.ProjectNumber, error) {
	if len(key) < 9 || key[0] != prefixVisits {
		return 0, fmt.Errorf("key %q names no project", key)
	}
	return sketch.ProjectNumber(binary.BigEndian.Uint64(key[1:])), nil
}

// DirectoryKey is the key of which days and blocks a project has.
func DirectoryKey(project sketch.ProjectNumber) []byte {
	return append(VisitsPrefix(project), visitsDirectory)
}

// RootPrefix begins the keys of the roots of a project's parts.
func RootPrefix(project sketch.ProjectNumber) []byte {
	return append(VisitsPrefix(project), visitsRoot)
}

// SplitRootKey returns the part in the key of a root.
func SplitRootKey(key []byte) (level uint8, run uint32, err error) {
	const header = 1 + 8 + 1
	if len(key) != header+1+4 {
		return 0, 0, fmt.Errorf("key %q names no root", key)
	}
	return key[header], binary.BigEndian.Uint32(key[header+1:]), nil
}

// RootKey is the key of the root of a part.
func RootKey(project sketch.ProjectNumber, level uint8, run uint32) []byte {
	return binary.BigEndian.AppendUint32(append(RootPrefix(project), level), run)
}

// CellsPrefix begins the keys of all tables and sets of a part.
func CellsPrefix(project sketch.ProjectNumber, level uint8, run uint32) []byte {
	return binary.BigEndian.AppendUint32(append(VisitsPrefix(project), visitsCells, level), run)
}

// CellsGroup returns the group and the generation in the key of a table or of sets.
func CellsGroup(key []byte) (group uint32, generation sketch.Position) {
	const header = 1 + 8 + 1 + 1 + 4
	return binary.BigEndian.Uint32(key[header:]), sketch.Position(binary.BigEndian.Uint64(key[header+4:]))
}

func splitCellsKey(key []byte) (level uint8, run uint32, err error) {
	const header = 1 + 8 + 1
	if len(key) < header+1+4 {
		return 0, 0, fmt.Errorf("key %q names no cells", key)
	}
	return key[header], binary.BigEndian.Uint32(key[header+1:]), nil
}

// CellsKey is the key of a table, whose ordinal is 0, or of the sets behind it.
func CellsKey(project sketch.ProjectNumber, level uint8, run, group uint32, generation sketch.Position, ordinal uint16) []byte {
	key := make([]byte, 0, 1+8+1+1+4+4+8+2)
	key = append(key, prefixVisits)
	key = binary.BigEndian.AppendUint64(key, uint64(project))
	key = append(key, visitsCells, level)
	key = binary.BigEndian.AppendUint32(key, run)
	key = binary.BigEndian.AppendUint32(key, group)
	key = binary.BigEndian.AppendUint64(key, uint64(generation))
	return binary.BigEndian.AppendUint16(key, ordinal)
}

// SourcePrefix begins the keys of a project's sources.
func SourcePrefix(project sketch.ProjectNumber) []byte {
	return append(VisitsPrefix(project), visitsSource)
}

// SourcesOfLength is where a project's sources of at least this length begin.
func SourcesOfLength(project sketch.ProjectNumber, length uint16) []byte {
	return binary.BigEndian.AppendUint16(SourcePrefix(project), length)
}

// SourceKey is the key of a source's last mark.
func SourceKey(project sketch.ProjectNumber, source sketch.Source) []byte {
	return append(SourcesOfLength(project, source.Length), source.Sum[:]...)
}

// SourceLength returns the length in a source's key.
func SourceLength(key []byte) (uint16, error) {
	const header = 1 + 8 + 1
	if len(key) != header+2+32 {
		return 0, fmt.Errorf("key %q names no source", key)
	}
	return binary.BigEndian.Uint16(key[header:]), nil
}

// PathPrefix begins the keys of the paths that have a row of their own on any day
// of a project.
func PathPrefix(project sketch.ProjectNumber) []byte {
	return append(VisitsPrefix(project), visitsPath)
}

// PathKey is the key of a path that has a row of its own.
func PathKey(project sketch.ProjectNumber, path string) []byte {
	return append(PathPrefix(project), path...)
}

// SplitPathKey returns the path in its key, and points into it.
func SplitPathKey(key []byte) []byte {
	const header = 1 + 8 + 1
	return key[header:]
}

// PathNameKey is the key of the path that has a number.
func PathNameKey(project sketch.ProjectNumber, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(VisitsPrefix(project), visitsPathName), number)
}

// ReceiptPrefix begins the keys of a project's receipts.
func ReceiptPrefix(project sketch.ProjectNumber) []byte {
	return append(VisitsPrefix(project), visitsReceipt)
}

// ReceiptKey is the key of the receipt under the SHA-256 of an idempotency key.
func ReceiptKey(project sketch.ProjectNumber, key [32]byte) []byte {
	return append(ReceiptPrefix(project), key[:]...)
}
