package part

import (
	"encoding/binary"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// Directory says which parts a project has. A part that it does not name does not
// count, whatever stands in the database. Its payload is, level by level from the
// days on, the number of runs and then each run less the one before, as uvarints.
type Directory struct {
	project sketch.ProjectNumber
	runs    [MaxLevel + 1][]uint32 // by level, ascending
}

// ReadDirectory returns the directory of a project, which is empty where there is
// none. One that is damaged is a sketch.ErrCorrupted that names its key.
func ReadDirectory(txn *badger.Txn, project sketch.ProjectNumber) (*Directory, error) {
	d := &Directory{project: project}
	key := database.DirectoryKey(project)
	payload, found, err := database.Get(txn, key, database.KindDirectory)
	if err != nil {
		return nil, err
	}
	if !found {
		return d, nil
	}
	n := numbers{b: payload}
	for level := range d.runs {
		run := uint64(0)
		for i := range n.nextUpTo(uint64(len(n.b))) { // A run takes a byte at least.
			step := n.nextUpTo(uint64(sketch.LastDay/Level(level).Days()) - run)
			if i > 0 && step == 0 {
				n.broken = true
			}
			run += step
			d.runs[level] = append(d.runs[level], uint32(run))
		}
	}
	if !n.ended() {
		return nil, sketch.Corrupted(key, "it is not a directory of parts")
	}
	return d, nil
}

// Entry returns the key and the value of the directory.
func (d *Directory) Entry() database.Entry {
	var b []byte
	for _, runs := range d.runs {
		b = binary.AppendUvarint(b, uint64(len(runs)))
		before := uint32(0)
		for _, run := range runs {
			b = binary.AppendUvarint(b, uint64(run-before))
			before = run
		}
	}
	key := database.DirectoryKey(d.project)
	return database.Entry{Key: key, Value: sketch.AppendFrame(nil, key, database.KindDirectory, 0, b)}
}

// Has reports whether the directory names a part.
func (d *Directory) Has(id ID) bool {
	_, found := slices.BinarySearch(d.runs[id.Level], id.Run)
	return found
}

// Add names a part, and reports whether it was not named before.
func (d *Directory) Add(id ID) bool {
	i, found := slices.BinarySearch(d.runs[id.Level], id.Run)
	if !found {
		d.runs[id.Level] = slices.Insert(d.runs[id.Level], i, id.Run)
	}
	return !found
}

// AddDay names the part of a day, and reports whether it was not named before.
func (d *Directory) AddDay(day sketch.Day) bool { return d.Add(At(d.project, Day, day)) }

// Remove no longer names a part, and reports whether it was named.
func (d *Directory) Remove(id ID) bool {
	i, found := slices.BinarySearch(d.runs[id.Level], id.Run)
	if found {
		d.runs[id.Level] = slices.Delete(d.runs[id.Level], i, i+1)
	}
	return found
}

// RemoveBlocks no longer names the blocks that hold a day, and reports whether
// there were any.
func (d *Directory) RemoveBlocks(day sketch.Day) bool {
	removed := false
	for level := Day + 1; level <= MaxLevel; level++ {
		removed = d.Remove(At(d.project, level, day)) || removed
	}
	return removed
}

// RemoveBefore no longer names the days before a day, and the blocks that hold one of
// them, and returns them.
func (d *Directory) RemoveBefore(before sketch.Day) []ID {
	var removed []ID
	for level := range d.runs {
		end := 0
		for _, run := range d.runs[level] {
			id := ID{Project: d.project, Level: Level(level), Run: run}
			if id.Range().From >= before {
				break
			}
			removed = append(removed, id)
			end++
		}
		d.runs[level] = d.runs[level][end:]
	}
	return removed
}

// Blocks returns how many blocks the project has.
func (d *Directory) Blocks() int {
	blocks := 0
	for _, runs := range d.runs[Day+1:] {
		blocks += len(runs)
	}
	return blocks
}

// Cover returns the parts that together hold the cells of a range, each day once:
// the largest blocks that fit, in the order of their days.
func (d *Directory) Cover(within sketch.Range) []ID {
	return d.cover(nil, MaxLevel, within.Intersect(sketch.AllDays()))
}

// CoverBlock returns the parts of which a block is made: the largest ones below
// its level.
func (d *Directory) CoverBlock(id ID) []ID {
	return d.cover(nil, id.Level-1, id.Range())
}

func (d *Directory) cover(parts []ID, level Level, within sketch.Range) []ID {
	if within.Empty() {
		return parts
	}
	days := level.Days()
	// The runs that lie within the range.
	first := uint32((within.From + days - 1) / days)
	end := uint32(within.To / days)
	from, _ := slices.BinarySearch(d.runs[level], first)
	gap := within.From
	for _, run := range d.runs[level][from:] {
		if run >= end {
			break
		}
		id := ID{Project: d.project, Level: level, Run: run}
		if level > Day {
			parts = d.cover(parts, level-1, sketch.Range{From: gap, To: id.Range().From})
		}
		parts = append(parts, id)
		gap = id.Range().To
	}
	if level > Day {
		parts = d.cover(parts, level-1, sketch.Range{From: gap, To: within.To})
	}
	return parts
}

// Due returns the blocks that are worth building now, those of lower levels first:
// they have several parts, and closed reports all of their days, given as a range,
// to be over.
func (d *Directory) Due(closed func(sketch.Range) bool) []ID {
	var due []ID
	for level := Day + 1; level <= MaxLevel; level++ {
		last := ID{}
		for _, day := range d.runs[Day] {
			id := At(d.project, level, sketch.Day(day))
			if id == last {
				continue
			}
			last = id
			if !d.Has(id) && closed(id.Range()) && d.hasSeveral(id) {
				due = append(due, id)
			}
		}
	}
	return due
}

// hasSeveral reports whether days of several parts of the level below are there:
// a block of one would save nothing.
func (d *Directory) hasSeveral(id ID) bool {
	within := id.Range()
	from, _ := slices.BinarySearch(d.runs[Day], uint32(within.From))
	to, _ := slices.BinarySearch(d.runs[Day], uint32(within.To))
	if to-from < 2 {
		return false
	}
	below := (id.Level - 1).Days()
	return sketch.Day(d.runs[Day][from])/below != sketch.Day(d.runs[Day][to-1])/below
}
