// Package client posts rendered requests over HTTP/1.1 as cheaply as it can, for
// measurements in which the client shares its processors with the server.
// net/http's client takes about as much of them as the server that it asks.
//
// The nouns:
//
//   - A request is all of its bytes, from the request line to the end of the
//     body, rendered by Render before the clock starts.
//   - Conn is one connection that is kept alive: it writes a request and reads
//     its answer, one after the other.
//   - Load sends many requests over some connections, and Report is what came of
//     it.
//
// It understands what Footfall answers, and refuses the rest: answers of HTTP/1.1
// that say how long they are, without transfer codings and informational answers.
package client
