package store_test

import (
	"testing"

	"footfall/internal/store"
	"footfall/internal/store/storetest"
)

// with returns the options of settings.
func with(s storetest.Settings) func(*store.Options) {
	return func(opts *store.Options) {
		opts.Now = s.Now
		opts.Limits = limits(s)
		opts.KnownPaths = 10 // So few that they are forgotten and read again.
	}
}

func limits(s storetest.Settings) store.Limits {
	return store.Limits{PathsPerDay: s.PathsPerDay, PathsPerProject: s.Paths, Receipts: s.Receipts}
}

func TestStoreConforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T, s storetest.Settings) storetest.Subject { return open(t, with(s)) })
}

// With checkpoints all the time, everything that a law looks at lies in Badger,
// or is on its way there.
func TestStoreConformsWhileCheckpointing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, s storetest.Settings) storetest.Subject { return open(t, small, with(s)) })
}

func TestMemoryConforms(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, s storetest.Settings) storetest.Subject { return store.NewMemory(s.Now, limits(s)) })
}
