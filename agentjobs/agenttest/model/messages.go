package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// messagesDialect is Anthropic's messages.
func messagesDialect() dialect {
	return dialect{decode: decodeMessages, whole: wholeMessages, stream: streamMessages, fault: anthropicFault}
}

func decodeMessages(request *Request) error {
	var body struct {
		Model    string  `json:"model"`
		Stream   bool    `json:"stream"`
		System   content `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(request.Body, &body); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	request.Model, request.Stream = body.Model, body.Stream
	if body.System != "" {
		request.Messages = append(request.Messages, Message{Role: System, Text: string(body.System)})
	}
	for _, m := range body.Messages {
		messages, err := decodeBlocks(m.Role, m.Content)
		if err != nil {
			return fmt.Errorf("decode message: %w", err)
		}
		request.Messages = append(request.Messages, messages...)
	}
	for _, t := range body.Tools {
		request.Tools = append(request.Tools, Tool{Name: t.Name, Parameters: t.Schema.names()})
	}
	return nil
}

// decodeBlocks splits a message by its blocks: results of calls come as blocks of
// the user's, and are messages of their own here, before what the user says.
func decodeBlocks(role string, data json.RawMessage) ([]Message, error) {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return []Message{{Role: role, Text: text}}, nil
	}
	var blocks []struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		ID      string          `json:"id"`
		Name    string          `json:"name"`
		Input   json.RawMessage `json:"input"`
		Of      string          `json:"tool_use_id"`
		Content content         `json:"content"`
	}
	if err := json.Unmarshal(data, &blocks); err != nil {
		return nil, err
	}
	var results []Message
	var texts []string
	said := Message{Role: role}
	for _, block := range blocks {
		switch block.Type {
		case "text":
			texts = append(texts, block.Text)
		case "tool_use":
			said.Calls = append(said.Calls, Call{ID: block.ID, Name: block.Name, Arguments: string(block.Input)})
		case "tool_result":
			results = append(results, Message{Role: Result, Text: string(block.Content), Of: block.Of})
		}
	}
	if len(texts) == 0 && len(said.Calls) == 0 {
		return results, nil
	}
	said.Text = strings.Join(texts, "\n")
	return append(results, said), nil
}

func messageObject(request Request, answer Answer, blocks []any, reason any) fields {
	usage := answer.usage()
	return fields{"id": "msg_1", "type": "message", "role": Assistant, "model": request.Model, "content": blocks,
		"stop_reason": reason, "stop_sequence": nil,
		"usage": fields{"input_tokens": usage.Input, "output_tokens": usage.Output}}
}

func messageReason(answer Answer) string {
	if len(answer.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func wholeMessages(request Request, answer Answer) any {
	var blocks []any
	if answer.hasText() {
		blocks = append(blocks, fields{"type": "text", "text": answer.Text})
	}
	for _, call := range answer.Calls {
		blocks = append(blocks, fields{"type": "tool_use", "id": call.ID, "name": call.Name,
			"input": json.RawMessage(call.Arguments)})
	}
	return messageObject(request, answer, blocks, messageReason(answer))
}

func streamMessages(out *stream, request Request, answer Answer) {
	send := func(kind string, event fields) {
		event["type"] = kind
		out.send(kind, event)
	}
	index := 0
	begin := func(block fields) { send("content_block_start", fields{"index": index, "content_block": block}) }
	delta := func(delta fields) { send("content_block_delta", fields{"index": index, "delta": delta}) }
	end := func() {
		send("content_block_stop", fields{"index": index})
		index++
	}
	send("message_start", fields{"message": messageObject(request, answer, []any{}, nil)})
	if answer.hasText() {
		begin(fields{"type": "text", "text": ""})
		for piece := range out.text(answer) {
			delta(fields{"type": "text_delta", "text": piece})
		}
		end()
	}
	for _, call := range answer.Calls {
		begin(fields{"type": "tool_use", "id": call.ID, "name": call.Name, "input": fields{}})
		for _, half := range halves(call.Arguments) {
			delta(fields{"type": "input_json_delta", "partial_json": half})
		}
		end()
	}
	send("message_delta", fields{
		"delta": fields{"stop_reason": messageReason(answer), "stop_sequence": nil},
		"usage": fields{"output_tokens": answer.usage().Output}})
	send("message_stop", fields{})
}

// anthropicFault is an error as Anthropic writes it.
func anthropicFault(status int, message string) any {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		kind = "api_error"
	}
	return fields{"type": "error", "error": fields{"type": kind, "message": message}}
}
