package part

import (
	"encoding/binary"

	"footfall/sketch"
)

// numbers reads uvarints, each in its shortest form, one after the other. What can
// not be read is 0 and breaks the reader, which is asked at the end.
type numbers struct {
	b      []byte
	broken bool
}

func (n *numbers) next() uint64 {
	if len(n.b) > 0 && n.b[0] < 0x80 {
		value := uint64(n.b[0])
		n.b = n.b[1:]
		return value
	}
	value, size := binary.Uvarint(n.b)
	if size <= 0 || n.b[size-1] == 0 {
		n.broken, n.b = true, nil
		return 0
	}
	n.b = n.b[size:]
	return value
}

func (n *numbers) nextUpTo(most uint64) uint64 {
	value := n.next()
	if value > most {
		n.broken, n.b = true, nil
		return 0
	}
	return value
}

func (n *numbers) nextByte() byte {
	if len(n.b) == 0 {
		n.broken = true
		return 0
	}
	value := n.b[0]
	n.b = n.b[1:]
	return value
}

// nextNumbers reads what appendNumbers wrote.
func (n *numbers) nextNumbers() Numbers {
	var numbers Numbers
	numbers.Views[sketch.Human], numbers.Views[sketch.AI] = n.next(), n.next()
	numbers.Count = n.nextCount()
	return numbers
}

// nextCount reads what appendCount wrote.
func (n *numbers) nextCount() sketch.Count {
	const most = 1 << 62 // More than any estimate, and two are safe to add.
	c := sketch.Count{Human: n.nextUpTo(most), AI: n.nextUpTo(most)}
	c.Total = c.Human + c.AI - n.nextUpTo(min(c.Human, c.AI))
	return c
}

func appendNumbers(b []byte, n Numbers) []byte {
	b = binary.AppendUvarint(b, n.Views[sketch.Human])
	b = binary.AppendUvarint(b, n.Views[sketch.AI])
	return appendCount(b, n.Count)
}

func appendCount(b []byte, c sketch.Count) []byte {
	b = binary.AppendUvarint(b, c.Human)
	b = binary.AppendUvarint(b, c.AI)
	return binary.AppendUvarint(b, c.Human+c.AI-c.Total)
}

// ended reports whether all was read, and nothing is left.
func (n *numbers) ended() bool { return !n.broken && len(n.b) == 0 }
