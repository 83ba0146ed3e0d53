package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/inference"
)

// The request to a chat completions service. The order of the fields keeps the
// beginning of successive requests of a session equal: tools and messages first, in
// their original order.

type sentHead struct {
	Model string     `json:"model"`
	Tools []sentTool `json:"tools,omitempty"`
}

// The messages come between the two.

type sentTail struct {
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type sentTool struct {
	Type     string       `json:"type"`
	Function sentFunction `json:"function"`
}

type sentFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type sentMessage struct {
	Role             string     `json:"role"`
	Content          any        `json:"content,omitempty"` // string or []sentPart
	Reasoning        string     `json:"reasoning,omitempty"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []sentCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

type sentPart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text,omitempty"`
	ImageURL *sentImage `json:"image_url,omitempty"`
}

type sentImage struct {
	URL  string `json:"url"`
	data []byte // that the mark at the URL's end stands for; nil: there is none
}

type sentCall struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Function     sentCallee      `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
}

type sentCallee struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (w chatWire) encode(m *remote, r *inference.Request) (payload, error) {
	q := m.quirks()
	tail := sentTail{Stream: true, MaxTokens: r.MaxOut}
	if m.takes(traitEffort) {
		tail.ReasoningEffort = r.Effort
	}
	if q.completionLimit || !m.takes(traitMaxTokens) {
		tail.MaxTokens, tail.MaxCompletionTokens = 0, r.MaxOut
	}
	if q.cacheKey && r.Session != "" {
		tail.PromptCacheKey = cacheKey(r.Session)
	}
	if !q.noStreamOptions && m.takes(traitStreamOptions) {
		tail.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	head, err := m.p.heads.of(m.model, r.Tools, func() any { return sentHead{Model: m.model, Tools: m.tools(r.Tools)} })
	if err != nil {
		return payload{}, err
	}
	var first []any
	if r.System != "" {
		first = []any{sentMessage{Role: "system", Content: r.System}}
	}
	return m.body(r, w, head, tail, "messages", first)
}

// elements implements stretch. Pictures in tool results follow the last of them.
func (chatWire) elements(m *remote, messages []inference.Message) (list []any, shown pictures) {
	var sent []sentMessage
	var later []sentPart
	flush := func() {
		if later != nil {
			sent = append(sent, sentMessage{Role: "user", Content: later})
			later = nil
		}
	}
	for i := range messages {
		msg := &messages[i]
		if msg.Role != inference.RoleTool {
			flush()
		}
		switch msg.Role {
		case inference.RoleUser:
			content, more := userContent(msg.Blocks)
			shown.add(more)
			sent = append(sent, sentMessage{Role: "user", Content: content})
		case inference.RoleAssistant:
			if a, ok := m.assistant(msg); ok {
				sent = append(sent, a)
			}
		case inference.RoleTool:
			answer, images, more := toolContent(&msg.Result)
			shown.add(more)
			later = append(later, images...)
			sent = append(sent, sentMessage{Role: "tool", ToolCallID: string(msg.Result.ID), Content: answer})
		}
	}
	flush()
	return listOf(sent), shown
}

// parts implements stretch: consecutive results belong together, because of their
// pictures.
func (chatWire) parts(_ *remote, messages []inference.Message, k int) bool {
	return k == 0 || messages[k-1].Role != inference.RoleTool ||
		k < len(messages) && messages[k].Role != inference.RoleTool
}

// cut implements stretch.
func (w chatWire) cut(m *remote, messages []inference.Message) int {
	k := len(messages)
	for k > 0 && !w.parts(m, messages, k) {
		k--
	}
	return k
}

// userContent returns a plain string whenever possible: some services do not accept
// parts.
func userContent(blocks []core.Block) (content any, shown pictures) {
	parts, shown := contentParts(blocks)
	if hasImage(parts) {
		return parts, shown
	}
	return joinText(parts), shown
}

// toolContent returns a tool's result as text, and its pictures as parts of a message
// that follows.
func toolContent(r *inference.ToolReturn) (text string, images []sentPart, shown pictures) {
	parts, shown := contentParts(r.Blocks)
	if hasImage(parts) {
		texts := []sentPart{}
		images = append(
			images,
			sentPart{
				Type: "text",
				Text: fmt.Sprintf("Pictures that the call %s of %s returned:", r.ID, r.Name),
			},
		)
		for _, p := range parts {
			if p.ImageURL != nil {
				images = append(images, p)
			} else {
				texts = append(texts, p)
			}
		}
		parts = append(
			texts,
			sentPart{Type: "text", Text: "(The pictures of this result follow in the next message.)"},
		)
	}
	text = joinText(parts)
	switch {
	case text == "" && r.Failed:
		text = "Error: the call failed and says nothing more."
	case text == "":
		text = "(no output)"
	case r.Failed:
		text = "Error: " + text
	}
	return text, images, shown
}

func hasImage(parts []sentPart) bool {
	return slices.ContainsFunc(parts, func(p sentPart) bool { return p.ImageURL != nil })
}

func joinText(parts []sentPart) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// contentParts converts blocks to parts; shown are the pictures in them.
func contentParts(blocks []core.Block) (parts []sentPart, shown pictures) {
	for _, b := range blocks {
		p := blockPart(b)
		if p.ImageURL != nil {
			shown.bytes += len(p.ImageURL.URL)
			if p.ImageURL.data != nil {
				shown.data = append(shown.data, p.ImageURL.data)
			}
		} else if p.Text == "" {
			continue // some services refuse an empty part
		}
		parts = append(parts, p)
	}
	return parts, shown
}

func blockPart(b core.Block) sentPart {
	text := ""
	switch b := b.(type) {
	case core.Text:
		text = b.Text
	case core.Image:
		if image := imageOf(b); image != nil {
			return sentPart{Type: "image_url", ImageURL: image}
		}
		text = fmt.Sprintf("(A picture that is not included: %s)", b.URI)
	case core.Audio:
		text = fmt.Sprintf("(A sound that is not included: %s, %d bytes)", b.MIME, len(b.Data))
	case core.Link:
		text = inference.LinkText(b)
	case core.Resource:
		if strings.HasPrefix(b.MIME, "image/") && len(b.Blob) > 0 {
			return sentPart{Type: "image_url", ImageURL: dataImage(b.MIME, b.Blob)}
		}
		text = inference.ResourceText(b)
	case core.Diff:
		text = b.Patch
		if text == "" {
			text = fmt.Sprintf("(A change to %s: %d lines added, %d removed)", b.Path, b.Added, b.Removed)
		}
	case core.Terminal: // its output is in a text block of its own
	}
	return sentPart{Type: "text", Text: text}
}

// imageOf returns a picture as it is sent; nil: it is not.
func imageOf(i core.Image) *sentImage {
	if len(i.Data) > 0 {
		return dataImage(i.MIME, i.Data)
	}
	if strings.HasPrefix(i.URI, "https://") || strings.HasPrefix(i.URI, "http://") ||
		strings.HasPrefix(i.URI, "data:") {
		return &sentImage{URL: i.URI}
	}
	return nil
}

func dataImage(mime string, data []byte) *sentImage {
	mime = cmp.Or(mime, "image/png")
	return &sentImage{"data:" + mime + ";base64," + string(pictureMark()), data}
}

// assistant encodes a message of the model; ok is false if it is empty.
func (m *remote) assistant(msg *inference.Message) (s sentMessage, ok bool) {
	s.Role = "assistant"
	if msg.Text != "" {
		s.Content = msg.Text
	}
	for _, c := range msg.Calls {
		args := "{}"
		if isObject(c.Args) == nil {
			args = string(c.Args)
		}
		s.ToolCalls = append(
			s.ToolCalls,
			sentCall{ID: string(c.ID), Type: "function", Function: sentCallee{m.family.named(c.Name), args}},
		)
	}
	m.unseal(msg.Thoughts, &s)
	if !m.takes(traitUnsigned) {
		for i := range s.ToolCalls {
			if s.ToolCalls[i].ExtraContent == nil {
				s.ToolCalls[i].ExtraContent = unsignedCall
			}
		}
	}
	return s, s.Content != nil || s.ToolCalls != nil
}

// unsignedCall marks a call that has no signature, because another model has made it.
// https://ai.google.dev/gemini-api/docs/thought-signatures
var unsignedCall = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

// unseal restores the data that this model expects back.
func (m *remote) unseal(thoughts []inference.Thought, s *sentMessage) {
	for _, t := range thoughts {
		var seal sealedData
		if t.Sealed == nil || json.Unmarshal(t.Sealed, &seal) != nil || seal.Of != m.info.ID {
			continue
		}
		switch seal.Field {
		case "reasoning":
			s.Reasoning += t.Text
		case "reasoning_content":
			s.ReasoningContent += t.Text
		}
		for _, c := range seal.Calls {
			if c.Call >= 0 && c.Call < len(s.ToolCalls) {
				s.ToolCalls[c.Call].ExtraContent = c.Extra
			}
		}
	}
}
