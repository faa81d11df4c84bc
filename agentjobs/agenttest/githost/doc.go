// Package githost is a forge's git side for tests: bare repositories, served over
// HTTP on loopback by git's own http-backend, with a token where one is wanted.
//
// It stands where a test needs a remote that is real: what is pushed is received by
// git, and what is read back is read from the repository.
package githost
