package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// external returns an external agent that offers a mode, a model, an effort and a switch. Without one
// of the words broken and login it starts.
func external(name string, has func(string) bool) *coretest.Backend {
	offered := core.Offered{Agent: name, Choices: []core.Choice{
		{ID: "mode", Name: "Mode", Category: "mode", Value: "ask", Values: []core.ChoiceValue{{ID: "ask", Name: "Always Ask"}, {ID: "bypass", Name: "Bypass Permissions"}}},
		{ID: "model", Name: "Model", Category: "model", Value: "sonnet", Values: []core.ChoiceValue{{ID: "sonnet", Name: "Sonnet"}, {ID: "opus", Name: "Opus"}, {ID: "sold out", Name: "None"}}},
		{ID: "fast", Name: "Fast mode", Category: "model_config", Boolean: true, Value: "false"},
	}}
	b := &coretest.Backend{
		Begins: func(ctx context.Context, b core.Binding) error {
			switch {
			case has("broken"):
				return errors.New("exec: claude-agent-acp: not found")
			case has("login"):
				return &core.SignInError{Agent: name, Text: "Invalid API key"}
			case has("bare"):
				return nil
			}
			return b.Host.Publish(ctx, offered)
		},
		Chooses: func(ctx context.Context, b core.Binding, id, value string) error {
			if value == "sold out" {
				return errors.New("there is no such model any more")
			}
			list := append([]core.Choice(nil), offered.Choices...)
			for i := range list {
				if list[i].ID == id {
					list[i].Value = value
				}
			}
			if id == "model" && value == "opus" { // its own option
				list = append(list, core.Choice{ID: "effort", Name: "Effort", Category: "thought_level", Value: "low", Values: []core.ChoiceValue{{ID: "low", Name: "Low"}, {ID: "high", Name: "High"}}})
			}
			offered.Choices = list
			return b.Host.Publish(ctx, offered)
		},
	}
	b.Run = func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
		text, _ := t.Prompt()[0].(core.Text)
		said := fmt.Sprintf("%s %v", t.Settings().Agent, t.Settings().Choices.All())
		if command, ok := strings.CutPrefix(text.Text, "permit "); ok {
			bindings := b.Bindings()
			r, err := permit(ctx, t, bindings[len(bindings)-1].Host, command)
			if err != nil {
				return "", err
			}
			said = fmt.Sprintf("answered: %s %s option=%s note=%s", r.Outcome, r.Decision, r.Option, r.Text)
		}
		return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: said})
	}
	return b
}

// permit asks for a command with a list that does not fit into yes, always and no.
func permit(ctx context.Context, t *core.Turn, host core.Host, command string) (core.Reply, error) {
	c := core.Call{
		ID: t.NewCall(), Turn: t.ID(), Server: "claude", Tool: "Bash", Title: command, Kind: core.KindExecute, State: core.Proposed,
		Args: coretest.Args(map[string]string{"command": command}),
	}
	if err := t.Emit(ctx, core.CallChanged{Call: c}); err != nil {
		return core.Reply{}, err
	}
	r, err := host.Authorize(ctx, core.Request{Call: c, Spec: core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute}, Options: []core.Option{
		{ID: "always", Label: "Always allow Bash(touch *)", Decision: core.AllowSession},
		{ID: "here", Label: "Allow in this folder", Decision: core.AllowOnce},
		{ID: "once", Label: "Allow", Description: "this time", Decision: core.AllowOnce},
		{ID: "edit", Label: "Edit the command"},
		{ID: "no", Label: "Reject", Decision: core.RejectOnce},
		{ID: "never", Label: "Never", Decision: core.RejectAlways},
	}})
	if err == nil && r.Decision.Allows() {
		c.State = core.Succeeded
		err = t.Emit(ctx, core.CallChanged{Call: c})
	}
	return r, err
}

// Each file is a conversation about external agents: claude, and plain, which offers no options. The
// words of a part's name say what the process has: auto grants approvals, and broken, login: claude does
// not start.
func TestExternalAgents(t *testing.T) {
	coretest.Golden(t, "testdata/external/*.txtar", *updateGolden, func(t *testing.T, _ string, ar *txtar.Archive) {
		store := coretest.NewMemory()
		dir := t.TempDir()
		for i, f := range ar.Files {
			has := func(word string) bool { return strings.Contains(f.Name, word) }
			synctest.Test(t, func(t *testing.T) {
				prof := &core.Profile{
					Agents: []core.Agent{
						{Name: "code", Backend: &coretest.Backend{Run: act}},
						{Name: "claude", External: true, Backend: external("claude", has)},
						{Name: "plain", External: true, Backend: external("plain", func(word string) bool { return word == "bare" })},
					},
					Models: inference.Models{List: []inference.ModelInfo{{ID: "offline/demo"}}}, Policy: asks,
				}
				var ids atomic.Int64
				ids.Store(10 * int64(i))
				g := core.New(core.Config{
					Store: store, Node: "test", AskMark: func() string { return "" },
					NewID:    func() string { return "s" + strconv.FormatInt(ids.Add(1), 10) },
					Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
				})
				peer, stop := serve(t, mcp.Options{Gateway: g, Principal: core.Local, Cwd: dir, Settings: func() mcp.Settings {
					return mcp.Settings{AllowAuto: has("auto"), ModelAnswers: true}
				}})
				p := player{peer: peer, dir: dir}
				got, err := p.script().Play(string(f.Data))
				if err != nil {
					t.Error(err)
				}
				ar.Files[i].Data = []byte(got)
				stop()
				if err := g.Close(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
		}
	})
}
