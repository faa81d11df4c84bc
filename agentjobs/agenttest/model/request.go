package model

import (
	"net/http"
	"strings"
)

// API is the way in which a request asks the model. Its value is the path.
type API string

// The APIs that the server speaks.
const (
	Chat      API = "/v1/chat/completions"
	Responses API = "/v1/responses"
	Messages  API = "/v1/messages"
)

// Roles of messages. OpenAI's "developer" is read as System.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	Result    = "tool" // what came of a call
)

// Request is one call that arrived at the server. Of those to other paths than an
// API's, and of those that do not decode, only Method, Path, Header and Body are
// set.
type Request struct {
	Method string
	Path   string // with the query, if there is one
	Header http.Header
	Body   []byte

	API      API
	Model    string
	Stream   bool
	Messages []Message
	Tools    []Tool

	usage bool // a chat stream asks for its usage
}

// Message is one turn of a conversation.
type Message struct {
	Role  string
	Text  string // the text parts, joined by newlines
	Calls []Call // those that an Assistant message makes
	Of    string // the ID of the call that a Result belongs to
}

// Call is a tool that the model wants run.
type Call struct {
	ID        string // made up by the server where a script leaves it empty
	Name      string
	Arguments string // JSON; free text where the tool is Freeform
}

// Tool is one that the agent offers.
type Tool struct {
	Name       string
	Parameters []string // the names of its arguments, sorted
	Freeform   bool     // takes one text instead of arguments (responses' "custom" tools)
}

// Key is the key that came with the request: the bearer token, or the header
// x-api-key. It is empty where none came.
func (r Request) Key() string {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	return r.Header.Get("X-Api-Key")
}

// Offers tells whether the request offers a tool of this name, and gives it.
func (r Request) Offers(name string) (Tool, bool) {
	for _, tool := range r.Tools {
		if tool.Name == name {
			return tool, true
		}
	}
	return Tool{}, false
}

// Prompt is the text of the last user message, and what came after it: the
// model's own turns and the results of its calls.
func (r Request) Prompt() (text string, after []Message) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == User {
			return r.Messages[i].Text, r.Messages[i+1:]
		}
	}
	return "", r.Messages
}
