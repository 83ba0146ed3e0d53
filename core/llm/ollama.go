package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"dragoman/core"
	"dragoman/core/inference"
)

// ollamaWire is Ollama's own chat API: lines of JSON, with native thinking and the
// real size of the context. https://docs.ollama.com/api/chat
type ollamaWire struct{ eachAlone }

// endpoint accepts a base URL with or without the version of the compatible API.
func (ollamaWire) endpoint(base *url.URL) *url.URL {
	if strings.HasSuffix(base.Path, "/api/chat") {
		return base
	}
	u := *base
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
	u.RawPath = ""
	return u.JoinPath("api", "chat")
}

func (ollamaWire) sign(h http.Header, key string) {
	h.Set("Accept", "application/x-ndjson")
	bearer(h, key)
}

// adapt implements wire.
func (ollamaWire) adapt(m *remote, r *inference.Request, err error) bool {
	return m.gives(err, func(t trait) bool {
		if t == traitThinkLevel {
			return levels[r.Effort]
		}
		return m.info.Thinks || r.Effort != ""
	}, refusal{of: traitThinkLevel, any: []string{"think value", "invalid think"}},
		refusal{of: traitThinking, any: []string{"does not support thinking", "think"}})
}

// levels are the efforts that some models distinguish.
var levels = map[string]bool{"low": true, "medium": true, "high": true}

func (ollamaWire) frames(src io.Reader) frames {
	return &lineReader{src: bufio.NewReaderSize(src, 8<<10)}
}

func (ollamaWire) listen(a *answer) listener { return &ollamaAnswer{answer: a} }

// lineReader yields the lines of a stream.
type lineReader struct {
	src     *bufio.Reader
	unended bool
}

func (r *lineReader) next() (name, data []byte, err error) {
	for {
		piece, err := r.src.ReadSlice('\n')
		if data = append(data, piece...); len(data) > maxEvent {
			return nil, nil, errEventTooLong
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(data)) > 0:
			r.unended = true
			return nil, data, nil
		default:
			return nil, data, err
		}
	}
}

func (r *lineReader) cut() bool { return r.unended }

// The request.
type (
	ollamaHead struct {
		Model string `json:"model"`
	}
	// The messages come between the two.
	ollamaTail struct {
		Tools   []sentTool     `json:"tools,omitempty"`
		Stream  bool           `json:"stream"`
		Think   any            `json:"think,omitempty"` // true, or an effort
		Options map[string]int `json:"options,omitempty"`
	}
	ollamaMessage struct {
		Role     string       `json:"role"`
		Content  string       `json:"content"`
		Thinking string       `json:"thinking,omitempty"`
		Images   []string     `json:"images,omitempty"` // base64
		Calls    []ollamaCall `json:"tool_calls,omitempty"`
		ToolName string       `json:"tool_name,omitempty"`
	}
	ollamaCall struct {
		Function struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
)

func (w ollamaWire) encode(m *remote, r *inference.Request) (payload, error) {
	tail := ollamaTail{Stream: true, Tools: m.tools(r.Tools)}
	switch {
	case !m.takes(traitThinking):
	case levels[r.Effort] && m.takes(traitThinkLevel):
		tail.Think = r.Effort
	case m.info.Thinks || r.Effort != "":
		tail.Think = true
	}
	if r.MaxOut > 0 {
		tail.Options = map[string]int{"num_predict": r.MaxOut}
	}
	if m.info.Window > 0 {
		if tail.Options == nil {
			tail.Options = map[string]int{}
		}
		tail.Options["num_ctx"] = m.info.Window
	}
	var first []any
	if r.System != "" {
		first = []any{ollamaMessage{Role: "system", Content: r.System}}
	}
	return m.body(r, w, ollamaHead{m.model}, tail, "messages", first)
}

// elements implements stretch.
func (ollamaWire) elements(m *remote, messages []inference.Message) (list []any, shown pictures) {
	for i := range messages {
		msg := &messages[i]
		switch msg.Role {
		case inference.RoleUser:
			one, more := ollamaContent("user", msg.Blocks)
			shown.add(more)
			list = append(list, one)
		case inference.RoleAssistant:
			if one := m.uttered(msg); one.Content != "" || one.Calls != nil {
				list = append(list, one)
			}
		case inference.RoleTool:
			one, more := ollamaContent("tool", resultBlocks(&msg.Result))
			one.ToolName = msg.Result.Name
			shown.add(more)
			list = append(list, one)
		}
	}
	return list, shown
}

func ollamaContent(role string, list []core.Block) (m ollamaMessage, shown pictures) {
	parts, shown := contentParts(list)
	var texts []sentPart
	for _, p := range parts {
		if p.ImageURL == nil {
			texts = append(texts, p)
		} else if _, data, ok := splitData(p.ImageURL.URL); ok {
			m.Images = append(m.Images, data)
		} else {
			texts = append(texts, sentPart{Text: "(A picture that is not included: " + p.ImageURL.URL + ")"})
		}
	}
	m.Role, m.Content = role, joinText(texts)
	return m, shown
}

// uttered encodes a message of the model, with the thoughts that led to calls.
func (m *remote) uttered(msg *inference.Message) ollamaMessage {
	out := ollamaMessage{Role: "assistant", Content: msg.Text}
	for _, t := range msg.Thoughts {
		var seal sealedData
		if len(msg.Calls) > 0 && t.Sealed != nil && json.Unmarshal(t.Sealed, &seal) == nil && seal.Of == m.info.ID &&
			seal.Field == "thinking" {
			out.Thinking += t.Text
		}
	}
	for _, c := range msg.Calls {
		var call ollamaCall
		call.Function.Name, call.Function.Args = c.Name, json.RawMessage("{}")
		if isObject(c.Args) == nil {
			call.Function.Args = c.Args
		}
		out.Calls = append(out.Calls, call)
	}
	return out
}

// ollamaAnswer reads an answer of Ollama. Calls arrive complete, and without an id.
type ollamaAnswer struct{ *answer }

type ollamaLine struct {
	Message struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
		Calls    []struct {
			ID       string `json:"id"`
			Function struct {
				Name string   `json:"name"`
				Args wireArgs `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done   bool            `json:"done"`
	Reason string          `json:"done_reason"`
	In     int             `json:"prompt_eval_count"`
	Out    int             `json:"eval_count"`
	Error  json.RawMessage `json:"error"`
}

func (a *ollamaAnswer) event(_ string, data []byte) error {
	var l ollamaLine
	if err := decode(data, &l); err != nil {
		return err
	}
	if reported(l.Error) {
		return &reportedError{data: bytes.Clone(data)}
	}
	a.thought("thinking", l.Message.Thinking)
	a.text(l.Message.Content)
	for _, c := range l.Message.Calls {
		if len(a.calls) == maxCalls {
			return errors.New("the answer has too many calls")
		}
		a.openPart(partNone)
		call := &toolCall{index: -1, wireID: c.ID, name: c.Function.Name, block: a.newBlock()}
		a.calls = append(a.calls, call)
		a.start(call)
		if err := a.more(call, string(c.Function.Args)); err != nil {
			return err
		}
	}
	if !l.Done {
		return nil
	}
	if l.In+l.Out > 0 {
		a.usage = &core.Usage{In: l.In, Out: l.Out}
	}
	if a.stop = core.StopEnd; l.Reason == "length" {
		a.stop = core.StopTokens
	}
	a.finish, a.whole = "done", true
	return nil
}
