package faultfs

import "maps"

// sectorSize is the unit in which a disk writes: a sector is there or it is not.
const sectorSize = 512

type sector [sectorSize]byte

// content is a file's size and bytes. A sector that is missing is zeros. Sectors
// are never changed in place, so that clones can share them.
type content struct {
	size    int64
	sectors map[int64]*sector
}

func newContent() content { return content{sectors: map[int64]*sector{}} }

func (c content) clone() content { return content{size: c.size, sectors: maps.Clone(c.sectors)} }

// read fills p from offset on, and returns how many bytes of it the file has.
func (c content) read(p []byte, offset int64) int {
	n := int(max(0, min(int64(len(p)), c.size-offset)))
	for done := 0; done < n; {
		at := offset + int64(done)
		within := int(at % sectorSize)
		length := min(sectorSize-within, n-done)
		if s := c.sectors[at/sectorSize]; s != nil {
			copy(p[done:done+length], s[within:])
		} else {
			clear(p[done : done+length])
		}
		done += length
	}
	return n
}

// write returns the sectors that it wrote.
func (c *content) write(p []byte, offset int64) []int64 {
	var written []int64
	for done := 0; done < len(p); {
		at := offset + int64(done)
		within := int(at % sectorSize)
		s := new(sector)
		if old := c.sectors[at/sectorSize]; old != nil {
			*s = *old
		}
		done += copy(s[within:], p[done:])
		c.sectors[at/sectorSize] = s
		written = append(written, at/sectorSize)
	}
	c.size = max(c.size, offset+int64(len(p)))
	return written
}

// copySector makes sector i that of from.
func (c *content) copySector(i int64, from content) {
	if s := from.sectors[i]; s != nil {
		c.sectors[i] = s
	}
}
