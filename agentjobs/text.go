package agentjobs

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"footfall/internal/database"
)

// title is the first line of a prompt with anything on it, as far as it fits into
// the list of commits or of pull requests.
func title(prompt string) string {
	const most = 72
	for line := range strings.Lines(prompt) {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }), " ")
		if line == "" {
			continue
		}
		if runes := []rune(line); len(runes) > most {
			return string(runes[:most-1]) + "…"
		}
		return line
	}
	return "Change the documentation" // Nothing of the prompt can be printed.
}

func commitMessage(prompt string, id database.JobID) string {
	return fmt.Sprintf("%s\n\nFootfall-Job: %s\n", title(prompt), uuid.UUID(id))
}

// clip is the beginning of a text, of at most some bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// quote is a text in a block of Markdown in which nothing has a meaning: no
// mention, no link, no command of the forge. A carriage return ends a line there too
// (CommonMark 0.31 section 2.1). What can not be printed, such as marks that turn
// the direction of writing, goes.
func quote(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// firstPrompt is what the job began with.
func (t *task) firstPrompt() string {
	first := t.prompt
	// An error leaves the prompt of this run, which is a title as well.
	_ = t.js.messages(t.project, t.id, 0, func(m message) error { first = m.Prompt; return errEnough })
	return first
}

// description is the text of a pull request.
func (t *task) description() string {
	return fmt.Sprintf("Made by an agent job of Footfall, %s, as asked:\n\n%s\n", uuid.UUID(t.id), quote(clip(t.firstPrompt(), 8<<10)))
}

// instructions is what the agent is told: the prompt, and in a new session what the
// agent could not know.
func (t *task) instructions() string {
	if t.job.Session != "" {
		// A session remembers edits that a failed run, or a pull request that was closed,
		// left behind.
		return fmt.Sprintf("The files are now those of commit %s. What you changed before is in them only as far as that commit has it.\n\n%s", t.start, t.prompt)
	}
	return t.preamble() + "\n" + t.prompt
}

func (t *task) preamble() string {
	where := "any file"
	if t.settings.DocsPath != "" {
		where = "only files in " + t.settings.DocsPath
	}
	return "You are in a copy of a documentation repository. Change " + where + ", and no definitions of CI. " +
		"Do not use git and do not ask questions: what you change is committed for you, and reviewed in a pull request.\n"
}

// summary is what went before, for an agent that cannot go on with its session: the
// messages that had a run, and what it said last. What was discarded it never saw.
func (t *task) summary() string {
	if t.job.Session == "" {
		return ""
	}
	var text strings.Builder
	text.WriteString(t.preamble() + "You worked on this before. What was committed is in the files. You were asked:\n")
	number := uint32(0)
	// What can not be read is left out; the message itself was read.
	_ = t.js.messages(t.project, t.id, 0, func(m message) error {
		if number++; number > t.job.Next || text.Len() > 16<<10 {
			return errEnough
		}
		if m.Ran {
			fmt.Fprintf(&text, "- %s\n", clip(m.Prompt, 2<<10))
		}
		return nil
	})
	if t.job.Answer != "" {
		fmt.Fprintf(&text, "You said last: %s\n", clip(t.job.Answer, 4<<10))
	}
	return text.String()
}
