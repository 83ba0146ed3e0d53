package llm

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"dragoman/core"
)

// The answer of a chat completions service. Fields for which some services use another
// form than OpenAI have a type that accepts both.

// wireChunk is one event of a stream, or a whole answer.
type wireChunk struct {
	Choices []wireChoice    `json:"choices"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type wireChoice struct {
	Index        int          `json:"index"`
	Delta        wireMessage  `json:"delta"`
	Message      *wireMessage `json:"message"`
	FinishReason string       `json:"finish_reason"`
}

type wireMessage struct {
	Content          wireContent    `json:"content"`
	Reasoning        string         `json:"reasoning"`         // OpenRouter, Groq, Ollama, vLLM
	ReasoningContent string         `json:"reasoning_content"` // DeepSeek and compatible services
	Refusal          string         `json:"refusal"`
	ToolCalls        []wireToolCall `json:"tool_calls"`
}

type wireToolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string   `json:"name"`
		Arguments wireArgs `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

// wireContent is a text, or Mistral's list of parts.
type wireContent struct{ text, thought string }

func (c *wireContent) UnmarshalJSON(b []byte) error {
	if s, ok := plainString(b); ok {
		c.text = s
		return nil
	}
	if b[0] != '[' {
		return json.Unmarshal(b, &c.text)
	}
	var parts []struct {
		Text     string `json:"text"`
		Thinking []struct {
			Text string `json:"text"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += p.Text
		for _, t := range p.Thinking {
			c.thought += t.Text
		}
	}
	return nil
}

// wireArgs is a piece of JSON in a string, or the JSON itself.
type wireArgs string

func (a *wireArgs) UnmarshalJSON(b []byte) error {
	s, ok := plainString(b)
	switch {
	case ok:
		*a = wireArgs(s)
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(a))
	case string(b) != "null":
		*a = wireArgs(b)
	}
	return nil
}

// plainString reads a JSON string without escapes, which most pieces are. A decoder
// for each of them would cost more than everything else.
func plainString(b []byte) (string, bool) {
	if len(b) < 2 || b[0] != '"' || bytes.IndexByte(b, '\\') >= 0 || !utf8.Valid(b) {
		return "", false
	}
	return string(b[1 : len(b)-1]), true
}

type wireUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	PromptDetails    struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit int      `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cost     *float64 `json:"cost"`                    // OpenRouter, in dollars
}

// counts reports whether u has any numbers: some services send zeros until the end.
func (u *wireUsage) counts() bool { return u.PromptTokens > 0 || u.CompletionTokens > 0 }

func (u *wireUsage) core() core.Usage {
	return core.Usage{
		In: u.PromptTokens, Out: u.CompletionTokens, CacheRead: max(u.PromptDetails.Cached, u.CacheHit),
		CacheWrite: u.PromptDetails.CacheWrite, Reasoning: u.CompletionDetails.Reasoning, Cost: u.Cost,
	}
}

// sealedData is data that a model of this kind expects back. It is stored in the
// session with a thought, and sent only to the model Of.
type sealedData struct {
	Of    string       `json:"of"`
	Field string       `json:"field,omitempty"` // of the message, in which the thought arrived and is sent back
	Calls []sealedCall `json:"calls,omitempty"`

	Signature string          `json:"signature,omitempty"` // Anthropic: of the thought
	Redacted  string          `json:"redacted,omitempty"`  // Anthropic: in its place
	Item      json.RawMessage `json:"item,omitempty"`      // OpenAI's responses: its item
}

// sealedCall is the sealed data of one call, by its index in the answer.
type sealedCall struct {
	Call  int             `json:"call"`
	Extra json.RawMessage `json:"extra_content"`
}

func (s sealedData) encode() json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		return nil // impossible: the parts were JSON
	}
	return b
}

// reported reports whether an error field is set.
func reported(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) && !bytes.Equal(raw, []byte("{}")) &&
		!bytes.Equal(raw, []byte(`""`))
}
