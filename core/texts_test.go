package core_test

import (
	"context"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// What a session knows about the texts of files outlives its rest and its process, and so does the time
// of the first call that may have changed one, also if the call is hidden later. A reading call is none.
func TestTextsOutliveTheSession(t *testing.T) {
	store := coretest.NewMemory()
	var known *core.Texts
	tools := box(func(h core.ToolHost) coretest.Tools {
		use := func(name string, kind core.CallKind) coretest.Tool {
			return coretest.Tool{Is: core.Spec{Server: core.Native, Name: name, Kind: kind}, Runs: func(context.Context, core.Invocation) (core.Result, error) {
				known = h.Texts()
				if !known.Has("/a", core.TextSum{1}) {
					known.Add("/a", core.TextSum{1})
				}
				return core.Result{}, nil
			}}
		}
		return coretest.Tools{use("read", core.KindRead), use("run", core.KindExecute)}
	})
	prof := &core.Profile{
		Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			name := turn.Prompt()[0].(core.Text).Text
			_, err := turn.Invoke(ctx, core.Call{ID: core.CallID(turn.ID()), Server: core.Native, Tool: name})
			return core.StopEnd, err
		}}}},
		Toolboxes: []core.Toolbox{tools},
		Policy:    coretest.Policy(func(core.Check) core.Verdict { return core.Verdict{Effect: core.Allow} }),
	}
	open := func() (*core.Gateway, *core.Attachment) {
		g := core.New(core.Config{Store: store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		s, err := g.Open(t.Context(), core.Local, "s")
		if err != nil {
			s, err = g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w", Roots: []string{"/w"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return g, s.Attach(core.Client{Name: "tester"})
	}
	does := func(a *core.Attachment, what string) {
		t.Helper()
		r := a.Read(a.Head())
		follow(t, r, prompt(t, a, say(what)))
	}
	g, a := open()
	does(a, "read")
	if !known.Since().IsZero() {
		t.Errorf("reading has changed a file at %v", known.Since())
	}
	before := a.Head()
	does(a, "run")
	since := known.Since()
	if since.IsZero() {
		t.Error("running has changed no file")
	}
	if err := a.Truncate(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	closeGateway(t, g)

	first := known
	g, a = open()
	does(a, "read")
	if known == first || !known.Has("/a", core.TextSum{1}) || known.Since().Unix() != since.Unix() {
		t.Errorf("another process knows %v of %v", known.Since(), since)
	}
	closeGateway(t, g)
}
