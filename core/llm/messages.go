package llm

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"dragoman/core"
	"dragoman/core/inference"
)

// messagesWire is Anthropic's messages API, version 2023-06-01.
// https://docs.anthropic.com/en/api/messages
type messagesWire struct{}

const (
	anthropicVersion = "2023-06-01"
	// defaultOut is the limit for unknown models: the field is required, and every
	// model that is still offered accepts this value.
	defaultOut = 8192
)

func (messagesWire) endpoint(base *url.URL) *url.URL { return below(base, "messages") }

func (messagesWire) sign(h http.Header, key string) {
	h.Set("Anthropic-Version", anthropicVersion)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

func (messagesWire) frames(src io.Reader) frames { return newEvents(src) }

// adapt implements wire. Newer models choose the length of their thinking and accept
// an effort; others do not know that setting, or do not think.
func (messagesWire) adapt(m *remote, r *inference.Request, err error) bool {
	thinks := budgets[r.Effort] > 0
	return m.gives(
		err,
		func(t trait) bool { return thinks && (t != traitEffort || !m.takes(traitBudget)) },
		refusal{of: traitBudget, any: []string{"budget_tokens", "thinking.type", "adaptive"}},
		refusal{of: traitEffort, any: []string{"output_config", "effort"}},
		refusal{
			of:  traitThinking,
			any: []string{"adaptive", "thinking.type", "not support"},
			all: []string{"thinking"},
		},
	)
}

func (messagesWire) listen(a *answer) listener { return &messagesAnswer{answer: a} }

// The request. Tools, system and messages are in the order in which the service caches
// them.
type (
	messagesHead struct {
		Model     string          `json:"model"`
		MaxTokens int             `json:"max_tokens"`
		Tools     []messagesTool  `json:"tools,omitempty"`
		System    []messagesBlock `json:"system,omitempty"`
	}
	// The messages come between the two.
	messagesTail struct {
		Thinking *messagesThinking `json:"thinking,omitempty"`
		Output   *messagesOutput   `json:"output_config,omitempty"`
		Stream   bool              `json:"stream"`
	}
	messagesOutput struct {
		Effort string `json:"effort"`
	}
	messagesThinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens,omitempty"`
	}
	messagesTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"input_schema"`
		Cache       *messagesCache  `json:"cache_control,omitempty"`
	}
	messagesCache struct {
		Type string `json:"type"`
	}
	messagesMessage struct {
		Role    string          `json:"role"`
		Content []messagesBlock `json:"content"`
	}
	messagesBlock struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		Source    *messagesSource `json:"source,omitempty"`
		Thinking  *string         `json:"thinking,omitempty"`
		Signature string          `json:"signature,omitempty"`
		Data      string          `json:"data,omitempty"` // of redacted_thinking
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		UseID     string          `json:"tool_use_id,omitempty"`
		Content   []messagesBlock `json:"content,omitempty"`
		Failed    bool            `json:"is_error,omitempty"`
		Cache     *messagesCache  `json:"cache_control,omitempty"`
	}
	messagesSource struct {
		Type      string `json:"type"` // base64 or url
		MediaType string `json:"media_type,omitempty"`
		Data      string `json:"data,omitempty"`
		URL       string `json:"url,omitempty"`
	}
)

func (w messagesWire) encode(m *remote, r *inference.Request) (payload, error) {
	head := messagesHead{
		Model:     m.model,
		MaxTokens: cmp.Or(max(r.MaxOut, 0), max(m.info.MaxOut, 0), defaultOut),
	}
	tail := messagesTail{Stream: true}
	tail.Thinking = head.think(m, r.Effort)
	if tail.Thinking != nil && tail.Thinking.Type == "adaptive" && m.takes(traitEffort) {
		tail.Output = &messagesOutput{strings.Replace(r.Effort, "minimal", "low", 1)}
	}
	for _, t := range m.tools(r.Tools) {
		head.Tools = append(
			head.Tools,
			messagesTool{
				Name:        t.Function.Name,
				Description: t.Function.Description,
				Schema:      t.Function.Parameters,
			},
		)
	}
	if n := len(head.Tools); n > 0 {
		head.Tools[n-1].Cache = cacheMark()
	}
	if r.System != "" {
		head.System = []messagesBlock{{Type: "text", Text: r.System, Cache: cacheMark()}}
	}
	past, messages, err := m.past(r, w)
	if err != nil {
		return payload{}, err
	}
	rest, shown := m.turns(messages)
	markNewest(rest)
	return compose(head, tail, "messages", nil, past, listOf(rest), shown)
}

// budgets are the tokens for thinking, by effort.
var budgets = map[string]int{
	"minimal": 1024,
	"low":     2048,
	"medium":  8192,
	"high":    24_576,
	"xhigh":   49_152,
	"max":     49_152,
}

// think turns thinking on. The thinking budget is part of the limit of the answer, so the
// limit is raised.
func (s *messagesHead) think(m *remote, effort string) *messagesThinking {
	budget, ok := budgets[effort]
	if !ok || !m.takes(traitThinking) {
		return nil
	}
	if s.MaxTokens <= budget {
		s.MaxTokens = budget + defaultOut/2
	}
	if !m.takes(traitBudget) {
		return &messagesThinking{Type: "adaptive"}
	}
	return &messagesThinking{"enabled", budget}
}

// cacheMark marks the positions up to which the service caches a request: after the
// tools, after the system prompt, and after the last two messages of the user, so that
// the next request finds the previous one. Four marks are allowed.
func cacheMark() *messagesCache { return &messagesCache{"ephemeral"} }

// marked is the number of marked messages of the user.
const marked = 2

func markNewest(sent []messagesMessage) {
	left := marked
	for i := len(sent) - 1; i >= 0 && left > 0; i-- {
		if m := sent[i]; m.Role == "user" && len(m.Content) > 0 {
			m.Content[len(m.Content)-1].Cache = cacheMark()
			left--
		}
	}
}

// elements implements stretch.
func (messagesWire) elements(m *remote, messages []inference.Message) (list []any, shown pictures) {
	sent, shown := m.turns(messages)
	return listOf(sent), shown
}

// parts implements stretch: consecutive messages of one side are one.
func (messagesWire) parts(m *remote, messages []inference.Message, k int) bool {
	if k == 0 {
		return true
	}
	before, after := "", ""
	for i := k - 1; i >= 0 && before == ""; i-- {
		before = m.side(&messages[i])
	}
	for i := k; i < len(messages) && after == ""; i++ {
		after = m.side(&messages[i])
	}
	return before == "assistant" && after == "user"
}

// cut implements stretch: the marks move, so marked messages are not included.
func (messagesWire) cut(m *remote, messages []inference.Message) int {
	turns, begin, last := 0, 0, "" // user turns, counted from the end; where the newest of them begins
	for i := len(messages) - 1; i >= 0; i-- {
		side := m.side(&messages[i])
		if side == "" {
			continue
		}
		if side == "assistant" && last == "user" {
			if turns++; turns == marked {
				return begin
			}
		}
		begin, last = i, side
	}
	return 0
}

// side returns the role of the message in the request; empty: it is not sent.
func (m *remote) side(msg *inference.Message) string {
	switch msg.Role {
	case inference.RoleUser:
		if blocks, _ := messagesContent(msg.Blocks); len(blocks) > 0 {
			return "user"
		}
	case inference.RoleAssistant:
		if len(m.said(msg)) > 0 {
			return "assistant"
		}
	case inference.RoleTool:
		return "user"
	}
	return ""
}

// turns encodes a history. Consecutive messages of one side are merged: the results of
// an answer's calls, and the user's next message.
func (m *remote) turns(messages []inference.Message) (sent []messagesMessage, shown pictures) {
	add := func(role string, blocks ...messagesBlock) {
		if len(blocks) == 0 {
			return
		}
		if n := len(sent); n > 0 && sent[n-1].Role == role {
			sent[n-1].Content = append(sent[n-1].Content, blocks...)
			return
		}
		sent = append(sent, messagesMessage{role, blocks})
	}
	for i := range messages {
		msg := &messages[i]
		switch msg.Role {
		case inference.RoleUser:
			blocks, more := messagesContent(msg.Blocks)
			shown.add(more)
			add("user", blocks...)
		case inference.RoleAssistant:
			add("assistant", m.said(msg)...)
		case inference.RoleTool:
			res := &msg.Result
			blocks, more := messagesContent(res.Blocks)
			shown.add(more)
			if len(blocks) == 0 {
				blocks = []messagesBlock{{Type: "text", Text: "(no output)"}}
			}
			add("user", messagesBlock{Type: "tool_result", UseID: string(res.ID), Content: blocks, Failed: res.Failed})
		}
	}
	return sent, shown
}

// said encodes a message of the model, thoughts first: a signature is valid only
// before the calls that follow from the thought.
func (m *remote) said(msg *inference.Message) (blocks []messagesBlock) {
	for _, t := range msg.Thoughts {
		var seal sealedData
		if t.Sealed == nil || json.Unmarshal(t.Sealed, &seal) != nil || seal.Of != m.info.ID {
			continue
		}
		switch {
		case seal.Redacted != "":
			blocks = append(blocks, messagesBlock{Type: "redacted_thinking", Data: seal.Redacted})
		case seal.Signature != "":
			blocks = append(blocks, messagesBlock{Type: "thinking", Thinking: &t.Text, Signature: seal.Signature})
		}
	}
	if strings.TrimSpace(msg.Text) != "" { // blank text is refused
		blocks = append(blocks, messagesBlock{Type: "text", Text: strings.TrimRight(msg.Text, " \t\r\n")})
	}
	for _, c := range msg.Calls {
		args := json.RawMessage("{}")
		if isObject(c.Args) == nil {
			args = c.Args
		}
		blocks = append(blocks, messagesBlock{Type: "tool_use", ID: string(c.ID), Name: c.Name, Input: args})
	}
	if len(blocks) > 0 && len(msg.Calls) == 0 && strings.TrimSpace(msg.Text) == "" {
		return nil // thoughts alone are not a message
	}
	return blocks
}

// messagesContent converts blocks to content; shown are the pictures in it.
func messagesContent(list []core.Block) (blocks []messagesBlock, shown pictures) {
	parts, shown := contentParts(list)
	for _, p := range parts {
		if p.ImageURL == nil {
			blocks = append(blocks, messagesBlock{Type: "text", Text: p.Text})
			continue
		}
		src := &messagesSource{Type: "url", URL: p.ImageURL.URL}
		if mime, data, ok := splitData(p.ImageURL.URL); ok {
			src = &messagesSource{Type: "base64", MediaType: mime, Data: data}
		}
		blocks = append(blocks, messagesBlock{Type: "image", Source: src})
	}
	return blocks, shown
}

// splitData splits a data URL with base64.
func splitData(u string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(u, "data:")
	if !ok {
		return "", "", false
	}
	mime, data, ok = strings.Cut(rest, ";base64,")
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		return "", "", false
	}
	return mime, data, ok
}
