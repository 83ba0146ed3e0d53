package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// maxSampled limits the answer that a server may request of a model, in tokens.
const maxSampled = 8192

// sampleRequest is a server's request to our model (Client, Sampling).
type sampleRequest struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"` // one block, or since 2025-11-25 a list
	} `json:"messages"`
	System    string            `json:"systemPrompt"`
	MaxTokens int               `json:"maxTokens"`
	Tools     []json.RawMessage `json:"tools"`
}

// sample asks the model on a server's behalf, each time with the user's consent: it costs money,
// and the server reads the answer.
func (u *upstream) sample(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var s sampleRequest
	if err := wire.Unmarshal(params, &s); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "sampling/createMessage: %v", err)
	}
	if len(s.Tools) > 0 {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "sampling with tools is not offered")
	}
	req := s.request(u.host.Meta())
	model, err := inference.Chosen(ctx, u.host)
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.InternalError, "there is no model: %v", err)
	}
	if model.Info().Offline {
		return nil, jrpc2.Errorf(jrpc2.InternalError,
			"%s is not a language model; the user has configured none", model.Info().ID)
	}
	if err := u.agreed(ctx, model.Info().ID, s); err != nil {
		return nil, err
	}
	var text strings.Builder
	stop := core.StopEnd
	for d, err := range model.Stream(ctx, req) {
		if err != nil {
			return nil, jrpc2.Errorf(jrpc2.InternalError, "%v", err)
		}
		switch d.Kind {
		case inference.DeltaText:
			text.WriteString(d.Text)
		case inference.DeltaStop:
			stop = d.Stop
		case inference.DeltaThought, inference.DeltaSealed, inference.DeltaToolStart, inference.DeltaToolArgs,
			inference.DeltaToolEnd, inference.DeltaUsage, inference.DeltaRetry, inference.DeltaFellBack, inference.DeltaRefused:
		}
	}
	return wire.JSON(map[string]any{
			"role": "assistant", "content": map[string]string{"type": "text", "text": text.String()}, "model": model.Info().ID, "stopReason": stopReason(stop),
		}),

		nil
}

// stopReason returns the reason of the model's stop, in the protocol's words if there is one.
func stopReason(s core.StopReason) string {
	switch s {
	case core.StopEnd:
		return "endTurn"
	case core.StopTokens:
		return "maxTokens"
	case core.StopRequests, core.StopLimit, core.StopRefusal, core.StopCanceled, core.StopError, core.StopInterrupted:
	}
	return string(s)
}

// agreed asks the user.
func (u *upstream) agreed(ctx context.Context, model string, s sampleRequest) error {
	r, err := u.host.Ask(ctx, core.Ask{
		Kind: core.AskConsent,
		Text: fmt.Sprintf(
			"The MCP server %s wants to ask the model %s, and to read the answer:\n%s",
			u.server.Name,
			model,
			s.shown(),
		),
		Options: []core.Option{
			{
				ID:       optionYes,
				Label:    "Let it ask",
				Decision: core.AllowOnce,
			}, {ID: optionNo, Label: "Do not", Decision: core.RejectOnce},
		},
	})
	if err != nil {
		return err
	}
	switch {
	case r.Outcome == core.OutcomeAnswered && r.Option == optionYes:
		return nil
	case r.Outcome == core.OutcomeAlone:
		return &jrpc2.Error{Code: -1, Message: "there is nobody to approve the sampling request"}
	}
	return &jrpc2.Error{Code: -1, Message: "the user rejected the sampling request"}
}

// maxShown limits the part of a request that is shown to the user, in bytes.
const maxShown = 4000

// shown returns all that the model would get, as far as the user can be expected to read it: a
// question gives no consent to anything it does not show.
func (s sampleRequest) shown() string {
	var b strings.Builder
	if s.System != "" {
		fmt.Fprintf(&b, "instructions: %s\n", s.System)
	}
	for _, m := range s.Messages {
		for _, item := range itemsOf(m.Content) {
			block := parseContent(item)
			text := textOf(block)
			if text == "" {
				text = fmt.Sprintf("(%s)", strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", block), "core.")))
			}
			fmt.Fprintf(&b, "%s: %s\n", m.Role, text)
		}
	}
	text := strings.TrimSpace(display.Seen(b.String()))
	if more := len(text) - maxShown; more > 0 {
		text = fmt.Sprintf("%s …\n(and %d bytes more)", display.Cut(text, maxShown), more)
	}
	return text
}

func (s sampleRequest) request(m core.Meta) *inference.Request {
	r := &inference.Request{Principal: m.Principal, Session: m.ID, System: s.System, MaxOut: maxSampled}
	if s.MaxTokens > 0 {
		r.MaxOut = min(s.MaxTokens, maxSampled)
	}
	for _, msg := range s.Messages {
		if msg.Role == "assistant" {
			r.Messages = append(
				r.Messages,
				inference.Message{Role: inference.RoleAssistant, Text: textsOf(msg.Content)},
			)
			continue
		}
		var blocks []core.Block
		for _, item := range itemsOf(msg.Content) {
			blocks = append(blocks, parseContent(item))
		}
		r.Messages = append(r.Messages, inference.Message{Role: inference.RoleUser, Blocks: blocks})
	}
	return r
}

// itemsOf returns a list of blocks, or a single one as a list.
func itemsOf(content json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil && present(content) != nil {
		list = []json.RawMessage{content}
	}
	return list
}

func textsOf(content json.RawMessage) string {
	var texts []string
	for _, item := range itemsOf(content) {
		if t := textOf(parseContent(item)); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}
