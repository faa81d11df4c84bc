package agent

import (
	"net/url"
	"path"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// forbidden says why a tool call may not be made, "" where it may.
//
// It looks at every path that the call names, by name alone: links are the
// sandbox's to hold, and this side does not see the agent's file system. A call
// that names no path may be made: commands run in the sandbox like the agent. What
// fetches pages may not: there is no network, and it is not work on the tree.
func forbidden(tree string, call acp.ToolCallUpdate) string {
	if call.Kind != nil && *call.Kind == acp.ToolKindFetch {
		return "there is no network"
	}
	var paths []string
	for _, location := range call.Locations {
		paths = append(paths, location.Path)
	}
	for _, content := range call.Content {
		if content.Diff != nil {
			paths = append(paths, content.Diff.Path)
		}
	}
	paths, whole := inputPaths(call.RawInput, paths, 0)
	if !whole {
		return "its input is nested too deeply"
	}
	for _, p := range paths {
		if !inside(tree, p) {
			return cleanLine(p, 200) + " is not in the work tree"
		}
	}
	return ""
}

// inside says whether a path lies in the tree or is the tree, by its name. A
// relative path begins at the tree, as the agent does.
func inside(tree, p string) bool {
	if u, err := url.Parse(p); err == nil && u.Scheme == "file" {
		p = u.Path
	}
	if p == "" || strings.ContainsRune(p, 0) || strings.HasPrefix(p, "~") {
		return false
	}
	if !path.IsAbs(p) {
		p = path.Join(tree, p)
	}
	p, tree = path.Clean(p), path.Clean(tree)
	return p == tree || strings.HasPrefix(p, strings.TrimSuffix(tree, "/")+"/")
}

// maxInputDepth is how deep a tool's input is looked through.
const maxInputDepth = 16

// inputPaths adds the paths of a tool's input to those given: the strings below
// every key that speaks of a path. Agents name these keys as they like: filePath,
// file_path, path, cwd. It also says whether the whole input was looked through.
func inputPaths(input any, paths []string, depth int) ([]string, bool) {
	if depth > maxInputDepth {
		return paths, false
	}
	whole := true
	switch input := input.(type) {
	case map[string]any:
		for key, value := range input {
			var all bool
			switch {
			case speaksOfPath(key):
				paths, all = allStrings(value, paths, depth+1)
			default:
				paths, all = inputPaths(value, paths, depth+1)
			}
			whole = whole && all
			if changes, ok := value.(map[string]any); ok && key == "changes" {
				// codex's patches: the keys are the files.
				for name := range changes {
					paths = append(paths, name)
				}
			}
		}
	case []any:
		for _, value := range input {
			var all bool
			paths, all = inputPaths(value, paths, depth+1)
			whole = whole && all
		}
	}
	return paths, whole
}

// speaksOfPath says whether a key of a tool's input names files or directories.
func speaksOfPath(key string) bool {
	key = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
	switch key {
	case "cwd", "workdir", "workingdirectory", "root", "file", "files", "filename", "dir", "directory", "directories", "uri":
		return true
	}
	return strings.HasSuffix(key, "path") || strings.HasSuffix(key, "paths") || strings.HasSuffix(key, "dir")
}

// allStrings adds every string of a value.
func allStrings(value any, paths []string, depth int) ([]string, bool) {
	if depth > maxInputDepth {
		return paths, false
	}
	whole := true
	switch value := value.(type) {
	case string:
		if value != "" { // not given
			paths = append(paths, value)
		}
	case []any:
		for _, v := range value {
			var all bool
			paths, all = allStrings(v, paths, depth+1)
			whole = whole && all
		}
	case map[string]any:
		return inputPaths(value, paths, depth+1)
	}
	return paths, whole
}

// choose picks the answer among those that the agent accepts, for this one time
// where there is a choice: what it remembers it no longer asks about.
func choose(options []acp.PermissionOption, allowed bool) acp.RequestPermissionOutcome {
	kinds := []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways}
	if allowed {
		kinds = []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways}
	}
	for _, kind := range kinds {
		for _, option := range options {
			if option.Kind == kind {
				return acp.NewRequestPermissionOutcomeSelected(option.OptionId)
			}
		}
	}
	return acp.NewRequestPermissionOutcomeCancelled()
}
