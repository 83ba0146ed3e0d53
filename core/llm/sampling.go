package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/jsonscan"
)

// KindSampling asks the MCP client that drives a session for answers, so that its
// model is used and no key is needed. The model's name is a hint to the client; "any"
// is no hint. The protocol has deprecated this since 2026-07-28.
const KindSampling = "mcp-sampling"

// Sampler reaches the MCP client that drives a session. It is safe for concurrent
// use.
type Sampler interface {
	// Offers reports whether the client offers sampling, and whether with tools. Both
	// are false for a session without an MCP client.
	Offers(ctx context.Context, p core.Principal, session core.SessionID) (sampling, tools bool)
	// CreateMessage sends sampling/createMessage with these params and returns its
	// result, both in the form of the protocol's version 2025-11-25. It blocks until
	// the client answers, and ends when ctx does. An *inference.Error carries the kind
	// of failure; the model's name is added.
	CreateMessage(
		ctx context.Context,
		p core.Principal,
		session core.SessionID,
		params json.RawMessage,
	) (result json.RawMessage, err error)
}

// sampling is a model of an MCP client.
type sampling struct {
	sampler Sampler // nil: there is none
	p       *provider
	model   string
	info    inference.ModelInfo
}

var _ inference.Model = (*sampling)(nil)

func openSampling(r *Registry, p *provider, model string) (inference.Model, error) {
	info := p.info(model)
	info.Thinks, info.Efforts = false, nil
	return &sampling{r.sampler, p, model, info}, nil
}

// anyModel is the name that is no hint.
const anyModel = "any"

// Info describes the model, about which little is known. Whether it accepts tools
// depends on the client of the session; if it does not, the tools are left out.
func (m *sampling) Info() inference.ModelInfo { return m.info }

// Stream asks the client once. The answer arrives in one piece, and its usage is an
// estimate. If the client or its user refuses, the request is not repeated.
func (m *sampling) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		a := &answer{model: m.info.ID, price: m.info.Price, request: r, yield: yield}
		err := m.ask(ctx, r, a)
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil && !a.gone {
			yield(inference.Delta{}, err)
		}
	}
}

func (m *sampling) ask(ctx context.Context, r *inference.Request, a *answer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	offered, tools := false, false
	if m.sampler != nil {
		offered, tools = m.sampler.Offers(ctx, r.Principal, r.Session)
	}
	if !offered {
		return m.failure(inference.ErrServer, "this session is not driven by an MCP client that offers sampling",
			"Choose another model, or use it from an MCP client that does")
	}
	params, sent, err := m.params(r, tools)
	if err != nil {
		return m.failure(inference.ErrBadRequest, "the request could not be encoded: "+err.Error(), "")
	}
	leave, err := m.p.gate.enter(ctx, m.model, a.waits)
	if err != nil {
		return err
	}
	defer leave()
	result, err := m.sampler.CreateMessage(ctx, r.Principal, r.Session, params)
	switch known, ok := errors.AsType[*inference.Error](err); {
	case ok:
		named := *known
		named.Model = m.info.ID
		return &named
	case err != nil:
		return m.failure(inference.ErrBadRequest, "the MCP client did not answer: "+shorten(err.Error(), maxMessage),
			"Its user may have refused; another model can be chosen")
	case len(result) > maxEvent:
		return m.failure(
			inference.ErrServer,
			fmt.Sprintf("the MCP client's answer is longer than %d MiB", maxEvent>>20),
			"",
		)
	}
	a.sent = sent
	if err := a.sampled(result); err != nil {
		return m.failure(inference.ErrServer, "the MCP client's answer is not what the protocol says: "+
			shorten(err.Error(), maxMessage), "")
	}
	return a.complete(ctx)
}

func (m *sampling) failure(kind inference.ErrorKind, message, hint string) error {
	return &inference.Error{Kind: kind, Model: m.info.ID, Message: message, Hint: hint}
}

// The request and the answer. The protocol accepts a single block in place of a list, and
// older clients accept nothing else.
type (
	samplingParams struct {
		Messages    []samplingMessage `json:"messages"`
		System      string            `json:"systemPrompt,omitempty"`
		MaxTokens   int               `json:"maxTokens"`
		Preferences *samplingHints    `json:"modelPreferences,omitempty"`
		Tools       []samplingTool    `json:"tools,omitempty"`
		Choice      *samplingChoice   `json:"toolChoice,omitempty"`
	}
	samplingMessage struct {
		Role    string         `json:"role"`
		Content samplingBlocks `json:"content"`
	}
	samplingBlocks []samplingBlock
	samplingBlock  struct {
		Type    string          `json:"type"`
		Text    *string         `json:"text,omitempty"`
		Data    string          `json:"data,omitempty"`
		MIME    string          `json:"mimeType,omitempty"`
		ID      string          `json:"id,omitempty"`
		Name    string          `json:"name,omitempty"`
		Input   json.RawMessage `json:"input,omitempty"`
		UseID   string          `json:"toolUseId,omitempty"`
		Content []samplingBlock `json:"content,omitempty"`
		Failed  bool            `json:"isError,omitempty"`
	}
	samplingHints struct {
		Hints []samplingHint `json:"hints"`
	}
	samplingHint struct {
		Name string `json:"name"`
	}
	samplingTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"inputSchema"`
	}
	samplingChoice struct {
		Mode string `json:"mode"`
	}
	samplingResult struct {
		Role       string         `json:"role"`
		Content    samplingBlocks `json:"content"`
		StopReason string         `json:"stopReason"`
	}
)

// MarshalJSON implements json.Marshaler.
func (b samplingBlocks) MarshalJSON() ([]byte, error) {
	if len(b) == 1 {
		return json.Marshal(b[0])
	}
	return json.Marshal([]samplingBlock(b))
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *samplingBlocks) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte{'['}) {
		return json.Unmarshal(data, (*[]samplingBlock)(b))
	}
	*b = make(samplingBlocks, 1)
	return json.Unmarshal(data, &(*b)[0])
}

// params encodes a request. sent counts characters, without pictures.
func (m *sampling) params(r *inference.Request, tools bool) (params json.RawMessage, sent int, err error) {
	p := samplingParams{System: r.System, MaxTokens: cmp.Or(max(r.MaxOut, 0), max(m.info.MaxOut, 0), defaultOut)}
	if m.model != anyModel {
		p.Preferences = &samplingHints{[]samplingHint{{m.model}}}
	}
	if tools && len(r.Tools) > 0 {
		for _, t := range r.Tools {
			schema := t.Schema
			if len(schema) == 0 {
				schema = emptySchema
			}
			p.Tools = append(p.Tools, samplingTool{t.Name, t.Description, schema})
		}
		p.Choice = &samplingChoice{"auto"}
	}
	pictures := 0
	for i := range r.Messages {
		pictures += p.add(&r.Messages[i], tools)
	}
	b, err := jsonscan.Append(nil, p)
	return b, utf8.RuneCount(b) - pictures, err
}

// add appends a message. Without tools, calls and results are converted to text, and a
// message has one block. pictures is the number of bytes in pictures.
func (p *samplingParams) add(msg *inference.Message, tools bool) (pictures int) {
	var blocks samplingBlocks
	role := "user"
	switch msg.Role {
	case inference.RoleUser:
		blocks, pictures = samplingContent(msg.Blocks)
	case inference.RoleAssistant:
		role = "assistant"
		if msg.Text != "" {
			blocks = samplingBlocks{{Type: "text", Text: &msg.Text}}
		}
		for _, c := range msg.Calls {
			args := json.RawMessage("{}")
			if isObject(c.Args) == nil {
				args = c.Args
			}
			if tools {
				blocks = append(blocks, samplingBlock{Type: "tool_use", ID: string(c.ID), Name: c.Name, Input: args})
			}
		}
	case inference.RoleTool:
		content, n := samplingContent(resultBlocks(&msg.Result))
		pictures = n
		if !tools {
			text := "The tool " + msg.Result.Name + " returned:"
			blocks = append(samplingBlocks{{Type: "text", Text: &text}}, content...)
			break
		}
		one := samplingBlock{
			Type:    "tool_result",
			UseID:   string(msg.Result.ID),
			Content: content,
			Failed:  msg.Result.Failed,
		}
		if n := len(p.Messages); n > 0 &&
			p.Messages[n-1].Content[0].Type == "tool_result" { // and nothing else
			p.Messages[n-1].Content = append(p.Messages[n-1].Content, one)
			return pictures
		}
		blocks = samplingBlocks{one}
	}
	switch {
	case len(blocks) == 0:
	case tools:
		p.Messages = append(p.Messages, samplingMessage{role, blocks})
	default:
		for _, b := range blocks {
			p.Messages = append(p.Messages, samplingMessage{role, samplingBlocks{b}})
		}
	}
	return pictures
}

// samplingContent converts blocks to content; pictures is the number of bytes in
// pictures.
func samplingContent(list []core.Block) (blocks samplingBlocks, pictures int) {
	parts, _ := contentParts(list)
	for _, p := range parts {
		if p.ImageURL == nil {
			blocks = append(blocks, samplingBlock{Type: "text", Text: &p.Text})
			continue
		}
		url := p.ImageURL.whole()
		pictures += len(url)
		if mime, data, ok := splitData(url); ok {
			blocks = append(blocks, samplingBlock{Type: "image", Data: data, MIME: mime})
		} else {
			text := "(A picture that is not included: " + url + ")"
			blocks = append(blocks, samplingBlock{Type: "text", Text: &text})
		}
	}
	return blocks, pictures
}

// sampled processes a client's answer.
func (a *answer) sampled(result json.RawMessage) error {
	var r samplingResult
	if err := json.Unmarshal(result, &r); err != nil {
		return errors.New(jsonProblem(err))
	}
	if r.Role != "assistant" {
		return errors.New("its role is not the assistant's")
	}
	for _, b := range r.Content {
		switch b.Type {
		case "text":
			if b.Text != nil {
				a.text(*b.Text)
			}
		case "tool_use":
			if len(a.calls) == maxCalls {
				return fmt.Errorf("the answer has more than %d calls", maxCalls)
			}
			a.openPart(partNone)
			c := &toolCall{index: -1, wireID: b.ID, name: b.Name, block: a.newBlock()}
			a.calls = append(a.calls, c)
			a.start(c)
			if err := a.more(c, string(b.Input)); err != nil {
				return err
			}
		case "image", "audio":
			a.text(
				fmt.Sprintf(
					"(The model answered with %s, which cannot be shown.)",
					map[string]string{"image": "a picture", "audio": "a sound"}[b.Type],
				),
			)
		}
	}
	if a.stop = core.StopEnd; r.StopReason == "maxTokens" {
		a.stop = core.StopTokens
	}
	a.finish, a.whole = cmp.Or(r.StopReason, "endTurn"), true
	return nil
}
