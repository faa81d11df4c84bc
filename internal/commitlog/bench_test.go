package commitlog_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"footfall/internal/commitlog"
)

// BenchmarkAppend appends one record with its sync to the disk under the
// temporary directory; segments are dropped as they fill.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 20_000, 200_000} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			l, err := commitlog.Open(commitlog.Options{Dir: filepath.Join(b.TempDir(), "log")}, nil)
			if err != nil {
				b.Fatal(err)
			}
			p := payload(1, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := l.Append(p); err != nil {
					b.Fatal(err)
				}
				if l.Size() > 2*commitlog.DefaultSegmentBytes {
					if err := l.DropThrough(l.Last() - 1); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkOpen checks a log of 60 MB in one segment.
func BenchmarkOpen(b *testing.B) {
	opts := commitlog.Options{Dir: filepath.Join(b.TempDir(), "log")}
	l, err := commitlog.Open(opts, nil)
	if err != nil {
		b.Fatal(err)
	}
	p := payload(1, 200_000)
	for range 300 {
		if _, err := l.Append(p); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(l.Size())
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l, err := commitlog.Open(opts, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
