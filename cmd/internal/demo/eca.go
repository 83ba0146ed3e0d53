package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/adapters/wire"
	"dragoman/core/fileuri"
)

const chatID = "demo"

func playECA(ctx context.Context, c *instance, cast *cast) error {
	seen := &ecaScene{scene: scene{cast: cast}, over: make(chan struct{})}
	seen.conn = c.connect(ctx, wire.ContentLength, seen.handle)
	conn := seen.conn
	var hello struct {
		Server struct {
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	err := conn.Ask(ctx, "initialize", obj{
		"clientInfo": cast.client(), "capabilities": obj{"codeAssistant": obj{"chat": true}},
		"workspaceFolders": []any{obj{"uri": fileuri.Of(cast.workspace), "name": "notes"}},
	}, &hello)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	cast.cells.started(c, "initialize, initialized", hello.Server.Version)
	if err := conn.Notify("initialized", obj{}); err != nil {
		return err
	}
	cast.cells.add(stepPrompt, "→ chat/prompt", promptText)
	if err := conn.Ask(ctx, "chat/prompt", obj{"chatId": chatID, "message": promptText}, nil); err != nil {
		return fmt.Errorf("chat/prompt: %w", err)
	}
	select {
	case <-seen.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := conn.Ask(ctx, "shutdown", nil, nil); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	if err := conn.Notify("exit", nil); err != nil {
		return err
	}
	return seen.finish("← text")
}

// ecaScene is the editor's side of the act: it handles messages that the agent sends.
type ecaScene struct {
	scene
	conn *wire.Conn
	over chan struct{} // closed when the turn is over
	done bool          // the turn is over; guarded by mu
}

func (s *ecaScene) handle(call *wire.Call) {
	switch {
	case call.Method == "chat/contentReceived":
		s.content(params[ecaContent](call))
	case !call.IsNotification():
		call.Reply(nil, errors.New("the demo does not do this"))
	}
}

// ecaContent holds the parts of a chat/contentReceived that the demo reads.
type ecaContent struct {
	Role    string `json:"role"`
	Content struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		State   string `json:"state"`
		ID      string `json:"id"`
		Summary string `json:"summary"`
		Asks    bool   `json:"manualApproval"`
		Outputs []struct {
			Text string `json:"text"`
		} `json:"outputs"`
	} `json:"content"`
}

func (s *ecaScene) content(p ecaContent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := p.Content
	switch c.Type {
	case "text":
		if p.Role == "assistant" {
			s.text.WriteString(c.Text)
		}
	case "toolCallRun":
		if c.Asks {
			s.cast.cells.add(stepAsk, "← toolCallRun", "May it? "+c.Summary)
			s.cast.cells.add(stepDecide, "→ chat/toolCallApprove", "yes, once")
			_ = s.conn.Notify("chat/toolCallApprove", obj{"chatId": chatID, "toolCallId": c.ID}) // the turn shows a failure
		}
	case "toolCalled":
		var texts []string
		for _, o := range c.Outputs {
			texts = append(texts, strings.TrimRight(o.Text, "\n"))
		}
		s.called("← toolCalled", c.Summary, strings.Join(texts, "\n"))
	case "progress":
		if c.State == "finished" && !s.done {
			s.done = true
			s.cast.cells.add(stepEnd, "← progress", "finished")
			close(s.over)
		}
	}
}
