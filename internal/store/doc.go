// Package store keeps page views: it makes batches durable, folds them into
// cells and ranks the visitors of a range.
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
//   - checkpoint.go: the overlay is written into the cells in Badger (entries.go),
//     then the position up to which that was done, then the log is cut there.
//   - rank.go: a query takes the overlay and a snapshot of Badger at one instant
//     and unites both.
//   - source.go: how far each access log was imported.
//   - recover.go: the log behind the checkpoint is folded again at the start.
//   - purge.go: a project is removed, with what the log still holds of it.
//
// The overlay holds differences, not whole cells: folding then never reads from
// disk, and a checkpoint reads the cells in the order of their keys. Whole cells
// would cost a random read for each cell a batch touches.
//
// Memory is the same store without a disk, made the plain way: it keeps every
// visit and builds each set anew for each answer. One conformance suite, in
// storetest, holds both to the same answers.
package store
