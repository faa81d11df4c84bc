//go:build !goexperiment.jsonv2

package parsers

func experimental() []parser { return nil }
