package store

import (
	"footfall/internal/part"
	"footfall/sketch"
)

// overlay is what was folded since the last checkpoint: for every cell that was
// touched, the difference to what Badger holds. It is not safe for concurrent
// use; the store's lock guards it.
type overlay struct {
	from, to sketch.Position // positions folded are those in (from, to]
	projects map[sketch.ProjectNumber]*projectOverlay
	bytes    int // about how much memory the differences take

	// leftovers says that a checkpoint of it may have been begun before, in this
	// process or in one that ended.
	leftovers bool

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
	// paths numbers every path of days, however many days have it; names has them
	// by these numbers, which are those of the overlay alone.
	paths map[string]uint32
	names []string
}

type dayOverlay struct {
	// floor is the position up to which Badger holds the day already. It matters
	// only after a checkpoint was interrupted, when some days are ahead of the
	// checkpoint's position; replay skips what they hold.
	floor sketch.Position
	site  *difference
	paths map[uint32]*difference
	cells []*difference // those of paths, to be gone through quickly

	// epoch grows with every snapshot that has the day. A cell that was last cloned in
	// an earlier epoch may be held by a reader and is cloned before it changes; a cell
	// of the current epoch is changed in place. So without queries of the day nothing
	// is copied, and with them each touched cell is copied once a query at most.
	epoch uint64
}

// difference is what the visits of the overlay add to one cell.
type difference struct {
	cell  *sketch.Cell
	epoch uint64
	path  uint32
}

// What the entries of the maps take beside the cells, paths and answers.
const (
	differenceBytes = 112
	dayBytes        = 256
	pathBytes       = 80
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
			paths:    make(map[string]uint32),
		}
		o.projects[number] = p
	}
	return p
}

// floors tells the position up to which Badger holds a day already.
type floors func(sketch.ProjectNumber, sketch.Day) (sketch.Position, error)

// fold adds a batch to the overlay. A nil ahead means that no day in Badger is
// ahead of the overlay.
func (o *overlay) fold(at sketch.Position, b *record, ahead floors) error {
	p := o.project(b.project)
	o.near = append(o.near[:0], make([]nearCell, len(b.paths))...)
	var today *dayOverlay
	var err error
	for i := range b.visits {
		visit := &b.visits[i]
		if i == 0 || visit.Day != b.visits[i-1].Day {
			if today, err = o.day(p, b.project, visit.Day, ahead); err != nil {
				return err
			}
		}
		if at <= today.floor {
			continue
		}
		near := &o.near[visit.Path]
		if near.cell == nil || near.day != visit.Day {
			*near = nearCell{day: visit.Day, cell: o.cell(p, today, b.paths[visit.Path])}
		}
		o.add(today, today.site, visit)
		o.add(today, near.cell, visit)
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
	site := &difference{cell: sketch.NewCell(sketch.SitePrecision)}
	cells := &dayOverlay{site: site, paths: make(map[uint32]*difference)}
	if ahead != nil {
		var err error
		if cells.floor, err = ahead(project, day); err != nil {
			return nil, err
		}
	}
	p.days[day] = cells
	o.bytes += dayBytes + site.cell.MemoryBytes()
	return cells, nil
}

// cell returns the cell of a path, new where there is none.
func (o *overlay) cell(p *projectOverlay, today *dayOverlay, name []byte) *difference {
	path, known := p.paths[string(name)]
	if !known {
		path = uint32(len(p.names))
		p.names = append(p.names, string(name))
		p.paths[p.names[path]] = path
		o.bytes += pathBytes + len(name)
	}
	cell := today.paths[path]
	if cell == nil {
		cell = &difference{cell: sketch.NewCell(sketch.PathPrecision), epoch: today.epoch, path: path}
		today.paths[path] = cell
		today.cells = append(today.cells, cell)
		o.bytes += differenceBytes + cell.cell.MemoryBytes()
	}
	return cell
}

func (o *overlay) add(today *dayOverlay, d *difference, visit *sketch.Visit) {
	if d.epoch != today.epoch {
		d.cell = d.cell.Clone()
		d.epoch = today.epoch
	}
	before := d.cell.Visitors[visit.Traffic].MemoryBytes()
	d.cell.Add(visit.Traffic, visit.Visitor)
	o.bytes += d.cell.Visitors[visit.Traffic].MemoryBytes() - before
}

// daysBefore returns how many days of projects before a day the overlay has.
func (o *overlay) daysBefore(day sketch.Day) int {
	days := 0
	for _, p := range o.projects {
		for d := range p.days {
			if d < day {
				days++
			}
		}
	}
	return days
}

// view is the cells of one project and range as they were at one instant. They
// do not change anymore.
type view struct {
	to    sketch.Position
	names []string // of the paths
	days  []dayView
}

type dayView struct {
	day   sketch.Day
	site  *sketch.Cell
	cells []pathCell
}

type pathCell struct {
	path uint32
	cell *sketch.Cell
}

// view returns the cells of a project's range: later folds replace the cells that
// it holds instead of changing them. The store's lock is held meanwhile, so it
// does no more than copy pointers.
func (o *overlay) view(project sketch.ProjectNumber, within sketch.Range) view {
	v := view{to: o.to}
	p := o.projects[project]
	if p == nil {
		return v
	}
	v.names = p.names
	for day, cells := range p.days {
		// A day without cells was written by a checkpoint that was interrupted.
		if !within.Contains(day) || len(cells.cells) == 0 {
			continue
		}
		cells.epoch++
		of := dayView{day: day, site: cells.site.cell, cells: make([]pathCell, len(cells.cells))}
		for i, d := range cells.cells {
			of.cells[i] = pathCell{path: d.path, cell: d.cell}
		}
		v.days = append(v.days, of)
	}
	return v
}

// numberedCell is what an overlay has of a path on a day.
type numberedCell struct {
	number uint32 // of the path
	cell   *sketch.Cell
}

// groupedCells are cells by the group of their path. There can be as many as an
// overlay holds, and a snapshot has to put them in order: so they are counted, and
// then put where they belong. To sort them takes ten times as long.
type groupedCells struct {
	cells []numberedCell
	ends  []int // by group, of its cells
}

// count counts the cells of a view, whose paths have numbers.
func (g *groupedCells) count(v view, numbers []uint32) {
	for _, day := range v.days {
		for _, c := range day.cells {
			group, _ := part.GroupOf(numbers[c.path])
			if missing := int(group) + 1 - len(g.ends); missing > 0 {
				g.ends = append(g.ends, make([]int, missing)...)
			}
			g.ends[group]++
		}
	}
}

// allocate makes room for what was counted.
func (g *groupedCells) allocate() {
	begin := 0
	for group, count := range g.ends {
		g.ends[group] = begin // Where its next cell goes, and in the end where they end.
		begin += count
	}
	g.cells = make([]numberedCell, begin)
}

// add adds the cells of a view that was counted.
func (g *groupedCells) add(v view, numbers []uint32) {
	for _, day := range v.days {
		for _, c := range day.cells {
			group, _ := part.GroupOf(numbers[c.path])
			g.cells[g.ends[group]] = numberedCell{number: numbers[c.path], cell: c.cell}
			g.ends[group]++
		}
	}
}

// of returns the cells of a group.
func (g *groupedCells) of(group uint32) []numberedCell {
	if int(group) >= len(g.ends) {
		return nil
	}
	begin := 0
	if group > 0 {
		begin = g.ends[group-1]
	}
	return g.cells[begin:g.ends[group]]
}
