// Package store keeps page views: it makes batches durable, folds them into the
// cells of their days, merges days into blocks, and ranks the visitors of a range.
// What days and blocks are made of is in internal/part.
//
// A batch's way, and the files in its order:
//
//   - commit.go: every decision about a batch is taken, in turns with the other
//     batches of its project (project.go): whether its source goes on where it ended,
//     whether its idempotency key was used (receipts.go), which paths have a row of
//     their own (paths.go).
//   - record.go: it is encoded as the log stores it.
//   - queue.go: it waits in a bounded queue, of which projects have fair shares; the
//     writer appends what waits to the log with one sync, then acknowledges it.
//   - fold.go: acknowledged batches are folded, in the order of their positions and
//     from their records, into the overlay (overlay.go): what came since the last
//     checkpoint.
//   - checkpoint.go: the overlay is written into the days in Badger (entries.go),
//     once its paths have numbers (numbers.go); then the position up to which that
//     was done, then the log is cut there.
//   - blocks.go: days that are over are merged into blocks, in between checkpoints.
//   - recover.go: the log behind the checkpoint is folded again at the start.
//   - source.go: how far each access log was imported.
//   - purge.go: a project is removed, with what the log still holds of it.
//
// A query's way, which docs/query.md tells step by step:
//
//   - snapshot.go: it takes the overlays and a transaction of Badger at one instant,
//     and the parts that hold its range.
//   - rank.go: it goes through the tables of all parts, counts the paths that can be
//     among the first rows, or all of them, and sorts (places.go).
//   - union.go: the paths of a group are united, from several parts and the overlays.
//     Building a block unites in the same way.
//   - listing.go: a whole ranking is kept in a compact form; numbers.go tells the
//     paths of its rows.
//
// The overlay holds differences, not whole cells: folding then never reads from
// disk, and a checkpoint reads each group of paths that it touches once, in the
// order of the keys. Whole cells would cost a random read for each cell a batch
// touches.
//
// Memory is the same store without a disk, made the plain way: it keeps every
// visit and builds each set anew for each answer. One conformance suite, in
// storetest, holds both to the same answers.
package store
