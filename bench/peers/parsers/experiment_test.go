//go:build goexperiment.jsonv2

package parsers

import "encoding/json/v2"

// experimental returns the parsers that an experiment of the toolchain brings. It
// also puts encoding/json on top of them.
func experimental() []parser {
	return []parser{{"encoding-json-v2", v2, func() func([]byte) (int, error) {
		return unmarshal(func(line []byte, v any) error { return json.Unmarshal(line, v) })
	}}}
}
