package store_test

import (
	"testing"

	"footfall/internal/store"
	"footfall/internal/store/storetest"
)

func TestStoreConforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject { return open(t) })
}

// With checkpoints all the time, everything that a law looks at lies in Badger,
// or is on its way there.
func TestStoreConformsWhileCheckpointing(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject { return open(t, small) })
}

func TestMemoryConforms(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Subject { return store.NewMemory() })
}
