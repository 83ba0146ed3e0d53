package acp

import (
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// systemOf returns a client's system prompt in the core's form; nil: it has none. What cannot be
// applied is an error, and then no session is opened.
func systemOf(p *acp.SystemPrompt) (*core.SystemPrompt, error) {
	if p == nil {
		return nil, nil
	}
	if p.Mode != acp.SystemAppend && p.Mode != acp.SystemOverride {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "systemPrompt.mode: %.60q is neither append nor override", p.Mode)
	}
	var texts []string
	for i, b := range p.Content {
		if b.Type != "text" || b.Text == nil {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "systemPrompt.content[%d]: only text is accepted, got %.60q", i, b.Type)
		}
		texts = append(texts, *b.Text)
	}
	text := strings.TrimSpace(strings.Join(texts, "\n\n"))
	if text == "" {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "systemPrompt.content: it is empty")
	}
	return &core.SystemPrompt{Text: text, Override: p.Mode == acp.SystemOverride}, nil
}

// systemPrompts is the capability: both modes.
func systemPrompts() *acp.SystemPromptCapabilities {
	c := &acp.SystemPromptCapabilities{}
	c.Mode.Override = &acp.Marker{}
	return c
}
