// Package service runs a footfall binary as a process of its own, for
// measurements: it starts it on a data directory, makes a project and a key,
// watches what the process takes of the machine, and stops it as a user does.
package service
