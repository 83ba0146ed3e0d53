package mcp

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

// The tools that Codex's own server had, for those who used it.
const (
	toolCodex      = "codex"
	toolCodexReply = "codex-reply"

	codexWait = 3600 // seconds: these tools know no handle, so they wait as long as a tool of ours may
)

const codexInput = `{"type":"object","additionalProperties":false,"required":["prompt"],"properties":{
"prompt":{"type":"string","description":"What to begin the conversation with."},
"cwd":{"type":"string","description":"Where to work; relative paths begin where the server was started."},
"model":{"type":"string"},
"sandbox":{"type":"string","enum":["read-only","workspace-write","danger-full-access"]},
"approval-policy":{"type":"string","enum":["untrusted","on-request","never"]},
"base-instructions":{"type":"string","description":"Not supported here."},
"developer-instructions":{"type":"string","description":"Said to the agent before the prompt."},
"compact-prompt":{"type":"string","description":"Not supported here."},
"config":{"type":"object","additionalProperties":true,"description":"Not supported here."}}}`

const codexReplyInput = `{"type":"object","additionalProperties":false,"required":["prompt"],"properties":{
"prompt":{"type":"string","description":"What to say next."},
"threadId":{"type":"string","description":"The conversation, as codex returned it."},
"conversationId":{"type":"string","description":"Deprecated: use threadId."}}}`

const codexOutput = `{"type":"object","required":["threadId","content"],"properties":{"threadId":{"type":"string"},"content":{"type":"string"}}}`

type codexArgs struct {
	Prompt    string         `json:"prompt"`
	Cwd       string         `json:"cwd"`
	Model     string         `json:"model"`
	Sandbox   string         `json:"sandbox"`
	Approval  string         `json:"approval-policy"`
	Base      string         `json:"base-instructions"`
	Developer string         `json:"developer-instructions"`
	Compact   string         `json:"compact-prompt"`
	Config    map[string]any `json:"config"`
}

type codexReplyArgs struct {
	Prompt       string         `json:"prompt"`
	Thread       core.SessionID `json:"threadId"`
	Conversation core.SessionID `json:"conversationId"`
}

type codexResult struct {
	Thread  core.SessionID `json:"threadId"`
	Content string         `json:"content"`
}

func (h *host) addCodexTools(s *mcp.Server) {
	add(h, s, &mcp.Tool{
		Name: toolCodex, Title: "Codex", Description: "Begin a conversation with a coding agent; returns its answer and the threadId to go on with.",
		InputSchema: raw(codexInput), OutputSchema: raw(codexOutput),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: yes(true), OpenWorldHint: yes(true)},
	}, (*client).codex)
	add(h, s, &mcp.Tool{
		Name: toolCodexReply, Title: "Codex Reply", Description: "Go on with a conversation that codex began.",
		InputSchema: raw(codexReplyInput), OutputSchema: raw(codexOutput),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: yes(true), OpenWorldHint: yes(true)},
	}, (*client).codexReply)
}

// codex is agent_prompt under another name.
func (c *client) codex(ctx context.Context, by *call, req *mcp.CallToolRequest, in codexArgs) (*mcp.CallToolResult, any, error) {
	for what, given := range map[string]bool{"base-instructions": in.Base != "", "compact-prompt": in.Compact != "", "config": len(in.Config) > 0} {
		if given {
			return refusal("%s is not supported here: what it would change stands in the gateway's configuration.", what), nil, nil
		}
	}
	approvals, err := codexApprovals(in.Sandbox, in.Approval, c.server.opts.Settings().AllowAuto)
	if err != nil {
		return failed("", err)
	}
	p := promptArgs{Prompt: in.Prompt, Cwd: in.Cwd, Model: in.Model, Approvals: approvals}
	if in.Cwd != "" && !filepath.IsAbs(in.Cwd) {
		p.Cwd = filepath.Join(c.server.opts.Cwd, in.Cwd)
	}
	if in.Developer != "" {
		p.Prompt = "Instructions of the developer:\n" + in.Developer + "\n\n" + p.Prompt
	}
	return c.codexPrompt(ctx, by, req, p)
}

// codexReply goes on with the approvals that the conversation began with.
func (c *client) codexReply(ctx context.Context, by *call, req *mcp.CallToolRequest, in codexReplyArgs) (*mcp.CallToolResult, any, error) {
	id := cmp.Or(in.Thread, in.Conversation)
	if id == "" {
		return refusal("Say which conversation: threadId."), nil, nil
	}
	h, err := c.open(ctx, req, id)
	if err != nil {
		return failed(id, err)
	}
	p := promptArgs{Prompt: in.Prompt, Session: id}
	for rec, err := range h.a.Records(ctx, core.Pos{}, h.a.Head()) {
		if err != nil {
			return failed(id, err)
		}
		if e, ok := rec.Event.(core.TurnStarted); ok {
			p.Approvals = e.Origin.Approvals
			break
		}
	}
	if p.Approvals == core.ApprovalsAuto && !c.server.opts.Settings().AllowAuto { // it was, when that turn began
		p.Approvals = core.ApprovalsAsk
	}
	return c.codexPrompt(ctx, by, req, p)
}

func (c *client) codexPrompt(ctx context.Context, by *call, req *mcp.CallToolRequest, p promptArgs) (*mcp.CallToolResult, any, error) {
	wait := codexWait
	p.Wait = &wait
	res, out, err := c.prompt(context.WithValue(ctx, taskSlot{}, nil), by, req, p) // no task: its result would be another
	r, ok := out.(turnResult)
	if err != nil || !ok {
		return res, out, err
	}
	text := r.say()
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: res.IsError}, codexResult{r.Session, text}, nil
}

// codexApprovals maps what Codex calls sandbox and approval policy on what we can hold to. There is
// no sandbox here: what is confined to the workspace is confined by asking, so that nothing is run
// unasked there; and what is to be run without limits is only where the configuration allows it.
func codexApprovals(sandbox, policy string, allowAuto bool) (core.Approvals, error) {
	switch {
	case sandbox == "read-only":
		return core.ApprovalsReadOnly, nil
	case sandbox == "danger-full-access" && !allowAuto:
		return "", errText(fmt.Sprintf("sandbox %q is not allowed here: the gateway's configuration must grant it (mcp.allow_auto).", sandbox))
	case sandbox == "danger-full-access" && policy == "never":
		return core.ApprovalsAuto, nil
	case policy == "never" && sandbox == "" && allowAuto:
		return core.ApprovalsAuto, nil
	case policy == "never":
		return core.ApprovalsDeny, nil
	}
	return core.ApprovalsAsk, nil
}
