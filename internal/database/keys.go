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
//	'k' SHA-256 of an API key                                -> KindKey
//	'n' name of a counter                                    -> KindCounter
//	'p' project ID, 0                                        -> KindProject
//	'v' project number, 'c', day, path                       -> sketch.KindCell
//	'v' project number, 's', day                             -> sketch.KindCell (site)
//	'v' project number, 'i', SHA-256 of an idempotency key   -> KindReceipt
//	'v' project number, 'm', length and SHA-256 of a source  -> KindSource
//	'v' project number, 'p', path                            -> KindPath
//
// Numbers are big endian, so keys sort as numbers do: project numbers take 8
// bytes, days 4, lengths 2. What page views made of a project stands under one
// prefix, so that one drop removes it. Cells are ordered by day before path: any
// range of days is one run of keys.
const (
	prefixKey     = 'k'
	prefixCounter = 'n'
	prefixProject = 'p'
	prefixVisits  = 'v'

	visitsCell    = 'c'
	visitsReceipt = 'i'
	visitsSource  = 'm'
	visitsPath    = 'p'
	visitsSite    = 's'
)

// The kinds of the values that are not cells, see sketch.Kind.
const (
	KindSource  sketch.Kind = 2
	KindProject sketch.Kind = 3
	KindKey     sketch.Kind = 4
	KindCounter sketch.Kind = 5
	KindPath    sketch.Kind = 6 // its payload is empty
	KindReceipt sketch.Kind = 7
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

// CellPrefix begins the keys of a project's path cells.
func CellPrefix(project sketch.ProjectNumber) []byte {
	return append(VisitsPrefix(project), visitsCell)
}

// CellDay is where a project's path cells of a day begin.
func CellDay(project sketch.ProjectNumber, day sketch.Day) []byte {
	return binary.BigEndian.AppendUint32(CellPrefix(project), uint32(day))
}

// CellKey is the key of a path cell.
func CellKey(project sketch.ProjectNumber, day sketch.Day, path string) []byte {
	return append(CellDay(project, day), path...)
}

// SplitCellKey returns the day and path of a path cell's key. The path points
// into key.
func SplitCellKey(key []byte) (sketch.Day, []byte, error) {
	const header = 1 + 8 + 1
	if len(key) <= header+4 {
		return 0, nil, fmt.Errorf("key %q names no path cell", key)
	}
	return sketch.Day(binary.BigEndian.Uint32(key[header:])), key[header+4:], nil
}

// SitePrefix begins the keys of a project's site cells.
func SitePrefix(project sketch.ProjectNumber) []byte {
	return append(VisitsPrefix(project), visitsSite)
}

// SiteKey is the key of a site cell.
func SiteKey(project sketch.ProjectNumber, day sketch.Day) []byte {
	return binary.BigEndian.AppendUint32(SitePrefix(project), uint32(day))
}

// SplitSiteKey returns the day of a site cell's key.
func SplitSiteKey(key []byte) (sketch.Day, error) {
	const header = 1 + 8 + 1
	if len(key) != header+4 {
		return 0, fmt.Errorf("key %q names no site cell", key)
	}
	return sketch.Day(binary.BigEndian.Uint32(key[header:])), nil
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

// ReceiptPrefix begins the keys of a project's receipts.
func ReceiptPrefix(project sketch.ProjectNumber) []byte {
	return append(VisitsPrefix(project), visitsReceipt)
}

// ReceiptKey is the key of the receipt under the SHA-256 of an idempotency key.
func ReceiptKey(project sketch.ProjectNumber, key [32]byte) []byte {
	return append(ReceiptPrefix(project), key[:]...)
}
