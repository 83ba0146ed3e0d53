package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dragoman/adapters/wire"
)

func playACP(ctx context.Context, c *instance, cast *cast) error {
	seen := &acpScene{scene: scene{cast: cast}, titles: map[string]string{}}
	conn := c.connect(ctx, wire.Newline, seen.handle)
	var hello struct {
		Agent struct {
			Version string `json:"version"`
		} `json:"agentInfo"`
	}
	err := conn.Ask(ctx, "initialize", obj{
		"protocolVersion": 1, "clientCapabilities": obj{}, "clientInfo": cast.client(),
	}, &hello)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	cast.cells.started(c, "initialize, session/new", hello.Agent.Version)
	var session struct {
		ID string `json:"sessionId"`
	}
	if err := conn.Ask(ctx, "session/new", obj{"cwd": cast.workspace, "mcpServers": []any{}}, &session); err != nil {
		return fmt.Errorf("session/new: %w", err)
	}
	cast.cells.add(stepPrompt, "→ session/prompt", promptText)
	var end struct {
		Reason string `json:"stopReason"`
	}
	prompt := obj{"sessionId": session.ID, "prompt": []any{obj{"type": "text", "text": promptText}}}
	if err := conn.Ask(ctx, "session/prompt", prompt, &end); err != nil {
		return fmt.Errorf("session/prompt: %w", err)
	}
	if end.Reason != "end_turn" {
		return fmt.Errorf("the turn ended with %q", end.Reason)
	}
	cast.cells.add(stepEnd, "← stopReason", end.Reason)
	return seen.finish("← agent_message_chunk")
}

// acpScene is the editor's side of the act: it handles messages that the agent sends.
type acpScene struct {
	scene
	titles map[string]string // of calls; guarded by mu
}

func (s *acpScene) handle(call *wire.Call) {
	switch call.Method {
	case "session/update":
		s.update(params[acpUpdate](call))
	case "session/request_permission":
		call.Reply(s.decide(params[acpPermission](call)))
	default:
		if !call.IsNotification() {
			call.Reply(nil, errors.New("the demo does not do this"))
		}
	}
}

// acpUpdate holds the parts of a session/update that the demo reads.
type acpUpdate struct {
	Update struct {
		Kind    string          `json:"sessionUpdate"`
		ID      string          `json:"toolCallId"`
		Title   string          `json:"title"`
		Status  string          `json:"status"`
		Content json.RawMessage `json:"content"` // a block, or a list of a call's contents
	} `json:"update"`
}

func (s *acpScene) update(p acpUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := p.Update
	switch u.Kind {
	case "agent_message_chunk":
		s.text.WriteString(blockOf(u.Content))
	case "tool_call", "tool_call_update":
		if u.Title != "" {
			s.titles[u.ID] = u.Title
		}
		if u.Status == "completed" {
			s.called("← tool_call_update", s.titles[u.ID], contentsOf(u.Content))
		}
	}
}

// acpPermission holds the parts of a session/request_permission that the demo reads.
type acpPermission struct {
	Call struct {
		Title string `json:"title"`
	} `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Name string `json:"name"`
		Kind string `json:"kind"`
	} `json:"options"`
}

// decide plays the user: yes, once.
func (s *acpScene) decide(p acpPermission) (any, error) {
	s.cast.cells.add(stepAsk, "← session/request_permission", "May it? "+p.Call.Title)
	for _, o := range p.Options {
		if o.Kind == "allow_once" {
			s.cast.cells.add(stepDecide, "→ outcome: "+o.ID, "yes, once")
			return obj{"outcome": obj{"outcome": "selected", "optionId": o.ID}}, nil
		}
	}
	return obj{"outcome": obj{"outcome": "cancelled"}}, nil
}

// blockOf returns the text of one content block.
func blockOf(raw json.RawMessage) string {
	var b struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &b) // other blocks have no text
	return b.Text
}

// contentsOf returns the text of a call's contents.
func contentsOf(raw json.RawMessage) string {
	var list []struct {
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(raw, &list) // other contents have no text
	var texts []string
	for _, c := range list {
		texts = append(texts, strings.TrimRight(c.Content.Text, "\n"))
	}
	return strings.Join(texts, "\n")
}
