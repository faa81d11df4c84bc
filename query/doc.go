// Package query is the way out: it answers how many different visitors saw each
// page and the whole site.
//
//   - parameters.go reads dates, limit and offset, names what is wrong, and tells
//     which pages belong to one walk.
//   - visitors.go is the export endpoint: range, ranking, page, response.
//   - accuracy.go says which numbers are exact.
//   - listings.go keeps rankings for the pages that follow a first one; worker.go
//     makes them; metrics.go counts them.
//
// How visitors are united and ranked is not known here: Ranker is all that query
// asks of a store, so that an engine which unites and ranks by itself can stand
// behind it.
package query
