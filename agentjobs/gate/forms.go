package gate

// chatForm is OpenAI's chat completions, which most other makers' servers speak
// as well.
var chatForm = form{
	plain: []string{
		"stream", "stream_options", "n", "stop", "seed", "user",
		"max_tokens", "max_completion_tokens",
		"temperature", "top_p", "top_k", "min_p", "top_a", "typical_p",
		"frequency_penalty", "presence_penalty", "repetition_penalty",
		"logit_bias", "logprobs", "top_logprobs",
		"response_format", "reasoning_effort", "reasoning", "reasoning_format", "include_reasoning",
		"reasoning_summary", "thinking", "enable_thinking", "thinking_budget", "chat_template_kwargs",
		"parallel_tool_calls", "tool_stream", "functions", "function_call",
		"metadata", "safety_identifier", "service_tier", "store", "usage", "verbosity",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "cache_control", "session_id",
	},
	rules: map[string]rule{
		"messages":    checkContent,
		"prediction":  checkContent,
		"tools":       checkTools,
		"tool_choice": checkToolChoice,
	},
	tools: map[string]toolRule{
		"function": clientTool,
		"custom":   clientTool,
	},
	kinds: []string{
		"text", "refusal", "content", "thinking", "redacted_thinking", "reasoning",
		"image_url", "video_url", "input_audio", "file",
		"function", "custom",
	},
}

// responsesForm is OpenAI's responses. Codex speaks nothing else.
var responsesForm = form{
	plain: []string{
		"stream", "stream_options", "user", "truncation", "context_management",
		"max_output_tokens", "max_tool_calls",
		"temperature", "top_p", "top_logprobs",
		"text", "reasoning", "include", "parallel_tool_calls", "instructions",
		"metadata", "client_metadata", "safety_identifier", "service_tier", "store",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	},
	rules: map[string]rule{
		"input":       checkInput,
		"tools":       checkTools,
		"tool_choice": checkToolChoice,
	},
	tools: map[string]toolRule{
		"function":    clientTool,
		"custom":      clientTool,
		"local_shell": clientTool,
		"apply_patch": clientTool,
		"shell":       localShellTool,
		"namespace":   namespaceTool,
		"tool_search": clientSearchTool,
	},
	kinds: []string{
		"message", "reasoning", "agent_message",
		"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
		"local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output",
		"apply_patch_call", "apply_patch_call_output",
		"tool_search_call", "tool_search_output", "additional_tools",
		"compaction", "compaction_summary", "context_compaction", "compaction_trigger",
		"text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text", "encrypted_content",
		"input_image", "input_file", "input_audio",
		"direct", "local",
	},
}

// messagesForm is Anthropic's messages, and the counting of their tokens.
var messagesForm = form{
	plain: []string{
		"stream", "max_tokens", "stop_sequences",
		"temperature", "top_p", "top_k",
		"thinking", "output_config", "output_format", "context_management", "cache_control",
		"metadata", "service_tier",
	},
	rules: map[string]rule{
		"messages":    checkContent,
		"system":      checkContent,
		"tools":       checkTools,
		"tool_choice": checkToolChoice,
	},
	tools: map[string]toolRule{
		// A tool of the client's own has no type.
		"":            schemaTool,
		"custom":      schemaTool,
		"bash":        clientTool,
		"text_editor": clientTool,
		"memory":      clientTool,
	},
	dated: true,
	kinds: []string{
		"text", "thinking", "redacted_thinking", "compaction", "mid_conv_system",
		"image", "document", "search_result",
		"tool_use", "tool_result", "tool_reference",
		// Sources of images and documents; url and file are the others.
		"base64", "content",
		"char_location", "page_location", "content_block_location", "search_result_location",
		"direct",
	},
}
