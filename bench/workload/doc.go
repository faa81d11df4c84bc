// Package workload makes up the traffic of a documentation site, from a seed,
// and knows the exact truth about it. It stands in for a real site wherever one
// is needed: demonstrations, benchmarks and tests.
//
// The nouns:
//
//   - AccessLog writes a web server's log: people on browsers, AI agents,
//     crawlers that are neither, assets, errors, and lines that are broken.
//   - Events writes page views as newline-delimited JSON, for the events
//     endpoint.
//   - Truth answers any range of days exactly: distinct visitors and views, of
//     each path and of the site.
//
// The truth comes from what the generator meant when it made a request up, never
// from reading back what it wrote: a mistake in reading would agree with itself.
//
// One seed and configuration make the same bytes on every machine and with every
// version of Go; a test pins their SHA-256. So all randomness is PCG, whose
// algorithm math/rand/v2 documents, taken as raw 64-bit numbers: what
// rand.Rand makes of them may change. And there is no floating-point expression
// whose result an architecture may choose, such as a fused multiply-add.
//
// All addresses are of the ranges set aside for documentation (RFC 5737, RFC
// 3849), benchmarks (RFC 2544) and private networks (RFC 1918).
package workload
