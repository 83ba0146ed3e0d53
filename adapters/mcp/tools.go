package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/edge"
	"dragoman/adapters/mcp/permit"
	"dragoman/adapters/mcp/schema"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// The tools' names. The list is constant, and the SDK sorts it.
const (
	toolPrompt  = "agent_prompt"
	toolWait    = "agent_wait"
	toolCancel  = "agent_cancel"
	toolApprove = "agent_approve"
	toolList    = "session_list"
	toolGet     = "session_get"
	toolClose   = "session_close"
)

// inOrder reports whether the calls of a tool that name the same session keep their order.
func inOrder(tool string) bool {
	switch tool {
	case toolPrompt, toolWait, toolCancel, toolApprove, toolList, toolGet, toolClose:
		return true
	}
	return false
}

// large lets Claude Code keep results in its conversation that it would move to a file.
var large = mcp.Meta{"anthropic/maxResultSizeChars": 500_000}

// addTools adds the tools to the SDK's server, which reads their schemas: as long as it takes to
// answer initialize. So that is done when a client first asks for them.
func (h *host) addTools(s *mcp.Server) {
	add(h, s, &mcp.Tool{
		Name: toolPrompt, Title: "Prompt the agent",
		Description: "Give the agent a task or a question, in a new session or in the one named by session_id. Returns its answer, " +
			"or a handle with status \"running\" after wait_seconds: then call agent_wait.",
		InputSchema: raw(schema.PromptInput(nil)), OutputSchema: raw(schema.TurnOutput("")), Meta: large,
		Annotations: &mcp.ToolAnnotations{DestructiveHint: yes(true), OpenWorldHint: yes(true)},
	}, (*client).prompt)
	add(h, s, &mcp.Tool{
		Name: toolWait, Title: "Wait for the agent",
		Description: "Wait until a turn has ended, needs an approval, or wait_seconds have passed. Returns what agent_prompt returns, " +
			"and what has happened since the cursor given as after. Without turn_id: the newest turn.",
		InputSchema: raw(schema.WaitInput), OutputSchema: raw(schema.TurnOutput(schema.WaitMore)), Meta: large,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: yes(false)},
	}, (*client).wait)
	add(h, s, &mcp.Tool{
		Name: toolCancel, Title: "Stop the agent",
		Description: "Stop a turn; without turn_id, the running turn of the session. It is not an error if the turn has already ended.",
		InputSchema: raw(schema.CancelInput), OutputSchema: raw(schema.CancelOutput),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: yes(false), IdempotentHint: true, OpenWorldHint: yes(false)},
	}, (*client).cancel)
	add(h, s, &mcp.Tool{
		Name: toolApprove, Title: "Approve or reject a tool call, or answer a question",
		Description: "Decide on something that the agent may not do unasked (a pending approval of agent_prompt or agent_wait), or answer " +
			"what it asks (a pending question). Ask the user first and pass on the user's answer; never decide for the user. It can always " +
			"reject. It allows only what the approval's options offer: not what only a person may allow, nor anything while the client " +
			"asks its user itself (elicitation).",
		InputSchema: raw(schema.ApproveInput), OutputSchema: raw(schema.ApproveOutput),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: yes(true), OpenWorldHint: yes(true)},
	}, (*client).approve)
	add(h, s, &mcp.Tool{
		Name: toolList, Title: "List sessions",
		Description: "List sessions, the one used last first. With cwd only those that work in that directory.",
		InputSchema: raw(schema.ListInput), OutputSchema: raw(schema.ListOutput),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: yes(false)},
	}, (*client).list)
	add(h, s, &mcp.Tool{
		Name: toolGet, Title: "Read a session",
		Description: "Read what was said and done in a session, a page at a time: pass the cursor as after to read on.",
		InputSchema: raw(schema.GetInput), OutputSchema: raw(schema.GetOutput), Meta: large,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: yes(false)},
	}, (*client).get)
	add(h, s, &mcp.Tool{
		Name: toolClose, Title: "Close a session",
		Description: "End work with a session: what this client began in it is stopped. With delete the session is removed for good; " +
			"without, it can be continued later.",
		InputSchema: raw(schema.CloseInput), OutputSchema: raw(schema.CloseOutput),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: yes(true), IdempotentHint: true, OpenWorldHint: yes(false)},
	}, (*client).closeSession)
}

// listTools leaves out the tools that the holder may not call, and has agent_prompt name the agents of
// now.
func (h *host) listTools(ctx context.Context, req *mcp.ListToolsRequest, next mcp.MethodHandler) (mcp.Result, error) {
	res, err := next(ctx, proto.MethodListTools, req)
	list, ok := res.(*mcp.ListToolsResult)
	if err != nil || !ok {
		return res, err
	}
	list.Tools = slices.DeleteFunc(list.Tools, func(t *mcp.Tool) bool { return !permit.Tool(t.Name).Met(h.of.Rights) })
	h.server.opts.Look()
	agents := h.server.opts.Settings().Agents
	for i, t := range list.Tools {
		if t.Name == toolPrompt && len(agents) > 0 {
			own := *t // all clients have t
			own.InputSchema = raw(schema.PromptInput(agents))
			list.Tools[i] = &own
		}
	}
	return list, nil
}

// handler implements a tool. It has its place in the session's line when it is called, gives the
// place up when later calls may continue, and loses it when it returns.
type handler[In any] func(c *client, ctx context.Context, by *call, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error)

// add adds a tool. Its schema is read at its first call, because reading all of them would double
// the time until the answer to initialize.
func add[In any](h *host, s *mcp.Server, t *mcp.Tool, handle handler[In]) {
	schema := sync.OnceValues(func() (*jsonschema.Resolved, error) {
		var schema jsonschema.Schema
		if err := json.Unmarshal(t.InputSchema.(json.RawMessage), &schema); err != nil {
			return nil, err
		}
		return schema.Resolve(nil)
	})
	s.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := h.client(req)
		ctx, by, done := c.call(ctx, req.Extra)
		defer done()
		by.progress = newProgress(ctx, req, c.stalled)
		defer by.progress.follow()
		if err := by.Place.Wait(ctx); err != nil {
			return nil, err
		}
		defer by.Place.Leave()
		if by.Canceled() {
			return nil, core.ErrCanceled
		}
		args := req.Params.Arguments
		if large := by.TakeArguments(); large != nil {
			args = large
		}
		in, err := arguments[In](schema, args)
		if err != nil {
			return refusal("Wrong arguments: %v.", err), nil
		}
		res, out, err := handle(c, ctx, by, req, in)
		_, protocol := errors.AsType[*jsonrpc.Error](err)
		if err != nil && !protocol && ctx.Err() == nil {
			return refusal("%v", err), nil
		}
		if err != nil && !protocol {
			// Over a pipe this is not sent; over HTTP each request has an answer.
			const ended = "the call has ended: it was taken back, or the connection is closing"
			return nil, &jsonrpc.Error{Code: proto.CodeClosed, Message: ended}
		}
		if err != nil {
			return nil, err
		}
		if out != nil {
			res.StructuredContent = out
		}
		return res, nil
	})
}

// arguments decodes a call's arguments. Missing arguments, or null, count as an empty object, and
// an argument that is null as absent, because some clients fill in every argument with null. An
// error names the fault with respect to the schema, for the calling model to correct (2025-11-25,
// Tools, Error handling).
func arguments[In any](schema func() (*jsonschema.Resolved, error), args json.RawMessage) (in In, err error) {
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	v, err := checkable(args)
	if err != nil {
		return in, err
	}
	resolved, err := schema()
	if err != nil {
		return in, err
	}
	args = whole(resolved.Schema(), args, v)
	if err := resolved.Validate(v); err != nil {
		return in, errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return in, err
	}
	if len(args) > edge.LargeArgs {
		edge.Collect()
	}
	return in, nil
}

// whole replaces texts by the whole numbers that they are, where a schema wants such a number: many models
// write numbers as texts.
func whole(s *jsonschema.Schema, args json.RawMessage, v any) json.RawMessage {
	all, ok := v.(map[string]any)
	if !ok {
		return args
	}
	for name, value := range all {
		text, ok := value.(string)
		if p := s.Properties[name]; !ok || p == nil || p.Type != "integer" {
			continue
		}
		if n, err := strconv.Atoi(text); err == nil {
			all[name] = float64(n)
			args = wire.Edit(args, wire.Set(name, strconv.AppendInt(nil, int64(n), 10)))
		}
	}
	return args
}

// checkable returns arguments in a form for the check by a schema: without those that are null,
// and with a shorter text in place of a long one.
func checkable(args json.RawMessage) (any, error) {
	if !json.Valid(args) || args[0] != '{' {
		var v any
		return v, json.Unmarshal(args, &v)
	}
	const long = 64 << 10
	all := map[string]any{}
	for name, value := range wire.Members(args) {
		var v any
		if value[0] == '"' && len(value) > long {
			v = strings.Repeat("x", 8<<10) // longer than any limit in a schema
		} else if err := json.Unmarshal(value, &v); err != nil {
			return nil, err
		}
		if v != nil {
			all[string(name)] = v
		}
	}
	return all, nil
}

func raw(schema string) json.RawMessage { return json.RawMessage(schema) }

func yes(b bool) *bool { return &b }
