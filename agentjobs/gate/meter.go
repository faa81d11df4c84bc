package gate

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// bytesPerToken is the usual estimate for English text
	// (help.openai.com, "What are tokens and how to count them?": about 4 characters).
	bytesPerToken = 4
	// maxReportBytes bounds what is kept of a response to read its report. The last
	// event of a response repeats all of its text.
	maxReportBytes = 8 << 20
	// maxTokens bounds what one report can say.
	maxTokens = 1 << 40
)

// tokens is what a request cost.
type tokens struct {
	input, output int64
	estimated     bool
}

// meter reads the tokens of one response from what passes by. Reports in a stream
// are running totals. The text after the last one is estimated, so an agent that
// hangs up early does not read for nothing.
type meter struct {
	stream    bool
	anthropic bool
	request   int64

	reported tokens
	seen     bool
	// unreported counts bytes of text since the last report.
	unreported int64
	// kept is the line, or the body, that is being received.
	kept []byte
	// skip says that kept outgrew its bound and is ignored to its end.
	skip bool
}

func (m *meter) write(chunk []byte) {
	if !m.stream {
		m.unreported += int64(len(chunk))
		m.keep(chunk)
		return
	}
	for {
		line, rest, ended := bytes.Cut(chunk, []byte("\n"))
		m.keep(line)
		if !ended {
			return
		}
		m.line()
		chunk = rest
	}
}

func (m *meter) keep(chunk []byte) {
	if m.skip || len(m.kept)+len(chunk) > maxReportBytes {
		m.skip, m.kept = true, nil
		return
	}
	m.kept = append(m.kept, chunk...)
}

// line reads one line of a stream of events. An event's data is one line in both
// APIs, and an object but for the [DONE] at the end.
func (m *meter) line() {
	if data, ok := bytes.CutPrefix(m.kept, []byte("data:")); ok && !m.skip && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		m.read(data)
	}
	m.kept, m.skip = m.kept[:0], false
}

// total closes the account.
func (m *meter) total() tokens {
	if !m.stream && !m.skip {
		m.read(m.kept)
	}
	total := m.reported
	total.output += estimate(m.unreported)
	total.estimated = m.unreported > 0
	if !m.seen {
		total.input = estimate(m.request)
		total.estimated = true
	}
	return total
}

func estimate(bytes int64) int64 { return (bytes + bytesPerToken - 1) / bytesPerToken }

// usage is a report in either API's words.
type usage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
}

type usageHolder struct {
	Usage *usage `json:"usage"`
}

// read looks for a report and for text in a body or in one event.
func (m *meter) read(data []byte) {
	var event struct {
		usageHolder
		// Message is Anthropic's, at the start of a stream.
		Message usageHolder `json:"message"`
		// Response is that of OpenAI's events about a whole response.
		Response usageHolder `json:"response"`
		Delta    any         `json:"delta"`
		Choices  []struct {
			Delta any `json:"delta"`
		} `json:"choices"`
	}
	// What can not be read is estimated.
	if err := json.Unmarshal(data, &event, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		if m.stream {
			m.unreported += int64(len(data))
		}
		return
	}
	if m.stream {
		m.unreported += textBytes(event.Delta)
		for _, choice := range event.Choices {
			m.unreported += textBytes(choice.Delta)
		}
	}
	for _, report := range []*usage{event.Usage, event.Message.Usage, event.Response.Usage} {
		if report != nil {
			m.report(*report)
		}
	}
}

func (m *meter) report(u usage) {
	input := max(u.Prompt, u.Input)
	if m.anthropic {
		// Anthropic counts what it read from its cache, or wrote there, apart.
		input = bounded(u.Input) + bounded(u.CacheCreation) + bounded(u.CacheRead)
	}
	m.seen = true
	m.unreported = 0
	m.reported.input = max(m.reported.input, bounded(input))
	m.reported.output = max(m.reported.output, bounded(max(u.Completion, u.Output)))
}

func bounded(count int64) int64 { return min(max(count, 0), maxTokens) }

// textBytes is the length of all text in a value.
func textBytes(value any) int64 {
	switch value := value.(type) {
	case string:
		return int64(len(value))
	case []any:
		var sum int64
		for _, element := range value {
			sum += textBytes(element)
		}
		return sum
	case map[string]any:
		var sum int64
		for _, element := range value {
			sum += textBytes(element)
		}
		return sum
	}
	return 0
}
