// Package commitlog is the log that makes a commit durable: an append-only run
// of records on disk, synced before Append returns. It stores opaque payloads
// and knows nothing of what they mean.
//
// The nouns:
//
//   - A record is a payload with its position. Positions count from 1 without
//     gaps; 0 stands before every record.
//   - A write is what one Append makes durable: one or more records and one sync.
//     Each record carries the position up to which the log was synced when the
//     record was written.
//   - A segment is a file of consecutive records, named by the first of them. The
//     last segment is active, the others are sealed. Space is preallocated, and
//     what is not written yet reads as zeros. A file has its whole size, and a
//     header that says so, on disk before it has its name, and records do not
//     extend it. A log without records has a segment without room for any: the
//     first record replaces it.
//   - The tail is what follows the last record that checks in the active segment.
//
// # What a start makes of a tail
//
// Open reads every record after Options.After before it hands out the first. It
// has to tell two things apart where a record does not check: a write that a
// crash cut short, which nobody was told of and which is left out with a warning,
// and damage to a record that was acknowledged, which must stop the start. It is
// damage (ErrDamaged, with the place) when one of these holds:
//
//  1. A later segment exists: it is created only after the one before is synced.
//  2. Its position is not after Options.After: it had been synced, and applied.
//  3. The file is shorter than its header says: it was cut. Nothing else shortens
//     a file that has its name.
//  4. A record header that checks follows, and says that the log had been synced
//     up to the bad record or further. A valid record that follows is no proof by
//     itself: the sectors of one write reach the disk in any order.
//  5. Every sector of the bad record was written. Disks write whole sectors of
//     512 bytes or a multiple, and the kernel copies whole pages into its cache,
//     also where a process is killed in between. A segment is never written over,
//     so a sector that did not arrive reads as zeros. The header has a checksum
//     of its own and says how many sectors of the payload are zeros by their own
//     right: with no more zero sectors than that, nothing is missing, and a byte
//     changed later.
//
// Otherwise the tail is torn. It is not touched: the log goes on in a new
// segment, and a sealed segment is read only as far as the next one begins, so
// stale bytes can not come back. Cutting or zeroing the tail in place would
// depend on one more sync to succeed.
//
// # What can not be told apart
//
//   - A disk that turns sectors of the very last write into zeros after it was
//     acknowledged looks like a torn write. The records are left out with a
//     warning.
//   - The last records of the active segment turned into zeros, with no byte left
//     of them, look like a log that ended earlier, unless Options.After is beyond.
//     The loss of the whole last segment file is the same, and so is a cut on an
//     FS whose Preallocate does not extend files; that of the operating system
//     does.
//   - A payload that itself holds a record of this format can pass for the header
//     of rule 4 where a crash tore its own. The start stops, and nothing is lost.
//   - A disk that tears inside a sector, or leaves garbage where a write was cut
//     short, looks like damage: the start stops though nothing acknowledged is
//     lost.
//
// # Failures
//
// After a failed write or sync the log is latched: every later change is refused
// with ErrFailed until the log is opened again. Repeating the sync would be
// wrong: Linux reports a failed write-back once, drops the pages' dirty marks,
// and lets the next sync succeed with nothing written (PostgreSQL's "fsync
// surprise" of 2018, https://lwn.net/Articles/752063/). For the same reason Open
// writes the records of the last write once more before it syncs: what it reads
// back may be in memory only.
package commitlog
