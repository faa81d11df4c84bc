// Package ingest is the way in: it turns requests and access logs into batches
// of visits and commits them.
//
// A page view's way, and the files in its order:
//
//   - handler.go takes the request; body.go reads its body into the bounded memory
//     of buffer.go and decodes it (coding.go); idempotency.go knows a request that
//     was sent before.
//   - decode.go takes events off the body, one JSON object, an array or
//     newline-delimited JSON: plain ones by plain.go, all others by jsontext;
//     event.go is one event, envelope.go one in an envelope.
//   - validate.go applies the rules of the fields (timestamp.go) and adds a visit to
//     the batch, or says which rule the event broke. path.go normalises its path and
//     pathtable.go numbers it; visitor.go hashes its visitor, and from then on the
//     identity is gone; classify.go decides who reads.
//   - pipeline.go is what they share; the store commits the batch.
//   - accesslog.go does the same for a chunk of an access log, from the lines
//     that package accesslog parses.
//
// Where batches go is not known here: Store is all that ingest asks for.
package ingest
