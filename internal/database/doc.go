// Package database holds the one Badger handle of a data directory and the one
// registry of its key prefixes (keys.go).
//
// Badger keeps what folding made of the log (cells, sources, the checkpoint) and
// what administration made (projects, API keys). Every write is synced before it
// is acknowledged. That costs nothing that matters: page views become durable in
// the log and reach Badger in bulk, a few large transactions a checkpoint. The
// alternative, DB.Sync after unsynced writes, is wrong: it covers the active
// memtable only, not one that was rotated away in between.
//
// After a failed write nothing more is written until the process starts again:
// what a failed write left on disk is not known, so building on it could lose
// what was acknowledged.
package database
