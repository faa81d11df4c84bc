package gate

import (
	"bytes"
	"slices"
)

// minSecretBytes is the length below which a key is a placeholder, such as servers
// without keys want one: "none", "ollama". To mask such a word would spoil answers.
const minSecretBytes = 8

func secret(key string) bool { return len(key) >= minSecretBytes }

// mask replaces a key in a stream by as many asterisks. What could be the
// beginning of the key is held back until more is known, and nothing else is.
type mask struct {
	key  []byte
	held []byte
}

func newMask(key string) *mask {
	if !secret(key) {
		return &mask{}
	}
	return &mask{key: []byte(key)}
}

// next returns what may be sent after the chunk. The result is valid until the
// next call.
func (m *mask) next(chunk []byte) []byte {
	if m.key == nil {
		return chunk
	}
	text := bytes.ReplaceAll(append(m.held, chunk...), m.key, bytes.Repeat([]byte("*"), len(m.key)))
	held := m.beginning(text)
	m.held = slices.Clone(text[len(text)-held:])
	return text[:len(text)-held]
}

// rest returns what was held back: the stream has ended, so it is no key.
func (m *mask) rest() []byte { return m.held }

// beginning is the length of the longest end of the text that the key begins with.
func (m *mask) beginning(text []byte) int {
	for length := min(len(m.key)-1, len(text)); length > 0; length-- {
		if bytes.HasSuffix(text, m.key[:length]) {
			return length
		}
	}
	return 0
}
