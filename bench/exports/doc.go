// Package exports is what measurements of exports have in common, those of
// Footfall and those of other systems: ranges that were never asked before, the
// time of an answer, and its errors against the truth.
//
// The nouns:
//
//   - Windows hands out ranges of days, none of them twice.
//   - Prepare and Ask ask a system for the top of an export, as a page of Footfall's.
//   - Measurement is the latencies and errors of the answers to some ranges.
package exports
