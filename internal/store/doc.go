// Package store keeps page views: it makes batches durable, folds them into
// cells and ranks the visitors of a range.
//
// A batch's way, and the files in its order:
//
//   - commit.go: a batch waits in a bounded queue; the writer takes all that wait
//     and appends them to the log with one sync, then acknowledges them.
//   - record.go: a batch as the log stores it.
//   - fold.go: acknowledged batches are folded, in the order of their positions,
//     into the overlay (overlay.go): what came since the last checkpoint.
//   - checkpoint.go: the overlay is written into the cells in Badger, then the
//     position up to which that was done, then the log is cut there.
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
