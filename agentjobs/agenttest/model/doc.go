// Package model is a model that follows a script, for tests: a server on loopback
// that speaks the APIs by which coding agents reach a model.
//
// The nouns:
//
//   - A request is one call that arrived, taken apart: its API, model, messages,
//     the tools it offers, and the bytes and headers as they came.
//   - A message is one turn of the conversation in it. A call is a tool that the
//     model wants run, and a result is the message that brings what came of it.
//   - A script is a function from a request to an answer. It is a function of the
//     request alone wherever it can be: agents ask again after an error, and ask
//     for titles in between, so a script that counted would drift.
//   - An answer is text, calls, or a fault: an error status, a redirect, an answer
//     that never ends, one that is far too long.
//
// Editor is the script for most tests: it does what the lines of the prompt say,
// with the tools that the agent itself offers.
//
// # What is spoken
//
// Streamed as server-sent events, and whole where the request does not ask for a
// stream:
//
//	POST /v1/chat/completions   OpenAI chat completions, https://platform.openai.com/docs/api-reference/chat
//	POST /v1/responses          OpenAI responses, https://platform.openai.com/docs/api-reference/responses
//	POST /v1/messages           Anthropic messages, https://docs.anthropic.com/en/api/messages
//	GET  /v1/models             the names given to Models
//
// Only what agents read is sent. Everything else is a 404, and kept as a request
// like any other.
package model
