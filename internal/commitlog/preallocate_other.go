//go:build !linux

package commitlog

import "os"

// preallocate does nothing: files grow by each write.
func preallocate(*os.File, int64) error { return nil }
