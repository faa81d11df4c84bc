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

	// near are the cells that the batch being folded touched last, by its paths:
	// most batches are of one day, and then a path is looked up once a batch.
	near []nearCell
}

type nearCell struct {
	day  sketch.Day
	cell *difference
}

type projectOverlay struct {
	days     map[sketch.Day]*dayOverlay
	sources  map[sketch.Source]sketch.Mark
	receipts map[[32]byte]*sketch.Receipt
	// paths holds every path of days once, however many days have it.
	paths map[string]string

	// epoch grows with every snapshot of the project. A cell that was last cloned
	// in an earlier epoch may be held by a reader and is cloned before it changes;
	// a cell of the current epoch is changed in place. So without queries nothing
	// is copied, and with them each touched cell is copied once a query at most.
	epoch uint64
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

// What the entries of the maps take beside the cells, paths and answers.
const (
	differenceBytes = 128
	pathBytes       = 64
	receiptBytes    = 256
)

func newOverlay(from sketch.Position) *overlay {
	return &overlay{from: from, to: from, projects: make(map[sketch.ProjectNumber]*projectOverlay)}
}

func (o *overlay) project(number sketch.ProjectNumber) *projectOverlay {
	p := o.projects[number]
	if p == nil {
		p = &projectOverlay{
			days:     make(map[sketch.Day]*dayOverlay),
			sources:  make(map[sketch.Source]sketch.Mark),
			receipts: make(map[[32]byte]*sketch.Receipt),
			paths:    make(map[string]string),
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
func (o *overlay) fold(at sketch.Position, b *record, ahead floors) error {
	p := o.project(b.project)
	o.near = append(o.near[:0], make([]nearCell, len(b.paths))...)
	var site *difference
	var today *dayOverlay
	var err error
	for i := range b.visits {
		visit := &b.visits[i]
		if i == 0 || visit.Day != b.visits[i-1].Day {
			if today, err = o.day(p, b.project, visit.Day, ahead); err != nil {
				return err
			}
			site = today.site
		}
		near := &o.near[visit.Path]
		if near.cell == nil || near.day != visit.Day {
			cell, err := o.path(p, today, b, visit, ahead)
			if err != nil {
				return err
			}
			*near = nearCell{day: visit.Day, cell: cell}
		}
		o.add(p, site, at, visit)
		o.add(p, near.cell, at, visit)
	}
	if !b.mark.IsZero() {
		p.sources[b.mark.Source] = b.mark
		o.bytes += receiptBytes
	}
	if b.receipt != nil {
		p.receipts[b.receipt.Key] = b.receipt
		o.bytes += receiptBytes + len(b.receipt.Answer)
	}
	o.to = at
	return nil
}

// day returns the cells of a day, new where there are none.
func (o *overlay) day(p *projectOverlay, project sketch.ProjectNumber, day sketch.Day, ahead floors) (*dayOverlay, error) {
	if cells := p.days[day]; cells != nil {
		return cells, nil
	}
	site := &difference{cell: sketch.NewCell(sketch.SitePrecision), epoch: p.epoch}
	if ahead != nil {
		var err error
		if site.floor, err = ahead.site(project, day); err != nil {
			return nil, err
		}
	}
	cells := &dayOverlay{site: site, paths: make(map[string]*difference)}
	p.days[day] = cells
	o.bytes += differenceBytes + site.cell.MemoryBytes()
	return cells, nil
}

// path returns the cell of a visit's path, new where there is none.
func (o *overlay) path(p *projectOverlay, today *dayOverlay, b *record, visit *sketch.Visit, ahead floors) (*difference, error) {
	name := b.paths[visit.Path]
	if cell := today.paths[string(name)]; cell != nil {
		return cell, nil
	}
	path, known := p.paths[string(name)]
	if !known {
		path = string(name)
		p.paths[path] = path
		o.bytes += pathBytes + len(path)
	}
	cell := &difference{cell: sketch.NewCell(sketch.PathPrecision), epoch: p.epoch}
	if ahead != nil {
		var err error
		if cell.floor, err = ahead.path(b.project, visit.Day, path); err != nil {
			return nil, err
		}
	}
	today.paths[path] = cell
	o.bytes += differenceBytes + cell.cell.MemoryBytes()
	return cell, nil
}

func (o *overlay) add(p *projectOverlay, d *difference, at sketch.Position, visit *sketch.Visit) {
	if at <= d.floor {
		return
	}
	if d.epoch != p.epoch {
		d.cell = d.cell.Clone()
		d.epoch = p.epoch
	}
	before := d.cell.Visitors[visit.Traffic].MemoryBytes()
	d.cell.Add(visit.Traffic, visit.Visitor)
	d.cell.Position = at
	o.bytes += d.cell.Visitors[visit.Traffic].MemoryBytes() - before
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
	if p := o.projects[project]; p != nil {
		p.epoch++
	}
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
