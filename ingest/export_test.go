package ingest

// BodyBytes returns how much memory the bodies that are being read hold.
func (p *Pipeline) BodyBytes() int { return p.buffers.memory.Used() }
