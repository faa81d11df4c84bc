// Package secret reads a secret from the file that the operator keeps it in: a
// forge's token, a model's key. Settings hold the path alone; whoever needs the
// secret reads it anew each time, so that a changed file counts at once and
// nothing of it is stored.
package secret
