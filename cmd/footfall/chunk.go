package main

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"

	"footfall/ingest"
	"footfall/internal/api"
	"footfall/sketch"
)

// A chunk of a log travels as the body of a request, and all else about it in
// the query. The import command writes the query, the administrative handler
// reads it.

func chunkToQuery(c ingest.Chunk) url.Values {
	query := url.Values{
		"length": {strconv.Itoa(int(c.Source.Length))},
		"sum":    {hex.EncodeToString(c.Source.Sum[:])},
		"from":   {strconv.FormatInt(c.From, 10)},
		"lines":  {strconv.FormatInt(c.Lines, 10)},
		"inside": {strconv.FormatBool(c.Inside)},
		"end":    {strconv.FormatBool(c.End)},
	}
	if c.Traffic != nil {
		query.Set("traffic", c.Traffic.String())
	}
	for _, prefix := range c.Trusted {
		query.Add("trusted", prefix.String())
	}
	return query
}

func chunkFromQuery(query url.Values) (ingest.Chunk, error) {
	var c ingest.Chunk
	var faults []string
	read := func(name string, parse func(string) error) {
		if err := parse(query.Get(name)); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", name, err))
		}
	}
	read("length", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 16)
		if err == nil && (n == 0 || n > sketch.SourceHead) {
			err = fmt.Errorf("must be from 1 to %d", sketch.SourceHead)
		}
		c.Source.Length = uint16(n)
		return err
	})
	read("sum", func(s string) error {
		sum, err := hex.DecodeString(s)
		if err == nil && len(sum) != len(c.Source.Sum) {
			err = fmt.Errorf("must have %d bytes", len(c.Source.Sum))
		}
		copy(c.Source.Sum[:], sum)
		return err
	})
	offset := func(value *int64) func(string) error {
		return func(s string) error {
			n, err := strconv.ParseInt(s, 10, 64)
			if err == nil && n < 0 {
				err = fmt.Errorf("must not be negative")
			}
			*value = n
			return err
		}
	}
	read("from", offset(&c.From))
	read("lines", offset(&c.Lines))
	read("inside", func(s string) (err error) { c.Inside, err = strconv.ParseBool(s); return err })
	read("end", func(s string) (err error) { c.End, err = strconv.ParseBool(s); return err })
	if query.Has("traffic") {
		read("traffic", func(s string) error {
			traffic, err := sketch.ParseTraffic(s)
			c.Traffic = &traffic
			return err
		})
	}
	for _, text := range query["trusted"] {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			faults = append(faults, fmt.Sprintf("trusted: %v", err))
		}
		c.Trusted = append(c.Trusted, prefix)
	}
	if len(faults) > 0 {
		return ingest.Chunk{}, api.BadRequest("the chunk of a log is not described right", faults...)
	}
	return c, nil
}
