package model

import (
	"encoding/json"
	"fmt"
)

// responsesDialect is OpenAI's responses.
func responsesDialect() dialect {
	return dialect{decode: decodeResponses, whole: wholeResponses, stream: streamResponses, fault: openaiFault}
}

func decodeResponses(request *Request) error {
	type item struct {
		Type      string  `json:"type"`
		Role      string  `json:"role"`
		Content   content `json:"content"`
		CallID    string  `json:"call_id"`
		Name      string  `json:"name"`
		Arguments string  `json:"arguments"`
		Input     string  `json:"input"`
		Output    content `json:"output"`
	}
	var body struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Type       string `json:"type"`
			Name       string `json:"name"`
			Parameters schema `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(request.Body, &body); err != nil {
		return fmt.Errorf("decode response: %w", err)
	}
	var items []item
	var text string
	if json.Unmarshal(body.Input, &text) == nil {
		items = []item{{Role: User, Content: content(text)}}
	} else if err := json.Unmarshal(body.Input, &items); err != nil {
		return fmt.Errorf("decode response: input: %w", err)
	}
	request.Model, request.Stream = body.Model, body.Stream
	if body.Instructions != "" {
		request.Messages = append(request.Messages, Message{Role: System, Text: body.Instructions})
	}
	for _, i := range items {
		switch i.Type {
		case "", "message":
			request.Messages = append(request.Messages, Message{Role: role(i.Role), Text: string(i.Content)})
		case "function_call", "custom_tool_call":
			// One of the two is empty.
			request.Messages = append(request.Messages, Message{Role: Assistant,
				Calls: []Call{{ID: i.CallID, Name: i.Name, Arguments: i.Arguments + i.Input}}})
		case "function_call_output", "custom_tool_call_output":
			request.Messages = append(request.Messages, Message{Role: Result, Text: string(i.Output), Of: i.CallID})
		}
	}
	for _, t := range body.Tools {
		switch t.Type {
		case "function", "custom":
			request.Tools = append(request.Tools, Tool{Name: t.Name, Parameters: t.Parameters.names(), Freeform: t.Type == "custom"})
		default:
			// One that the model's host runs, such as web_search: its type is its name.
			request.Tools = append(request.Tools, Tool{Name: t.Type})
		}
	}
	return nil
}

// responseID names an answer by its conversation, so that agents that chain
// responses can tell them apart.
func responseID(request Request) string { return fmt.Sprintf("resp_%d", len(request.Messages)) }

func responseObject(request Request, status string, output []any) fields {
	return fields{"id": responseID(request), "object": "response", "created_at": 1, "status": status,
		"model": request.Model, "output": output, "error": nil, "incomplete_details": nil}
}

func responseMessage(request Request, status string, text ...any) fields {
	return fields{"type": "message", "id": fmt.Sprintf("msg_%d", len(request.Messages)), "role": Assistant,
		"status": status, "content": append([]any{}, text...)}
}

func responseCall(request Request, call Call, status, arguments string) fields {
	tool, _ := request.Offers(call.Name)
	item := fields{"type": "function_call", "id": "fc_" + call.ID, "call_id": call.ID, "name": call.Name,
		"status": status, "arguments": arguments}
	if tool.Freeform {
		delete(item, "arguments")
		item["type"], item["id"], item["input"] = "custom_tool_call", "ctc_"+call.ID, arguments
	}
	return item
}

func responseUsage(answer Answer) fields {
	usage := answer.usage()
	return fields{
		"input_tokens": usage.Input, "input_tokens_details": fields{"cached_tokens": 0},
		"output_tokens": usage.Output, "output_tokens_details": fields{"reasoning_tokens": 0},
		"total_tokens": usage.Input + usage.Output,
	}
}

func outputText(text string) fields {
	return fields{"type": "output_text", "text": text, "annotations": []any{}}
}

func wholeResponses(request Request, answer Answer) any {
	var output []any
	if answer.hasText() {
		output = append(output, responseMessage(request, "completed", outputText(answer.Text)))
	}
	for _, call := range answer.Calls {
		output = append(output, responseCall(request, call, "completed", call.Arguments))
	}
	response := responseObject(request, "completed", output)
	response["usage"] = responseUsage(answer)
	return response
}

func streamResponses(out *stream, request Request, answer Answer) {
	number := 0
	send := func(kind string, event fields) {
		event["type"], event["sequence_number"] = kind, number
		number++
		out.send(kind, event)
	}
	send("response.created", fields{"response": responseObject(request, "in_progress", []any{})})
	var output []any
	if answer.hasText() {
		open := responseMessage(request, "in_progress")
		place := func(more fields) fields {
			more["output_index"], more["content_index"], more["item_id"] = 0, 0, open["id"]
			return more
		}
		send("response.output_item.added", fields{"output_index": 0, "item": open})
		send("response.content_part.added", place(fields{"part": outputText("")}))
		var text []byte
		for piece := range out.text(answer) {
			text = append(text, piece...)
			send("response.output_text.delta", place(fields{"delta": piece, "logprobs": []any{}}))
		}
		send("response.output_text.done", place(fields{"text": string(text), "logprobs": []any{}}))
		send("response.content_part.done", place(fields{"part": outputText(string(text))}))
		item := responseMessage(request, "completed", outputText(string(text)))
		send("response.output_item.done", fields{"output_index": 0, "item": item})
		output = append(output, item)
	}
	for _, call := range answer.Calls {
		tool, _ := request.Offers(call.Name)
		kind, whole := "response.function_call_arguments", "arguments"
		if tool.Freeform {
			kind, whole = "response.custom_tool_call_input", "input"
		}
		item := responseCall(request, call, "completed", call.Arguments)
		place := fields{"output_index": len(output), "item_id": item["id"]}
		send("response.output_item.added", fields{"output_index": len(output), "item": responseCall(request, call, "in_progress", "")})
		for _, half := range halves(call.Arguments) {
			send(kind+".delta", with(place, "delta", half))
		}
		send(kind+".done", with(place, whole, call.Arguments))
		send("response.output_item.done", fields{"output_index": len(output), "item": item})
		output = append(output, item)
	}
	response := responseObject(request, "completed", output)
	response["usage"] = responseUsage(answer)
	send("response.completed", fields{"response": response})
}

// with is a copy of the object with one field more.
func with(object fields, name string, value any) fields {
	copied := fields{name: value}
	for key, value := range object {
		copied[key] = value
	}
	return copied
}
