package store

import (
	"footfall/sketch"
)

// overlay is what was folded since the last checkpoint: for every cell that was
// touched, the difference to what Badger holds. It is not safe for concurrent
// use; the store's lock guards it.
type overlay struct {
	from, to sketch.Position // positions folded are those in (from, to]
	projects map[sketch.ProjectNumber]*projectOverlay
	bytes    int // about how much memory the differences take

	// epoch grows with every snapshot. A cell that was last cloned in an
	// earlier epoch may be held by a reader and is cloned before it changes; a
	// cell of the current epoch is changed in place. So without queries nothing
	// is copied, and with them each touched cell is copied once a query at most.
	epoch uint64
}

type projectOverlay struct {
	days    map[sketch.Day]*dayOverlay
	sources map[sketch.Source]sketch.Mark
}

type dayOverlay struct {
	site  *difference
	paths map[string]*difference
}

// difference is what the visits of the overlay add to one cell.
type difference struct {
	cell  *sketch.Cell
	epoch uint64
	// floor is the position that the cell in Badger already holds. It matters
	// only after a checkpoint was interrupted, when some cells are ahead of the
	// checkpoint's position; replay skips what they hold.
	floor sketch.Position
}

// differenceBytes is the memory of a map entry with its cell, without the sets.
const differenceBytes = 160

func newOverlay(from sketch.Position) *overlay {
	return &overlay{from: from, to: from, projects: make(map[sketch.ProjectNumber]*projectOverlay)}
}

func (o *overlay) project(number sketch.ProjectNumber) *projectOverlay {
	p := o.projects[number]
	if p == nil {
		p = &projectOverlay{
			days:    make(map[sketch.Day]*dayOverlay),
			sources: make(map[sketch.Source]sketch.Mark),
		}
		o.projects[number] = p
	}
	return p
}

// floors tells the position that a cell in Badger already holds.
type floors interface {
	site(sketch.ProjectNumber, sketch.Day) (sketch.Position, error)
	path(sketch.ProjectNumber, sketch.Day, string) (sketch.Position, error)
}

// fold adds a batch to the overlay. A nil floors means that no cell in Badger is
// ahead of the overlay.
func (o *overlay) fold(at sketch.Position, b sketch.Batch, ahead floors) error {
	p := o.project(b.Project)
	for i := range b.Visits {
		visit := &b.Visits[i]
		day := p.days[visit.Day]
		if day == nil {
			site := &difference{cell: sketch.NewCell(sketch.SitePrecision), epoch: o.epoch}
			if ahead != nil {
				floor, err := ahead.site(b.Project, visit.Day)
				if err != nil {
					return err
				}
				site.floor = floor
			}
			day = &dayOverlay{site: site, paths: make(map[string]*difference)}
			p.days[visit.Day] = day
			o.bytes += differenceBytes + site.cell.MemoryBytes()
		}
		path := day.paths[visit.Path]
		if path == nil {
			path = &difference{cell: sketch.NewCell(sketch.PathPrecision), epoch: o.epoch}
			if ahead != nil {
				floor, err := ahead.path(b.Project, visit.Day, visit.Path)
				if err != nil {
					return err
				}
				path.floor = floor
			}
			day.paths[visit.Path] = path
			o.bytes += differenceBytes + len(visit.Path) + path.cell.MemoryBytes()
		}
		o.add(day.site, at, visit)
		o.add(path, at, visit)
	}
	if !b.Mark.IsZero() {
		p.sources[b.Mark.Source] = b.Mark
	}
	o.to = at
	return nil
}

func (o *overlay) add(d *difference, at sketch.Position, visit *sketch.Visit) {
	if at <= d.floor {
		return
	}
	if d.epoch != o.epoch {
		d.cell = d.cell.Clone()
		d.epoch = o.epoch
	}
	before := d.cell.MemoryBytes()
	d.cell.Add(visit.Traffic, visit.Visitor)
	d.cell.Position = at
	o.bytes += d.cell.MemoryBytes() - before
}

// view is the cells of one project and range as they were at one instant. They
// do not change anymore.
type view struct {
	to    sketch.Position
	sites map[sketch.Day]*sketch.Cell
	paths map[sketch.Day]map[string]*sketch.Cell
}

// snapshot returns the cells of a project's range, of an overlay that is still
// folded into: later folds replace the cells that it holds instead of changing
// them.
func (o *overlay) snapshot(project sketch.ProjectNumber, within sketch.Range) view {
	o.epoch++
	return o.view(project, within)
}

// view returns the cells of a project's range, of an overlay that does not change.
func (o *overlay) view(project sketch.ProjectNumber, within sketch.Range) view {
	v := view{
		to:    o.to,
		sites: make(map[sketch.Day]*sketch.Cell),
		paths: make(map[sketch.Day]map[string]*sketch.Cell),
	}
	p := o.projects[project]
	if p == nil {
		return v
	}
	for day, cells := range p.days {
		if !within.Contains(day) {
			continue
		}
		v.sites[day] = cells.site.cell
		paths := make(map[string]*sketch.Cell, len(cells.paths))
		for path, d := range cells.paths {
			paths[path] = d.cell
		}
		v.paths[day] = paths
	}
	return v
}
