package model

import (
	"encoding/json"
	"fmt"
)

// chatDialect is OpenAI's chat completions.
func chatDialect() dialect {
	return dialect{decode: decodeChat, whole: wholeChat, stream: streamChat, fault: openaiFault}
}

func decodeChat(request *Request) error {
	var body struct {
		Model   string `json:"model"`
		Stream  bool   `json:"stream"`
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
			Of      string  `json:"tool_call_id"`
			Calls   []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(request.Body, &body); err != nil {
		return fmt.Errorf("decode chat completion: %w", err)
	}
	request.Model, request.Stream, request.usage = body.Model, body.Stream, body.Options.Usage
	for _, m := range body.Messages {
		message := Message{Role: role(m.Role), Text: string(m.Content), Of: m.Of}
		for _, c := range m.Calls {
			message.Calls = append(message.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		request.Messages = append(request.Messages, message)
	}
	for _, t := range body.Tools {
		request.Tools = append(request.Tools, Tool{Name: t.Function.Name, Parameters: t.Function.Parameters.names()})
	}
	return nil
}

func wholeChat(request Request, answer Answer) any {
	message := fields{"role": Assistant, "content": answer.Text}
	var calls []any
	for _, call := range answer.Calls {
		calls = append(calls, fields{"id": call.ID, "type": "function",
			"function": fields{"name": call.Name, "arguments": call.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return fields{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request.Model,
		"choices": []any{fields{"index": 0, "message": message, "finish_reason": chatReason(answer)}},
		"usage":   chatUsage(answer)}
}

func streamChat(out *stream, request Request, answer Answer) {
	chunk := func(choices ...any) fields {
		return fields{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
			"model": request.Model, "choices": choices}
	}
	delta := func(delta fields) {
		out.send("", chunk(fields{"index": 0, "delta": delta, "finish_reason": nil}))
	}
	delta(fields{"role": Assistant, "content": ""})
	for piece := range out.text(answer) {
		delta(fields{"content": piece})
	}
	for i, call := range answer.Calls {
		delta(fields{"tool_calls": []any{fields{"index": i, "id": call.ID, "type": "function",
			"function": fields{"name": call.Name, "arguments": ""}}}})
		for _, half := range halves(call.Arguments) {
			delta(fields{"tool_calls": []any{fields{"index": i, "function": fields{"arguments": half}}}})
		}
	}
	out.send("", chunk(fields{"index": 0, "delta": fields{}, "finish_reason": chatReason(answer)}))
	if request.usage {
		last := chunk()
		last["choices"], last["usage"] = []any{}, chatUsage(answer)
		out.send("", last)
	}
	if !out.failed {
		out.raw("[DONE]")
	}
}

func chatReason(answer Answer) string {
	if len(answer.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(answer Answer) fields {
	usage := answer.usage()
	return fields{"prompt_tokens": usage.Input, "completion_tokens": usage.Output,
		"total_tokens": usage.Input + usage.Output}
}
