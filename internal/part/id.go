package part

import (
	"fmt"

	"footfall/internal/database"
	"footfall/sketch"
)

// Level says how many days a part has. It is stored; the lengths never change.
type Level uint8

// The levels: a day, and blocks, each of eight parts of the level below.
const (
	Day      Level = 0
	MaxLevel Level = 3
)

// Days is the length of a part in days.
func (l Level) Days() sketch.Day { return 1 << (3 * l) }

// ID names a part.
type ID struct {
	Project sketch.ProjectNumber
	Level   Level
	Run     uint32 // its first day, counted in lengths of the level
}

// At returns the part of a level that holds a day, which is no earlier than
// 1970-01-01.
func At(project sketch.ProjectNumber, level Level, day sketch.Day) ID {
	return ID{Project: project, Level: level, Run: uint32(day / level.Days())}
}

// Range returns the days of the part.
func (id ID) Range() sketch.Range {
	from := sketch.Day(id.Run) * id.Level.Days()
	return sketch.Range{From: from, To: from + id.Level.Days()}
}

func (id ID) String() string {
	if id.Level == Day {
		return fmt.Sprintf("%v of project %d", sketch.Day(id.Run), id.Project)
	}
	return fmt.Sprintf("the block %v of project %d", id.Range(), id.Project)
}

// Keys returns what the keys of all that the part has in the database begin with.
func (id ID) Keys() [][]byte {
	return [][]byte{id.rootKey(), database.CellsPrefix(id.Project, uint8(id.Level), id.Run)}
}

func (id ID) rootKey() []byte { return database.RootKey(id.Project, uint8(id.Level), id.Run) }

func (id ID) cellsKey(g Group, ordinal uint16) []byte {
	return database.CellsKey(id.Project, uint8(id.Level), id.Run, g.Number, g.Generation, ordinal)
}

// GroupPaths is how many paths a group has: those whose numbers differ in the
// lowest byte alone. Larger groups are read faster and rewritten slower: a
// checkpoint rewrites the groups of a day that have new visitors.
const GroupPaths = 256

// GroupOf returns the group of a path's number, and its slot therein.
func GroupOf(number uint32) (group uint32, slot uint8) { return number / GroupPaths, uint8(number) }

// NumberOf returns the number of the path in a slot of a group.
func NumberOf(group uint32, slot uint8) uint32 { return group*GroupPaths + uint32(slot) }

// Site is the number of the group in which the sets of the site stand, which has no
// table. Its generation is in the root.
const Site uint32 = 1<<32 - 1

// PrefixesBefore returns what the keys begin with of all parts, named or not, that
// hold a day before a day: of a level they are the runs below one, which few
// prefixes of their four bytes cover.
func PrefixesBefore(project sketch.ProjectNumber, before sketch.Day) [][]byte {
	var prefixes [][]byte
	for level := Day; level <= MaxLevel; level++ {
		end := uint32(max(0, (before+level.Days()-1)/level.Days()))
		for _, whole := range [][]byte{database.RootKey(project, uint8(level), end), database.CellsPrefix(project, uint8(level), end)} {
			for i := len(whole) - 4; i < len(whole); i++ {
				for b := range whole[i] {
					prefixes = append(prefixes, append(whole[:i:i], b))
				}
			}
		}
	}
	return prefixes
}
