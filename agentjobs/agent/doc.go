// Package agent gives one prompt to a coding agent and says what came of it. It
// speaks the Agent Client Protocol (https://agentclientprotocol.com) over the
// standard streams of a process that somebody else started, confined and will
// kill.
//
// The nouns:
//
//   - An agent is a program of somebody else's that edits files on a model's word.
//     Nothing that it sends is trusted.
//   - A session is an agent's memory of what was said. It has an id, and some
//     agents can load one again.
//   - A run is one prompt and the turn that it causes, until the agent says why it
//     stopped.
//   - An event is a piece of what the agent said or did, made fit for a log: one
//     kind, bounded, clean text.
//   - A preset says how to start an agent: its arguments, environment and files.
//
// # What holds a run
//
// The agent is offered no files and no terminal: those calls would be carried out
// by us, outside of its sandbox, and are refused. Permissions are granted for the
// work tree only. That is a second wall, and looks at names alone; the first is
// the sandbox.
//
// Three clocks run: StartTimeout until a session is there, IdleTimeout between two
// signs of life, and the context of the caller over all. Where one of the last two
// ends a turn, the agent is told (session/cancel) and has CancelGrace to stop. Run
// then returns whether the agent heeded it or not; killing it is the caller's.
//
// What the agent writes is bounded in all (OutputBytes) and by the line, and is
// handed on one message at a time: the next when the one before was dealt with.
// The protocol's library (acp-go-sdk v0.13.0) closes the connection at 1,024
// unhandled notifications and starts a goroutine for each request, so an agent
// that talks faster than we listen, or asks without reading the answers, would
// break a good run or fill our memory. So the pipe fills instead, and the agent
// waits.
package agent
