package mcp

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
)

// The session of a delegated task is not listed.
func TestSubSessionsAreNotListed(t *testing.T) {
	g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return &core.Profile{}, nil })})
	dir := t.TempDir()
	for _, m := range []core.Meta{{ID: "own", Principal: core.Local, Cwd: dir}, {ID: "handed-over", Principal: core.Local, Cwd: dir, Parent: "own"}} {
		if _, err := g.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	c := &client{server: &Server{opts: Options{Gateway: g, Principal: core.Local, Roots: []string{dir}}}, host: &host{of: access.Owner(core.Local)}}
	for _, cwd := range []string{"", dir} {
		list, err := c.summaries(t.Context(), nil, cwd)
		if err != nil || len(list) != 1 || list[0].ID != "own" {
			t.Errorf("in %q: %v, %v", cwd, list, err)
		}
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Trust given to a session in an editor does not extend to a calling model.
func TestTrustIsNotLent(t *testing.T) {
	c := &client{server: &Server{opts: Options{Settings: func() Settings { return Settings{AllowAuto: true} }}}, host: &host{of: access.Owner(core.Local)}}
	for given, want := range map[core.Approvals]core.Approvals{"": core.ApprovalsAsk, core.ApprovalsDeny: core.ApprovalsDeny, core.ApprovalsAuto: core.ApprovalsAuto} {
		p, err := c.composed(&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}, promptArgs{Prompt: "x", Approvals: given})
		if err != nil || p.Approvals != want {
			t.Errorf("approvals %q: %q, %v", given, p.Approvals, err)
		}
	}
	c.host.of.Rights &^= access.Answer
	if p, err := c.composed(&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}, promptArgs{Prompt: "x", Approvals: core.ApprovalsAuto}); err == nil {
		t.Errorf("a client that may not answer has approvals %q", p.Approvals)
	}
}
