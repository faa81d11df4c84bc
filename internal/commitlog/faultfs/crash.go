package faultfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Crash returns the file system that a power cut at this moment leaves; f itself
// stays as it is. With a nil random, nothing remains that was not synced.
// Otherwise each directory entry and each sector that was not synced remains by
// the toss of a coin; for each file the disk's sector is 512 or 4,096 bytes.
func (f *FS) Crash(random *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &FS{root: f.root.crash(random)}
}

func (n *node) crash(random *rand.Rand) *node {
	if n.children == nil {
		left := newFile()
		left.durable = n.crashContent(random)
		left.content = left.durable.clone()
		return left
	}
	left := newDir()
	entries := maps.Clone(n.durableChildren)
	if random != nil {
		names := maps.Clone(n.children)
		maps.Copy(names, n.durableChildren)
		for _, name := range slices.Sorted(maps.Keys(names)) { // sorted: the same seed, the same crash
			if random.IntN(2) == 0 {
				continue
			}
			if child := n.children[name]; child != nil {
				entries[name] = child
			} else {
				delete(entries, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		left.children[name] = entries[name].crash(random)
	}
	left.durableChildren = maps.Clone(left.children)
	return left
}

func (n *node) crashContent(random *rand.Rand) content {
	left := n.durable.clone()
	if random == nil {
		return left
	}
	unit := int64(1)
	if random.IntN(2) == 0 {
		unit = 4096 / sectorSize
	}
	kept := map[int64]bool{}
	for _, i := range slices.Sorted(maps.Keys(n.dirty)) {
		keep, tossed := kept[i/unit]
		if !tossed {
			keep = random.IntN(2) == 0
			kept[i/unit] = keep
		}
		if keep {
			left.copySector(i, n.content)
		}
	}
	if random.IntN(2) == 0 {
		left.size = n.content.size
	}
	// What lies beyond the size is not there, also once the file grows again.
	for i, s := range left.sectors {
		if beyond := left.size - i*sectorSize; beyond <= 0 {
			delete(left.sectors, i)
		} else if beyond < sectorSize {
			cut := *s
			clear(cut[beyond:])
			left.sectors[i] = &cut
		}
	}
	return left
}
