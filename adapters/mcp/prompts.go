package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
)

// commands lists the commands for prompts in the client's workspace. If the workspace is unknown,
// there are still the user's own.
func (h *host) commands(ctx context.Context, c *client, req clientRequest) ([]string, []core.Command, error) {
	roots, err := c.workspace(ctx, req, "")
	if err != nil {
		roots = nil
	}
	prof, err := h.server.opts.Gateway.Profile(ctx, h.server.opts.Profiles, roots)
	if err != nil {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	if prof.Commands == nil {
		return roots, nil, nil
	}
	// Prompts of MCP servers are passed on as prompts, or not at all.
	list := slices.DeleteFunc(slices.Clone(prof.Commands(ctx, core.Meta{Roots: roots})), func(c core.Command) bool { return c.Kind == core.CommandMCP })
	slices.SortStableFunc(list, func(a, b core.Command) int { return cmp.Compare(a.Name, b.Name) })
	return roots, list, nil
}

// listPrompts appends the commands to the last page of registered prompts.
func (h *host) listPrompts(ctx context.Context, req *mcp.ListPromptsRequest, next mcp.MethodHandler) (mcp.Result, error) {
	res, err := next(ctx, proto.MethodListPrompts, req)
	list, ok := res.(*mcp.ListPromptsResult)
	if err != nil || !ok || list.NextCursor != "" {
		return res, err
	}
	_, commands, err := h.commands(ctx, h.client(req), req)
	if err != nil {
		return nil, err
	}
	for _, c := range commands {
		p := &mcp.Prompt{Name: c.Name, Description: c.Description}
		for _, a := range c.Arguments {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		list.Prompts = append(list.Prompts, p)
	}
	return list, nil
}

// getPrompt returns the text that a command means; for a command that only our own agent can
// carry out, instructions to have it do so.
func (h *host) getPrompt(ctx context.Context, req *mcp.GetPromptRequest, next mcp.MethodHandler) (mcp.Result, error) {
	roots, commands, err := h.commands(ctx, h.client(req), req)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(commands, func(c core.Command) bool { return c.Name == req.Params.Name })
	if i < 0 {
		return next(ctx, proto.MethodGetPrompt, req)
	}
	cmd := commands[i]
	for _, a := range cmd.Arguments {
		if a.Required && req.Params.Arguments[a.Name] == "" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the prompt %q needs the argument %q", cmd.Name, a.Name)}
		}
	}
	text, ok := "", false
	if expand := h.server.opts.Expand; expand != nil {
		if text, ok, err = expand(ctx, roots, cmd.Name, req.Params.Arguments); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
	}
	if !ok {
		text = fmt.Sprintf("Call the tool %s with this prompt and pass on its answer:\n\n%s", toolPrompt, commandLine(cmd, req.Params.Arguments))
	}
	res := &promptResult{Description: cmd.Description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}
	if req.ProtocolVersion() >= proto.Modern {
		res.ResultType = proto.ResultComplete
	}
	return res, nil
}

// promptResult is a GetPromptResult; the SDK sets resultType only for prompts that are registered
// with it.
type promptResult struct {
	mcp.ResultBase
	Description string               `json:"description,omitempty"`
	Messages    []*mcp.PromptMessage `json:"messages"`
	ResultType  string               `json:"resultType,omitempty"`
}

// commandLine returns a command as a user types it.
func commandLine(c core.Command, args map[string]string) string {
	words := []string{"/" + c.Name}
	for _, a := range c.Arguments {
		v := args[a.Name]
		switch {
		case v == "":
		case strings.ContainsAny(v, " \t\n\"") && len(c.Arguments) > 1:
			words = append(words, `"`+strings.ReplaceAll(v, `"`, `\"`)+`"`)
		default:
			words = append(words, v)
		}
	}
	return strings.Join(words, " ")
}
