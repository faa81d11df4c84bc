package gate

import "strings"

// toolRule checks a tool whose type passes.
type toolRule func(f *form, tool map[string]any) error

// toolNames are the names in a tool's definition that the gate reads. Another
// spelling of one is refused: a parser that takes both would see another tool.
var toolNames = []string{"type", "name", "tools", "environment", "execution", "input_schema", "allowed_callers"}

// checkTools refuses tools that run at the model's host. Their schemas are not
// looked into: they are text for the model.
func checkTools(f *form, value any) error {
	list, ok := value.([]any)
	if !ok {
		return malformed("the tools are not a list")
	}
	for _, element := range list {
		tool, ok := element.(map[string]any)
		if !ok {
			return malformed("a tool is not an object")
		}
		if err := f.checkTool(tool); err != nil {
			return err
		}
	}
	return nil
}

func (f *form) checkTool(tool map[string]any) error {
	if err := checkSpelling(tool, toolNames); err != nil {
		return err
	}
	kind, err := kindOf(tool)
	if err != nil {
		return err
	}
	rule, ok := f.tools[f.undated(kind)]
	if !ok {
		return forbidden("tools of type %.60q do not pass: only those do that run at the client", kind)
	}
	return rule(f, tool)
}

// dateDigits is the length of the date in bash_20250124.
const dateDigits = 8

// undated cuts the date off a tool's type, where the form's types have one.
func (f *form) undated(kind string) string {
	at := len(kind) - dateDigits - 1
	if !f.dated || at <= 0 || kind[at] != '_' || strings.Trim(kind[at+1:], "0123456789") != "" {
		return kind
	}
	return kind[:at]
}

// checkCallers refuses tools that code at the model's host may call.
func checkCallers(tool map[string]any) error {
	switch callers := tool["allowed_callers"].(type) {
	case nil:
		return nil
	case []any:
		for _, caller := range callers {
			if caller != "direct" {
				return forbidden("tools that code at the model's host may call do not pass")
			}
		}
		return nil
	}
	return malformed("a tool's allowed_callers are not a list")
}

// clientTool is a tool that by its type alone runs at the client.
func clientTool(_ *form, tool map[string]any) error {
	return checkCallers(tool)
}

// schemaTool is one of Anthropic's client tools. Without a type, what they are is
// told by their fields: another shape may be another tool at another maker's host.
func schemaTool(_ *form, tool map[string]any) error {
	_, named := tool["name"].(string)
	_, shaped := tool["input_schema"].(map[string]any)
	if !named || !shaped {
		return forbidden("a tool without name and input_schema does not pass")
	}
	return checkCallers(tool)
}

// localShellTool is OpenAI's shell, which runs at the host where the environment
// does not say otherwise.
func localShellTool(_ *form, tool map[string]any) error {
	environment, _ := tool["environment"].(map[string]any)
	if err := checkSpelling(environment, toolNames); err != nil {
		return err
	}
	if environment["type"] != "local" {
		return forbidden("a shell passes where its environment is of type local alone")
	}
	return checkCallers(tool)
}

// namespaceTool groups functions.
func namespaceTool(f *form, tool map[string]any) error {
	inner := form{tools: map[string]toolRule{"function": clientTool, "custom": clientTool}}
	if tool["tools"] == nil {
		return nil
	}
	return checkTools(&inner, tool["tools"])
}

// clientSearchTool lets the model ask the client for tools it was not told of yet.
func clientSearchTool(_ *form, tool map[string]any) error {
	if tool["execution"] != "client" {
		return forbidden("a tool search passes where the client executes it alone")
	}
	return checkCallers(tool)
}

// checkToolChoice lets a choice name tools that pass, and how free the model is.
func checkToolChoice(f *form, value any) error {
	choice, ok := value.(map[string]any)
	if !ok {
		if _, ok := value.(string); ok {
			return nil
		}
		return malformed("the tool_choice is neither a word nor an object")
	}
	if err := checkSpelling(choice, toolNames); err != nil {
		return err
	}
	kind, err := kindOf(choice)
	if err != nil {
		return err
	}
	switch kind {
	case "auto", "any", "none", "required", "tool", "allowed_tools":
		return nil
	}
	if _, ok := f.tools[kind]; !ok {
		return forbidden("a tool of type %.60q can not be chosen", kind)
	}
	return nil
}
