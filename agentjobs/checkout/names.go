package checkout

import (
	"fmt"
	"strings"
)

// maxBranch bounds a branch name in bytes. A forge keeps branches as files, whose
// names end in ".lock" while they are written and have at most 255 bytes.
const maxBranch = 200

// CheckBranch returns nil for the name of a branch, and an ErrName that says why for
// what git-check-ref-format(1) refuses under refs/heads/, or with --branch: a leading
// dash.
func CheckBranch(name string) error {
	fail := func(why string) error { return fmt.Errorf("%w: %.*q %s", ErrName, maxBranch, name, why) }
	switch {
	case name == "":
		return fail("is empty")
	case len(name) > maxBranch:
		return fail("is too long")
	case name[0] == '-':
		return fail("begins with a dash")
	case name == "HEAD":
		return fail("means something else")
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return fail("holds .. or @{")
	case strings.HasSuffix(name, "."):
		return fail("ends with a dot")
	case strings.ContainsAny(name, " ~^:?*[\\"):
		return fail("holds a character that git keeps for itself")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fail("holds a control character")
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == "" || element[0] == '.' || strings.HasSuffix(element, ".lock") {
			return fail("has an element that is empty, begins with a dot or ends with .lock")
		}
	}
	return nil
}

// isDotGit reports whether a file system may take a name for .git: any case; with
// code points that HFS+ ignores; by the short name, with trailing dots and spaces, or
// as a stream, as NTFS does; with a backslash for a separator. These are the names of
// is_hfs_dotgit and is_ntfs_dotgit in git's utf8.c and path.c. Git itself refuses
// them in an index, but not on the way there.
func isDotGit(name string) bool {
	for element := range strings.SplitSeq(name, `\`) {
		if folded := foldName(element); folded == ".git" || folded == "git~1" {
			return true
		}
	}
	return false
}

// foldName returns the name under which a file system that is lenient finds the file.
func foldName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	// As git does, a name is read up to the first byte that is no UTF-8.
	name, _, _ = strings.Cut(strings.ToValidUTF8(name, "\x00"), "\x00")
	name = strings.Map(func(r rune) rune {
		// The code points of next_hfs_char in git's utf8.c.
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	return strings.ToLower(strings.TrimRight(name, ". "))
}
