package store_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// BenchmarkCommit commits batches of 1,000 visits from 8 goroutines, as clients
// would, on the disk that holds the temporary directory. An operation is a batch.
func BenchmarkCommit(b *testing.B) {
	n := open(b)
	const size, committers = 1000, 8
	var batches [64]sketch.Batch
	for i := range batches {
		visits := make([]sketch.PageView, size)
		for j := range visits {
			k := uint64(i*size + j)
			visits[j] = sketch.PageView{
				Path:    fmt.Sprintf("/page/%d", k*k%2000),
				Visitor: storetest.Visitor(k % 20_000),
				Day:     storetest.FirstDay + sketch.Day(i%2),
				Traffic: sketch.Traffic(k % 5 / 4),
			}
		}
		batches[i] = sketch.NewBatch(1, visits...)
	}
	work := make(chan int)
	var running sync.WaitGroup
	for range committers {
		running.Go(func() {
			for i := range work {
				err := n.Commit(b.Context(), batches[i%len(batches)])
				for errors.Is(err, sketch.ErrOverloaded) { // A client comes again.
					runtime.Gosched()
					err = n.Commit(b.Context(), batches[i%len(batches)])
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		work <- i
		i++
	}
	close(work)
	running.Wait()
	b.ReportMetric(float64(size*i)/b.Elapsed().Seconds(), "visits/s")
}

// BenchmarkRank ranks 2,000 pages over 30 days: 60,000 cells, all of them in
// Badger, whose caches are warm.
func BenchmarkRank(b *testing.B) {
	n := open(b)
	const pages, days = 2000, 30
	for day := range sketch.Day(days) {
		var visits []sketch.PageView
		for page := range pages {
			for i := range uint64(2000/(page+1) + 3) { // As readers spread over pages.
				visits = append(visits, sketch.PageView{
					Path:    fmt.Sprintf("/page/%d", page),
					Visitor: storetest.Visitor((uint64(page)*31 + uint64(day)*17 + i*i) % 30_000),
					Day:     storetest.FirstDay + day,
					Traffic: sketch.Traffic(i % 5 / 4),
				})
			}
		}
		n.commit(b, 1, visits...)
	}
	if err := n.Checkpoint(); err != nil {
		b.Fatal(err)
	}
	n.Reopen(b)
	n.rank(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		if rows := len(n.rank(b, 1).Rows); rows != pages {
			b.Fatalf("%d rows", rows)
		}
	}
}

// BenchmarkReplay starts a store on a log of 200 batches of 1,000 visits.
func BenchmarkReplay(b *testing.B) {
	n := open(b, func(opts *store.Options) { opts.OverlayBytes = 1 << 30 })
	for i := range 200 {
		var visits []sketch.PageView
		for j := range 1000 {
			k := uint64(i*1000 + j)
			visits = append(visits, sketch.PageView{
				Path: fmt.Sprintf("/page/%d", k*k%2000), Visitor: storetest.Visitor(k % 20_000), Day: storetest.FirstDay,
			})
		}
		n.commit(b, 1, visits...)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := n.Kill(); err != nil {
			b.Fatal(err)
		}
		n.start(b)
	}
}
