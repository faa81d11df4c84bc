// Package forgehost is a forge for tests, on loopback: it speaks the calls of
// GitHub's REST API that opening pull requests needs, and keeps what is opened.
//
// It takes a pull request only for a branch that its owner finds in the real
// repository, and refuses one as GitHub does: without the branch or the base,
// without a difference, or where the branch has an open one. It can also answer
// as Gitea does where that differs, and can be told to fail.
//
// The answers have every field that GitHub's OpenAPI description demands; the
// templates in testdata are its examples, less what is not demanded.
package forgehost
