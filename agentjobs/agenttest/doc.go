// Package agenttest explains what tests put in the place of the parts that agent
// jobs talk to. It holds no code. Each part is a room of its own:
//
//   - model: a model that follows a script, over the APIs that agents speak. It
//     keeps every request, so that a test can say which key and which model
//     arrived.
//   - acpagent: an agent written for the tests, over the Agent Client Protocol. It
//     does what the prompt says, also what no agent should.
//   - githost: bare repositories over git's own HTTP backend, with a token.
//   - forgehost: a forge that keeps pull requests, and looks whether the branch of
//     one really exists.
//   - gitea: a real forge, started for one test, for the end-to-end tests.
//
// All listen on loopback, end with the test that started them, and wait for
// conditions instead of sleeping. They are packages and not test files because
// several packages test with them; the binary imports none.
package agenttest
