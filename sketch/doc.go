// Package sketch is the domain of Footfall: what a visitor, a day and a count
// are, and how distinct visitors are kept and united. It is pure: it does no
// I/O, reads no clock and logs nothing.
//
// The nouns:
//
//   - Day is a UTC civil day; Range is a half-open run of days [From, To).
//   - Traffic tells human page views from those of AI agents.
//   - Hash is a visitor: a 64-bit keyed hash of an identity that is never kept.
//   - Visit is one page view after every decision was taken: which path, which
//     day, which traffic, which visitor.
//   - Batch is what one commit makes durable: the visits of one project and the
//     Mark that says where they came from. Position is its place in the log.
//   - Set holds distinct visitors: exact while small, HyperLogLog registers
//     once larger. Which of the two is a function of the visitors alone.
//   - Cell is what is kept for (project, day, path): a human set, an AI set and two
//     view counters. The site cell is the same over all paths, at a higher
//     precision. Accumulator unites the sets of many cells.
//   - Ranking is rows of one answer in order, with the totals that bound them.
//     Snapshot is what it is taken from, Listing all of it in a compact form.
package sketch
