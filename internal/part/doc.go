// Package part stores the cells of a project: how a part is laid out in the
// database, written and read.
//
// A part holds the cells of all paths over one run of days. A run is a single day,
// or 8, 64 or 512 days that begin at a multiple of their length: a block, in which
// the cells of its days were merged ahead of time. The file id.go says which runs
// there are.
//
// A part is three kinds of values, each referring to the next:
//
//   - The root (root.go) says up to which log position the part holds what came,
//     has the numbers of the site, and names the tables. It is the only one that is
//     ever replaced, so replacing it is what changes a part, all at once.
//   - A table (table.go) has the counts and views of up to 256 paths, and where
//     their sets are. From tables alone it follows how many visitors a path can
//     have at most, which is all that a ranking needs to know of most paths.
//   - Sets (writer.go) are the visitors themselves, of some paths in a row.
//
// Tables and sets have the generation under which they were written in their keys
// and never change. Who holds a root can read all of it for as long as its
// transaction lives, and what was read once can be kept in memory (reader.go)
// without ever asking whether it still holds.
//
// The obvious alternative, a value for each day and path, was measured: reading
// 180,000 of them takes 90 ms, most of it not for their bytes.
package part
