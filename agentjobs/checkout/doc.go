// Package checkout is one job's copy of a repository: it fetches, looks over what
// an agent changed, commits and pushes, by the git binary.
//
// The nouns:
//
//   - The tree is the directory that the agent sees and writes. It holds no .git.
//   - The git directory lies beside it. It belongs to the service, and the agent
//     never sees it.
//   - The start is the commit that the tree is made from: the tip of the job's
//     branch where the remote has it, else the tip of the base.
//   - The change is what differs between the start and the tree, as git stages it.
//     Ignored files are not part of it.
//   - A violation is something in the tree or in the change that an agent may not
//     do. Nothing of the change is then committed.
//
// # What the agent wrote is never obeyed
//
// Everything in the tree is hostile. Two attacks on the usual layout are known: a
// .git/config with a program in it, which the service's own git runs; and a nested
// repository with a clean filter, which git runs when it asks whether that one
// changed, though its own git directory is elsewhere. So:
//
//   - The tree is walked before git touches it. A .git at any depth, under any name
//     that a file system takes for it, is a violation.
//   - The environment of git is built from nothing, and settings that could name a
//     program are set there, where they go before every file.
//   - What is looked over is a tree object, and that very object is committed.
//     Looking over the files instead would leave room between the look and the
//     commit.
//   - Whether a link leaves the tree is worked out from the links in that object
//     alone (see linkSet), not from what the disk holds besides.
//
// This holds for an agent that is gone. One that still runs can put a .git into the
// tree after the walk, so Prepare and Commit are called when its processes have ended.
//
// # What is not bounded here
//
// A definition of continuous integration may call scripts and read settings at any
// other path. Only Options.DocsPath keeps those from being changed. Files kept by
// Git LFS come as their pointers: there is no filter.
//
// A checkout is used by one goroutine of one process at a time.
package checkout
