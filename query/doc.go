// Package query is the way out: it answers how many different visitors saw each
// page and the whole site.
//
//   - parameters.go reads dates, limit and offset, and names what is wrong.
//   - visitors.go is the export endpoint: range, ranking, page, response.
//
// How visitors are united and ranked is not known here: Ranker is all that query
// asks of a store, so that an engine which unites and ranks by itself can stand
// behind it.
package query
