package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	proto "dragoman/adapters/proto/mcp"
)

// newSDK returns the SDK's server, with its capabilities, features and middleware.
func (h *host) newSDK() *mcp.Server {
	o := h.server.opts
	caps := &mcp.ServerCapabilities{
		Tools:       &mcp.ToolCapabilities{}, // the tools never change
		Prompts:     &mcp.PromptCapabilities{},
		Resources:   &mcp.ResourceCapabilities{Subscribe: true, ListChanged: true},
		Completions: &mcp.CompletionCapabilities{},
		Logging:     &mcp.LoggingCapabilities{}, //nolint:staticcheck // deprecated since 2026-07-28, but still there
	}
	caps.AddExtension(proto.ExtensionTasks, nil)
	if o.Capabilities != nil {
		o.Capabilities(caps)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "dragoman", Title: "Dragoman", Version: o.Version}, &mcp.ServerOptions{
		Instructions:       o.Instructions,
		Capabilities:       caps,
		CompletionHandler:  h.complete,
		SubscribeHandler:   h.subscribe,
		UnsubscribeHandler: h.unsubscribe,
		SetCacheable:       private,
		//nolint:staticcheck // as above
		RootsListChangedHandler: func(_ context.Context, req *mcp.RootsListChangedRequest) { h.client(req).rootsChanged() },
	})
	h.tools = sync.OnceFunc(func() { h.addTools(s) })
	h.addResources(s)
	h.addTasks(s)
	if o.Extend != nil {
		h.tools() // which it may replace
		o.Extend(s)
	}
	s.AddReceivingMiddleware(h.guard, h.lists)
	s.AddSendingMiddleware(h.unasked, keepAnswer)
	return s
}

// private keeps one person's data, sessions and prompts, out of caches that others share.
func private(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	switch req.(type) {
	case *mcp.ListPromptsRequest, *mcp.ListResourcesRequest, *mcp.ReadResourceRequest:
		c.CacheScope = "private"
	}
}

// guard keeps a client's message from ending the process: a panic is answered.
func (h *host) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				h.server.log.Error("handler panicked", zap.String("method", method), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		return next(ctx, method, req)
	}
}

// lists answers, or extends, lists that are not registered with the SDK: prompts and resources
// come and go with workspaces and sessions, and a call may become a task.
func (h *host) lists(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			return withoutExtensions(next(ctx, method, req))
		case *mcp.ListToolsRequest:
			h.tools()
			return h.listTools(ctx, r, next)
		case *mcp.ListPromptsRequest:
			return h.listPrompts(ctx, r, next)
		case *mcp.GetPromptRequest:
			return h.getPrompt(ctx, r, next)
		case *mcp.ListResourcesRequest:
			return h.listResources(ctx, r, next)
		case *mcp.ReadResourceRequest:
			res, err := next(ctx, method, req)
			return res, notFound(r.ProtocolVersion(), err)
		case *mcp.SubscribeRequest:
			res, err := next(ctx, method, req)
			return res, notFound(r.ProtocolVersion(), err)
		case *mcp.CallToolRequest:
			h.tools()
			return h.callTool(ctx, r, next)
		case *mcp.ServerRequest[*mcp.SetLoggingLevelParams]: //nolint:staticcheck // as above
			if !slices.Contains(levels, string(r.Params.Level)) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("there is no level %q; there are %s", r.Params.Level, strings.Join(levels, ", "))}
			}
			res, err := next(ctx, method, req)
			if err == nil {
				c := h.client(req)
				c.mu.Lock()
				c.level = string(r.Params.Level)
				c.mu.Unlock()
			}
			return res, err
		}
		return next(ctx, method, req)
	}
}

// notFound sets the code of the error for a missing resource that was valid up to 2025-11-25
// (Resources, Error Handling); the SDK only has that of 2026-07-28.
func notFound(version string, err error) error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || version >= proto.Modern || !strings.EqualFold(e.Message, "resource not found") {
		return err
	}
	older := *e
	older.Code = proto.CodeNoResource
	return &older
}

// withoutExtensions removes members that only 2026-07-28 has from results of the earlier
// versions.
func withoutExtensions(res mcp.Result, err error) (mcp.Result, error) {
	if r, ok := res.(*mcp.InitializeResult); ok && err == nil && r.Capabilities != nil {
		caps := *r.Capabilities
		caps.Extensions = nil
		r.Capabilities = &caps
	}
	return res, err
}

// unasked drops notifications that the SDK sends to every client and that this one has not asked
// for: changes of lists that it has never read.
func (h *host) unasked(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == proto.NoteResourcesChanged && !subscribed(req) && !h.client(req).hasListed() {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

// subscribed reports whether a notification answers a subscriptions/listen.
func subscribed(req mcp.Request) bool {
	p := req.GetParams()
	return p != nil && p.GetMeta()[proto.MetaSubscription] != nil
}

func (c *client) hasListed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listed
}
