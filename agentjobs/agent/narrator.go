package agent

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"
)

// maxGroup is how much of a message without a line's end waits for one, in bytes.
const maxGroup = 4 << 10

// maxOpenTools bounds the tool calls that are kept until they end. Beyond it a call
// is told of as it begins, and not as it ends.
const maxOpenTools = 256

// narrator makes events of what the agent does.
type narrator struct {
	mu     sync.Mutex
	event  func(Event)
	tree   string
	closed bool
	group  strings.Builder // of the message: what no event told of yet
	last   strings.Builder // the last message, its first MaxMessage bytes
	begins bool            // the next piece begins a message
	id     string          // of the message, where the agent gives one
	tools  map[acp.ToolCallId]*tool
}

// tool is a tool call that has begun.
type tool struct {
	name  string   // its first title: of the tool, as a rule
	title string   // its last one: of what it did
	diffs []string // as events will tell them; once each
}

func newNarrator(tree string, event func(Event)) *narrator {
	return &narrator{event: event, tree: tree, begins: true, tools: make(map[acp.ToolCallId]*tool)}
}

// close tells of what is left. There is no event after it.
func (n *narrator) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.flush()
	n.closed = true
}

// message is the last one.
func (n *narrator) message() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.TrimSpace(clean(n.last.String(), MaxMessage))
}

// tell tells of something beside the agent's messages.
func (n *narrator) tell(kind Kind, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.interject(kind, text)
}

// interject ends the message before it tells of something else.
func (n *narrator) interject(kind Kind, text string) {
	n.flush()
	n.begins = true
	n.emit(kind, text)
}

func (n *narrator) emit(kind Kind, text string) {
	text = strings.TrimRight(strings.TrimLeft(clean(text, MaxEventText), "\n"), "\n\t ")
	if text != "" && !n.closed {
		n.event(Event{Kind: kind, Text: text})
	}
}

// update tells of an update of the session. The agent's thoughts are not told:
// they are long, not meant for readers, and no result; but they end a message.
func (n *narrator) update(u acp.SessionUpdate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case u.AgentMessageChunk != nil:
		if id := u.AgentMessageChunk.MessageId; id != nil && *id != n.id {
			n.flush()
			n.begins, n.id = true, *id
		}
		if text := u.AgentMessageChunk.Content.Text; text != nil {
			n.say(text.Text)
		}
	case u.AgentThoughtChunk != nil:
		n.flush()
		n.begins = true
	case u.ToolCall != nil:
		n.toolBegins(u.ToolCall)
	case u.ToolCallUpdate != nil:
		n.toolGoesOn(u.ToolCallUpdate)
	case u.Plan != nil:
		n.plan(u.Plan.Entries)
	}
}

// say joins the pieces of a message: models give out a few letters at a time. An
// event has whole lines, or maxGroup bytes where lines are longer.
func (n *narrator) say(piece string) {
	if n.begins && strings.TrimSpace(piece) != "" {
		n.begins = false
		n.last.Reset()
	}
	if room := MaxMessage + len(cut) - n.last.Len(); room > 0 {
		n.last.WriteString(piece[:min(len(piece), room)])
	}
	for piece != "" {
		fits := min(len(piece), maxGroup-n.group.Len())
		for fits < len(piece) && fits > 0 && !utf8.RuneStart(piece[fits]) {
			fits--
		}
		// Up to the last line's end, not the first: pieces are larger than lines where
		// an agent does not stream.
		end := strings.LastIndexByte(piece[:fits], '\n') + 1
		if end == 0 {
			end = fits
		}
		n.group.WriteString(piece[:end])
		if piece = piece[end:]; piece != "" || n.group.Len() >= maxGroup || strings.HasSuffix(n.group.String(), "\n") {
			n.flush()
		}
	}
}

func (n *narrator) flush() {
	if n.group.Len() > 0 {
		n.emit(KindMessage, n.group.String())
		n.group.Reset()
	}
}

func (n *narrator) toolBegins(call *acp.SessionUpdateToolCall) {
	t := n.tools[call.ToolCallId]
	if t == nil {
		t = &tool{}
		if len(n.tools) < maxOpenTools {
			n.tools[call.ToolCallId] = t
		}
	}
	t.name = n.short(call.Title)
	t.title = t.name
	text := t.name
	if call.Kind != "" {
		text += " (" + cleanLine(string(call.Kind), 50) + ")"
	}
	for _, location := range call.Locations[:min(len(call.Locations), 5)] {
		text += " " + n.short(location.Path)
	}
	n.interject(KindTool, text)
	t.take(n, call.Content)
	n.toolEnds(call.ToolCallId, t, call.Status)
}

func (n *narrator) toolGoesOn(call *acp.SessionToolCallUpdate) {
	t := n.tools[call.ToolCallId]
	if t == nil {
		return // beyond the bound, or ended
	}
	if call.Title != nil && *call.Title != "" {
		t.title = n.short(*call.Title)
	}
	t.take(n, call.Content)
	if call.Status != nil {
		n.toolEnds(call.ToolCallId, t, *call.Status)
	}
}

// take keeps the diffs of a tool call. An update's content replaces what was there
// before.
func (t *tool) take(n *narrator, content []acp.ToolCallContent) {
	if len(content) == 0 {
		return
	}
	t.diffs = nil
	for _, c := range content {
		if c.Diff != nil && len(t.diffs) < maxDiffs {
			t.diffs = append(t.diffs, describe(n.short(c.Diff.Path), c.Diff.OldText, c.Diff.NewText))
		}
	}
}

func (n *narrator) toolEnds(id acp.ToolCallId, t *tool, status acp.ToolCallStatus) {
	if status != acp.ToolCallStatusCompleted && status != acp.ToolCallStatusFailed {
		return
	}
	delete(n.tools, id)
	text := t.name
	if t.title != t.name {
		text += " " + t.title
	}
	n.interject(KindTool, text+": "+string(status))
	if status == acp.ToolCallStatusCompleted {
		for _, diff := range t.diffs {
			n.emit(KindDiff, diff)
		}
	}
}

func (n *narrator) plan(entries []acp.PlanEntry) {
	var text strings.Builder
	text.WriteString("plan:")
	for _, entry := range entries[:min(len(entries), 50)] {
		fmt.Fprintf(&text, "\n- %s: %s", cleanLine(string(entry.Status), 20), cleanLine(entry.Content, 200))
	}
	n.interject(KindStatus, text.String())
}

// permission tells that the agent asked whether it may, and the answer. reason is
// why it may not, "" where it may.
func (n *narrator) permission(call acp.ToolCallUpdate, reason string) {
	title := "a tool"
	if call.Title != nil && *call.Title != "" {
		title = n.short(*call.Title)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if reason == "" {
		n.interject(KindTool, "allowed: "+title)
		return
	}
	n.interject(KindTool, "not allowed: "+title+": "+reason)
}

// short is a title or a path on one line, with the tree's files named as in the
// repository. opencode leaves out the first slash where it finds no repository.
func (n *narrator) short(text string) string {
	tree := strings.TrimSuffix(n.tree, "/") + "/"
	text = strings.TrimPrefix(shorten(text, 4<<10), tree[1:])
	return cleanLine(strings.ReplaceAll(text, tree, ""), 200)
}
