package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"dragoman/adapters/wire"
)

func playMCP(ctx context.Context, c *instance, cast *cast) error {
	scene := &mcpScene{cast: cast}
	conn := c.connect(ctx, wire.Newline, scene.handle)
	var hello struct {
		Server struct {
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	err := conn.Ask(ctx, "initialize", obj{
		"protocolVersion": "2025-11-25", "capabilities": obj{"elicitation": obj{}}, "clientInfo": cast.client(),
	}, &hello)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	cast.cells.started(c, "initialize, initialized", hello.Server.Version)
	if err := conn.Notify("notifications/initialized", nil); err != nil {
		return err
	}
	cast.cells.add(stepPrompt, "→ tools/call agent_prompt", promptText)
	var result mcpResult
	err = conn.Ask(ctx, "tools/call", obj{
		"name": "agent_prompt", "arguments": obj{"prompt": promptText, "cwd": cast.workspace},
		"_meta": obj{"progressToken": "demo"},
	}, &result)
	if err != nil {
		return fmt.Errorf("tools/call: %w", err)
	}
	return scene.finish(result)
}

// mcpResult holds the parts of the tool's result that the demo reads.
type mcpResult struct {
	Failed bool `json:"isError"`
	Turn   struct {
		Status string `json:"status"`
		Text   string `json:"text"`
		Calls  []struct {
			Status  string `json:"status"`
			Summary string `json:"summary"`
		} `json:"tool_calls"`
	} `json:"structuredContent"`
}

// mcpScene is the client's side of the act: it handles messages that the agent sends.
type mcpScene struct {
	cast *cast

	mu       sync.Mutex // guards the field below
	progress bool
}

func (s *mcpScene) handle(call *wire.Call) {
	switch {
	case call.Method == "notifications/progress":
		s.mu.Lock()
		s.progress = true
		s.mu.Unlock()
	case call.Method == "elicitation/create":
		p := params[struct {
			Message string `json:"message"`
		}](call)
		question := strings.Split(p.Message, "\n")
		if len(question) > 1 {
			question = question[1:2] // the description of the call, without the tool's name before it
		}
		s.cast.cells.add(stepAsk, "← elicitation/create", "May it? "+question[0])
		s.cast.cells.add(stepDecide, "→ accept: allow_once", "yes, once")
		call.Reply(obj{"action": "accept", "content": obj{"decision": "allow_once"}}, nil)
	case !call.IsNotification():
		call.Reply(nil, errors.New("the demo does not do this"))
	}
}

func (s *mcpScene) finish(r mcpResult) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Failed || r.Turn.Status != "completed" {
		return fmt.Errorf("the turn ended with %q: %s", r.Turn.Status, r.Turn.Text)
	}
	if s.progress {
		s.cast.cells.add(stepRead, "← notifications/progress", "says what goes on")
	}
	ran := false
	for _, c := range r.Turn.Calls {
		step := stepRead
		if strings.Contains(c.Summary, commandLine) {
			step, ran = stepOutput, c.Status == "completed"
		}
		mark := "✗ "
		if c.Status == "completed" {
			mark = "✓ "
		}
		s.cast.cells.add(step, "← tool_calls in the result", mark+c.Summary)
	}
	s.cast.cells.add(stepText, "← text in the result", quoted(r.Turn.Text))
	s.cast.cells.add(stepEnd, "← status in the result", r.Turn.Status)
	return checkPlayed(ran, r.Turn.Text)
}
