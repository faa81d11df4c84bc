// Package gitea starts a real forge for a test: an unmodified Gitea with a
// database of its own, on loopback, without any way to call out.
//
// The nouns:
//
//   - A server is one Gitea process, from Start to the end of the test.
//   - A repository is one on that server. It is made with files, looked at, and
//     changed by what a reviewer does: merge, close, protect.
//
// Everything goes over Gitea's own API (https://docs.gitea.com/api/1.26/), spoken
// here directly and not by the client that the service uses: a mistake of that
// client would otherwise confirm itself.
//
// Gitea chooses no port itself, so a free one is looked for and named in its
// configuration; where another process takes it in between, Gitea ends and is
// started again with another. Handing it our own listening socket, as systemd
// would, has no such gap, but Gitea takes whoever does that for its predecessor
// and ends it: the test itself.
package gitea
