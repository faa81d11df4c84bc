// Package access holds who may do what: projects, API keys and their scopes.
//
//   - Project is one documentation site, with the secret that keys its visitors'
//     hashes.
//   - Key is an API key without its text: what is kept is the SHA-256 of the
//     text, and a key is looked up by it.
//   - Scope is what a key allows: admin, read or ingest.
//   - Registry keeps both, in memory for every request and in the database for
//     good.
package access
