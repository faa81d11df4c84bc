// Package ingest is the way in: it turns requests and access logs into batches
// of visits and commits them.
//
// A page view's way, and the files in its order:
//
//   - handler.go takes the request; decode.go takes events off its body, one JSON
//     object, an array or newline-delimited JSON; event.go is one event.
//   - path.go normalises its path; visitor.go hashes its visitor, and from then
//     on the identity is gone; classify.go decides who reads.
//   - validate.go applies the rules of the fields and makes a visit of the event,
//     or says which rule it broke.
//   - pipeline.go commits the visits of a request as one batch.
//   - accesslog.go does the same for a chunk of an access log, from the lines
//     that package accesslog parses.
//
// Where batches go is not known here: Committer is all that ingest asks of a
// store.
package ingest
