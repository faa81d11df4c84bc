// Package useragent tells who reads by the user agent of a request: people, AI
// agents, or other crawlers.
//
//   - An agent is a row of agents.tsv, our own table: a token that an AI agent
//     puts into its user agent, with operator and purpose.
//   - A crawler is a row of crawlers.tsv: a regular expression and its tags, from
//     the npm package crawler-user-agents. Command internal/derive makes it.
//   - A literal is a text that a user agent must contain for a row to match it.
//     The index finds all literals of both tables in one walk over a user agent,
//     and only the rows they belong to are tried. literals.go derives them from
//     the regular expressions.
//   - A class is the answer, and the cache remembers it for recent user agents.
package useragent
