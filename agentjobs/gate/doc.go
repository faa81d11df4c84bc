// Package gate is the only way from a sandboxed agent to the model. A plain
// forwarder would lend the agent all that the model's host does for whoever has
// the key: fetch pages, run code, reach remote tools, use a costlier model. The
// gate knows the model's API well enough to refuse that.
//
// The nouns:
//
//   - A gate is an HTTP server on a unix socket, one for each run of an agent. It
//     is gone when the run is over, and its counts with it.
//   - The upstream is the one host that a gate forwards to. It is fixed when the
//     gate is opened; nothing in a request chooses a host.
//   - A route is one call of the model's API that may pass: chat completions and
//     responses (OpenAI), messages and the counting of their tokens (Anthropic),
//     and the list of models. The agent's base URL ends in /v1.
//   - A form is what a route's request body may hold: its top-level fields, the
//     types of its tools and of its content. What may pass is listed.
//   - A refusal is the gate's own answer. Its body has the shape that clients of
//     both APIs show to people, with the type footfall_gate.
//   - The budget is what a run may use: requests, bytes, tokens.
//
// # What passes
//
// A body is parsed strictly: one object, no name twice, valid UTF-8. What is
// forwarded is written anew from that parse, so the host can not read it in
// another way than the gate did. The model is the configured one to the letter.
//
// Top-level fields that are not listed are left out, and counted. Refusing them
// would break an agent with every new harmless field, and what is left out can do
// nothing at the host. Fields that are known to ask for what the gate is there to
// prevent are refused instead, so that the agent's log says why.
//
// Of tools, those pass that run at the client. Inside of content, the types are
// listed; a field that names a URL passes as a data: URL alone, since the host
// fetches any other, and references to what lies stored at the host (files,
// containers, earlier conversations) are refused: they may belong to another run.
//
// Headers are listed in both directions. The agent's credentials are dropped, the
// real key is added, and where the host's answer repeats the key it is masked.
//
// # What remains
//
// Whatever the agent reads may reach the model's host inside a prompt, and the
// model's answers reach the agent. The token limit holds between requests: those
// that are running when it is reached are answered to their end. Service tiers
// and long contexts may cost more a token than others.
//
// Sources: the OpenAI and Anthropic API references as generated into their client
// libraries (github.com/openai/openai-python, github.com/anthropics/anthropic-sdk-python,
// August 2026), and Anthropic's tool reference for which tools run where.
package gate
