package model

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"
)

// Editor is the script that does what the prompt says. Each line of the last user
// message that begins with one of these verbs becomes a call of one of the agent's
// own tools, all of them in one answer:
//
//	edit PATH TEXT    the file holds TEXT and a newline, and nothing else
//	read PATH         the file is read
//	run COMMAND       a shell runs the command
//
// Once the results are in, the answer is "done", with the beginning of each of
// them. A prompt with no such line is answered with "nothing to do", and a request
// that offers no tools with "A title": agents ask for one beside the work.
//
// It knows the tools of opencode (write, read, bash) and of codex
// (exec_command, shell_command, shell). Where an agent has no tool for a verb, its
// shell does it; where it has no shell either, the answer says so.
func Editor(request Request) Answer {
	if len(request.Tools) == 0 {
		return Answer{Text: "A title"}
	}
	prompt, after := request.Prompt()
	var results []string
	for _, message := range after {
		if message.Role == Result {
			results = append(results, head(message.Text))
		}
	}
	if results != nil {
		return Answer{Text: "done: " + strings.Join(results, "; ")}
	}
	var answer Answer
	for line := range strings.Lines(prompt) {
		verb, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		first, text, _ := strings.Cut(rest, " ")
		var call Call
		var known bool
		switch verb {
		case "edit":
			call, known = edit(request, first, text+"\n")
		case "read":
			call, known = read(request, first)
		case "run":
			call, known = run(request, rest)
		default:
			continue
		}
		if !known {
			return Answer{Text: "no tool to " + verb}
		}
		answer.Calls = append(answer.Calls, call)
	}
	if answer.Calls == nil {
		answer.Text = "nothing to do"
	}
	return answer
}

func edit(request Request, file, text string) (Call, bool) {
	if _, ok := request.Offers("write"); ok {
		return call("write", fields{"filePath": file, "content": text}), true
	}
	return run(request, "mkdir -p "+quote(path.Dir(file))+" && printf %s "+quote(text)+" > "+quote(file))
}

func read(request Request, file string) (Call, bool) {
	if _, ok := request.Offers("read"); ok {
		return call("read", fields{"filePath": file}), true
	}
	return run(request, "cat "+quote(file))
}

// run asks for the first shell there is. They differ in the name of the command,
// and in whether it is a text or a list.
func run(request Request, command string) (Call, bool) {
	for _, shell := range []struct {
		tool      string
		arguments fields
	}{
		{"bash", fields{"command": command, "description": "do what the prompt says"}},
		{"exec_command", fields{"cmd": command}},
		{"shell_command", fields{"command": command}},
		{"shell", fields{"command": []string{"bash", "-c", command}}},
	} {
		if _, ok := request.Offers(shell.tool); ok {
			return call(shell.tool, shell.arguments), true
		}
	}
	return Call{}, false
}

func call(name string, arguments fields) Call {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // strings alone: a mistake in this package
	}
	return Call{Name: name, Arguments: string(text)}
}

// quote makes one word of a text for a POSIX shell.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// head is the beginning of a result, on one line.
func head(text string) string {
	const limit = 200
	if len(text) > limit {
		text = text[:limit]
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(text, ""))
}
