// Package faultfs is a file system in memory for tests of what must survive a
// crash. It keeps apart what a process sees and what a power cut leaves:
//
//   - A file's content is what was written; its durable content is that of the
//     last Sync. A directory's entries are durable since the last SyncDir.
//   - Crash returns the file system that a power cut leaves: what is durable, and
//     at will a random part of the rest, torn at sectors.
//   - A process that is killed loses nothing that it wrote: go on with the same FS.
//   - A Hook makes operations fail. A Sync that fails leaves what was written
//     readable but marks it as clean, as Linux does: the next Sync succeeds
//     without it. A write that fails has written its first half, to the end of
//     a sector: the kernel copies page by page.
//
// Space is kept by sectors that were written, so preallocated files cost nothing.
package faultfs
