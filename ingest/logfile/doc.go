// Package logfile reads access logs from where they lie: files, plain or gzip,
// and standard input. It hands them out in chunks of whole lines with their
// offsets, knows how a log begins, and finds the place where an earlier import
// ended. It does not look into the lines.
//
//   - reader.go is one log from its beginning or a later place to its end.
//   - follow.go goes on where a log grows, and into the next file where it is
//     rotated.
package logfile
