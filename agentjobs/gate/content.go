package gate

import (
	"slices"
	"strings"
)

// maxDepth bounds how deep content is nested. A result in a message in a list is
// four deep.
const maxDepth = 32

// contentNames are the names in content that the gate reads.
var contentNames = []string{"type", "role", "tools", "data", "file_data", "source", "input", "arguments"}

// refusedNames refer to what lies stored at the model's host, or to what runs
// there. They are written folded.
var refusedNames = []string{
	"fileid", "fileids", "container", "containerid", "vectorstoreids",
	"connectorid", "serverlabel", "mcpservername", "tunnelid",
}

// textNames are the names of text: it reaches the model as it is, and a URL that
// begins it is only read.
var textNames = []string{
	"text", "content", "output", "arguments", "input", "title", "context", "name", "filename",
	"thinking", "reasoning", "reasoning_content", "reasoning_text", "refusal", "summary",
	"messages", "system", "cited_text",
}

// opaque are fields that hold what a client's tool was asked or answered, by the
// type of what they are in. Their inner names are the tool's own. A field without
// a type is opaque everywhere.
var opaque = map[string][]string{
	"tool_use":          {"input"},
	"function":          {"function", "arguments"},
	"function_call":     {"arguments"},
	"tool_search_call":  {"arguments"},
	"local_shell_call":  {"action"},
	"shell_call":        {"action"},
	"shell_call_output": {"output"},
	"apply_patch_call":  {"operation"},
	"":                  {"cache_control", "metadata", "logprobs", "reasoning_details", "document_metadata"},
}

// checkContent walks messages and their parts. It refuses types that are not
// listed, URLs that the host would fetch, and references to what lies there.
func checkContent(f *form, value any) error {
	return f.walk("", "messages", value, 0)
}

// checkInput is checkContent for the input of responses. There, an object that has
// neither type nor role refers to an item that the host stores.
func checkInput(f *form, value any) error {
	items, ok := value.([]any)
	if !ok {
		if _, ok := value.(string); ok {
			return nil
		}
		return malformed("the input is neither text nor a list")
	}
	for _, element := range items {
		item, ok := element.(map[string]any)
		if !ok {
			return malformed("an item of the input is not an object")
		}
		_, spoken := item["role"].(string)
		if kind, err := kindOf(item); err == nil && kind == "" && !spoken {
			return forbidden("an item of the input without type and role refers to another conversation")
		}
	}
	return checkContent(f, value)
}

// walk checks the value of a name in an object of a type.
func (f *form) walk(kind, name string, value any, depth int) error {
	if depth > maxDepth {
		return malformed("the content is nested more than %d deep", maxDepth)
	}
	switch value := value.(type) {
	case string:
		return checkText(kind, name, value)
	case []any:
		for _, element := range value {
			if err := f.walk(kind, name, element, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		return f.walkObject(value, depth)
	}
	return nil
}

func (f *form) walkObject(object map[string]any, depth int) error {
	if err := checkSpelling(object, contentNames); err != nil {
		return err
	}
	kind, err := kindOf(object)
	if err != nil {
		return err
	}
	if kind != "" && !slices.Contains(f.kinds, kind) {
		return forbidden("content of type %.60q does not pass", kind)
	}
	for name, value := range object {
		if value == nil || slices.Contains(opaque[""], name) || slices.Contains(opaque[kind], name) {
			continue
		}
		if slices.Contains(refusedNames, fold(name)) {
			return forbidden("%q refers to what lies at the model's host", name)
		}
		if name == "tools" {
			err = checkTools(f, value)
		} else {
			err = f.walk(kind, name, value, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkText refuses a URL that the host would fetch. By name where the name says
// that it is one; by its looks elsewhere, since makers have names of their own.
func checkText(kind, name, text string) error {
	if strings.HasPrefix(text, "data:") {
		return nil
	}
	switch {
	case namesURL(name):
		return forbidden("%q is a URL that the model's host would fetch; a data: URL passes", name)
	case name == "data" && kind == "text":
		// A document that is text.
	case name == "file_data", name == "data":
		// Base64 has no colon; some makers also take a URL here.
		if strings.Contains(text, ":") {
			return forbidden("%q holds more than data", name)
		}
	case name == "source" && strings.HasPrefix(kind, "search_result"):
		// A label that is cited, not fetched.
	case !slices.Contains(textNames, name) && strings.Contains(text, "://"):
		return forbidden("%q holds a URL that the model's host may fetch", name)
	}
	return nil
}

func namesURL(name string) bool {
	folded := strings.TrimSuffix(fold(name), "s")
	return strings.HasSuffix(folded, "url") || strings.HasSuffix(folded, "uri")
}

// kindOf is the type of an object, empty where it has none.
func kindOf(object map[string]any) (string, error) {
	switch kind := object["type"].(type) {
	case nil:
		return "", nil
	case string:
		if kind == "" {
			return "", malformed("a type is empty")
		}
		return kind, nil
	}
	return "", malformed("a type is not a word")
}

// checkSpelling refuses names that a lenient parser takes for one of those.
func checkSpelling(object map[string]any, names []string) error {
	for name := range object {
		if slices.Contains(names, name) {
			continue
		}
		folded := fold(name)
		if slices.ContainsFunc(names, func(known string) bool { return fold(known) == folded }) {
			return malformed("the name %.60q is not spelled as the API spells it", name)
		}
	}
	return nil
}
