package model

import (
	"net/http"
	"sync/atomic"
)

// Script gives the answer to a request. It is called from many goroutines at
// once.
type Script func(Request) Answer

// Answer is what the server sends back. Text comes before Calls. An answer
// without calls ends the agent's turn.
//
// The other fields are faults, which look as they would from a model's host that
// is broken or hostile.
type Answer struct {
	Text  string
	Calls []Call
	Usage Usage // zero: 10 tokens in, 5 out

	// Status, where it is not zero or 200, makes the answer an error in the API's
	// own form, whose message is Text.
	Status int
	// RetryAfter is the header Retry-After of an error, in seconds where it is a
	// number. Empty: no header.
	RetryAfter string
	// EchoKey puts the request's key into the error's message, as hosts do that say
	// "Incorrect API key provided: ...".
	EchoKey bool
	// Location makes the answer a redirect to this address, 307 where Status is
	// zero.
	Location string
	// Stall sends the head of the answer and Text, and then nothing until the
	// client hangs up or the test ends.
	Stall bool
	// Filler is how many more bytes of text follow Text, to make an answer that is
	// too long.
	Filler int64
}

// Usage is how many tokens an answer says it took.
type Usage struct {
	Input  int
	Output int
}

func (a Answer) usage() Usage {
	if a.Usage == (Usage{}) {
		return Usage{Input: 10, Output: 5}
	}
	return a.Usage
}

// Say is the script that answers every request with the same text.
func Say(text string) Script {
	return func(Request) Answer { return Answer{Text: text} }
}

// Fail is the script that answers every request with an error.
func Fail(status int) Script {
	return func(Request) Answer {
		return Answer{Status: status, Text: http.StatusText(status)}
	}
}

// FailFirst answers the first count requests with an error, and the others as
// then does.
func FailFirst(count int64, status int, then Script) Script {
	var seen atomic.Int64
	return func(request Request) Answer {
		if seen.Add(1) <= count {
			return Answer{Status: status, Text: http.StatusText(status)}
		}
		return then(request)
	}
}
