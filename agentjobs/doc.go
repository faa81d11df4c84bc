// Package agentjobs runs coding agents on the documentation's repository.
//
//   - Job is one instruction and what became of it. It goes from state to state by
//     the table in state.go.
//   - A message is an instruction in a job: the first one, or a follow-up. A job
//     runs one at a time; what comes meanwhile waits.
//   - A run works on one message: it takes a clean checkout, lets the agent work on
//     it in a sandbox, and pushes what was changed (run.go).
//   - Settings are what the operator set for a project's jobs: repository, forge,
//     agent, model (settings.go).
//   - The log of a job says what the agent said and did, line by line (log.go).
//   - Jobs is the service: it keeps all of that in the database, has the queue, and
//     answers the endpoints.
//
// The parts of a run know nothing of jobs and of each other: checkout is git, agent
// is the protocol with the agent, sandbox is its process, gate is its way to the
// model, forge is the pull request.
package agentjobs
