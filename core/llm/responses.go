package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"dragoman/core"
	"dragoman/core/inference"
)

// responsesWire is OpenAI's responses API. The service stores nothing: the history is
// sent each time, with the reasoning in a form that only the service can read.
// https://platform.openai.com/docs/api-reference/responses
type responsesWire struct{ eachAlone }

func (responsesWire) endpoint(base *url.URL) *url.URL { return below(base, "responses") }

func (responsesWire) sign(h http.Header, key string) { bearer(h, key) }

func (responsesWire) frames(src io.Reader) frames { return newEvents(src) }

// adapt implements wire.
func (responsesWire) adapt(m *remote, r *inference.Request, err error) bool {
	thinks := m.info.Thinks || r.Effort != ""
	return m.gives(
		err,
		func(t trait) bool { return thinks && (t != traitEffort || r.Effort != "") },
		refusal{of: traitSummary, any: []string{"reasoning.summary", "reasoning summar"}},
		refusal{
			of:  traitEncrypted,
			any: []string{"reasoning.encrypted_content", "encrypted content is not supported"},
		},
		refusal{of: traitEffort, any: []string{"reasoning.effort"}},
		refusal{of: traitThinking, any: []string{"'reasoning'", "\"reasoning\"", "reasoning is not"}},
	)
}

func (responsesWire) listen(a *answer) listener { return &responsesAnswer{answer: a} }

// The request.
type (
	responsesHead struct {
		Model        string          `json:"model"`
		Tools        []responsesTool `json:"tools,omitempty"`
		Instructions string          `json:"instructions,omitempty"`
	}
	// The input comes between the two.
	responsesTail struct {
		Stream    bool                `json:"stream"`
		Store     bool                `json:"store"`
		Include   []string            `json:"include,omitempty"`
		Reasoning *responsesReasoning `json:"reasoning,omitempty"`
		MaxOut    int                 `json:"max_output_tokens,omitempty"`
		CacheKey  string              `json:"prompt_cache_key,omitempty"`
	}
	responsesReasoning struct {
		Effort  string `json:"effort,omitempty"`
		Summary string `json:"summary,omitempty"`
	}
	responsesTool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	}
	responsesMessage struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content []responsesPart `json:"content"`
	}
	responsesPart struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
	}
	responsesCall struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Name   string `json:"name"`
		Args   string `json:"arguments"`
	}
	responsesOutput struct {
		Type   string          `json:"type"`
		CallID string          `json:"call_id"`
		Output []responsesPart `json:"output"`
	}
)

func (w responsesWire) encode(m *remote, r *inference.Request) (payload, error) {
	head := responsesHead{Model: m.model, Instructions: r.System}
	tail := responsesTail{Stream: true, MaxOut: r.MaxOut}
	if (m.info.Thinks || r.Effort != "") && m.takes(traitThinking) {
		tail.Reasoning = m.reasoning(r.Effort)
		if m.takes(traitEncrypted) {
			tail.Include = []string{"reasoning.encrypted_content"}
		}
	}
	if r.Session != "" {
		tail.CacheKey = cacheKey(r.Session)
	}
	for _, t := range m.tools(r.Tools) {
		head.Tools = append(
			head.Tools,
			responsesTool{"function", t.Function.Name, t.Function.Description, t.Function.Parameters, false},
		)
	}
	return m.body(r, w, head, tail, "input", nil)
}

// reasoning returns the thinking settings for a model that thinks.
func (m *remote) reasoning(effort string) *responsesReasoning {
	r := &responsesReasoning{effort, "auto"}
	if !m.takes(traitEffort) {
		r.Effort = ""
	}
	if !m.takes(traitSummary) {
		r.Summary = ""
	}
	if *r == (responsesReasoning{}) {
		return nil
	}
	return r
}

// elements implements stretch.
func (responsesWire) elements(m *remote, messages []inference.Message) (list []any, shown pictures) {
	for i := range messages {
		msg := &messages[i]
		switch msg.Role {
		case inference.RoleUser:
			parts, more := responsesContent(msg.Blocks)
			shown.add(more)
			list = append(list, responsesMessage{"message", "user", parts})
		case inference.RoleAssistant:
			list = append(list, m.items(msg)...)
		case inference.RoleTool:
			parts, more := responsesContent(resultBlocks(&msg.Result))
			shown.add(more)
			list = append(list, responsesOutput{"function_call_output", string(msg.Result.ID), parts})
		}
	}
	return list, shown
}

// items encodes a message of the model: its original reasoning, its text, its calls.
func (m *remote) items(msg *inference.Message) (items []any) {
	for _, t := range msg.Thoughts {
		var seal sealedData
		if t.Sealed != nil && json.Unmarshal(t.Sealed, &seal) == nil && seal.Of == m.info.ID && seal.Item != nil {
			items = append(items, seal.Item)
		}
	}
	if msg.Text != "" {
		items = append(
			items,
			responsesMessage{"message", "assistant", []responsesPart{{Type: "output_text", Text: msg.Text}}},
		)
	}
	for _, c := range msg.Calls {
		args := "{}"
		if isObject(c.Args) == nil {
			args = string(c.Args)
		}
		items = append(items, responsesCall{"function_call", string(c.ID), c.Name, args})
	}
	if msg.Text == "" && len(msg.Calls) == 0 {
		return nil // reasoning without a result is refused
	}
	return items
}

// resultBlocks returns a result with a note if the call failed.
func resultBlocks(r *inference.ToolReturn) []core.Block {
	switch {
	case len(r.Blocks) == 0 && r.Failed:
		return []core.Block{core.Text{Text: "Error: the call failed and says nothing more."}}
	case len(r.Blocks) == 0:
		return []core.Block{core.Text{Text: "(no output)"}}
	case r.Failed:
		return append([]core.Block{core.Text{Text: "Error:"}}, r.Blocks...)
	}
	return r.Blocks
}

func responsesContent(list []core.Block) (out []responsesPart, shown pictures) {
	out = []responsesPart{}
	parts, shown := contentParts(list)
	for _, p := range parts {
		if p.ImageURL != nil {
			out = append(out, responsesPart{Type: "input_image", ImageURL: p.ImageURL.URL})
		} else {
			out = append(out, responsesPart{Type: "input_text", Text: p.Text})
		}
	}
	return out, shown
}
