package eca_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// guest is a scripted agent behind the gateway. It offers a mode, a model and a level of thought,
// and acts on the verbs below, or else like the built-in one.
type guest struct {
	name    string
	choices []core.Choice // as it starts
	after   time.Duration // to start
	fails   error         // instead of starting

	mu    sync.Mutex // guards the fields below
	hosts map[core.SessionID]core.Host
	now   map[core.SessionID][]core.Choice
}

func (g *guest) agent(caps core.BackendCaps) core.Agent {
	g.hosts, g.now = map[core.SessionID]core.Host{}, map[core.SessionID][]core.Choice{}
	caps.OwnsHistory, caps.Steer = true, true
	return core.Agent{Name: g.name, External: true, Backend: &coretest.Backend{CapsNow: caps, Run: g.act, Begins: g.begins, Chooses: g.chooses}}
}

func (g *guest) begins(ctx context.Context, b core.Binding) error {
	if g.after > 0 {
		select {
		case <-time.After(g.after):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if g.fails != nil {
		return g.fails
	}
	g.mu.Lock()
	g.hosts[b.Meta.ID] = b.Host
	g.now[b.Meta.ID] = slices.Clone(g.choices)
	for id, value := range b.Settings.Choices.All() {
		g.setLocked(b.Meta.ID, id, value)
	}
	g.mu.Unlock()
	return g.publish(ctx, b.Meta.ID)
}

func (g *guest) setLocked(s core.SessionID, id, value string) {
	list := slices.Clone(g.now[s])
	for i := range list {
		if list[i].ID == id {
			list[i].Value = value
		}
	}
	g.now[s] = list
}

func (g *guest) publish(ctx context.Context, s core.SessionID) error {
	g.mu.Lock()
	host, o := g.hosts[s], core.Offered{Agent: g.name, Choices: g.now[s]}
	g.mu.Unlock()
	if g.choices != nil {
		o.Commands = []core.Command{{Name: "review", Description: "Reviews the branch"}, {Name: "vim"}}
	}
	return host.Publish(ctx, o)
}

func (g *guest) chooses(ctx context.Context, b core.Binding, id, value string) error {
	switch value {
	case "bypass":
		return errors.New("not as root")
	case "stuck":
		<-ctx.Done()
		return ctx.Err()
	}
	g.mu.Lock()
	g.setLocked(b.Meta.ID, id, value)
	g.mu.Unlock()
	return g.publish(ctx, b.Meta.ID)
}

func (g *guest) act(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	text, ok := t.Prompt()[0].(core.Text)
	if !ok {
		return act(ctx, t)
	}
	verb, rest, _ := strings.Cut(text.Text, " ")
	switch verb {
	case "permit":
		return g.permit(ctx, t, rest)
	case "foreign":
		g.mu.Lock()
		host := g.hosts[t.Meta().ID]
		g.mu.Unlock()
		return "", host.Publish(ctx, core.Foreign{Protocol: "acp", Raw: []byte(`{"sessionUpdate":"_later"}`), Text: rest})
	case "shows":
		content := map[string]core.Block{
			"image": core.Image{MIME: "image/png", Data: []byte("\x89PNG")}, "page": core.Link{URI: "https://example.com/x", Name: "x"}, "sound": core.Audio{MIME: "audio/wav", Data: []byte("RIFF")},
		}[rest]
		return "", t.Emit(ctx, core.Foreign{Protocol: "acp", Raw: []byte(`{"sessionUpdate":"agent_message_chunk"}`), Text: "[" + rest + "]", Content: []core.Block{content}})
	case "turn": // it chooses a mode itself
		g.mu.Lock()
		g.setLocked(t.Meta().ID, "mode", rest)
		g.mu.Unlock()
		return "", g.publish(ctx, t.Meta().ID)
	case "chosen":
		g.mu.Lock()
		said := ""
		for _, c := range g.now[t.Meta().ID] {
			said += c.ID + "=" + c.Value + " "
		}
		g.mu.Unlock()
		return "", t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: said + "model=" + t.Settings().Model})
	case "locked":
		return "", &core.SignInError{Agent: g.name, Text: "Please run /login"}
	}
	return act(ctx, t)
}

// permit asks whether a command may run: TITLE|ID=LABEL=DECISION|…
func (g *guest) permit(ctx context.Context, t *core.Turn, rest string) (core.StopReason, error) {
	parts := strings.Split(rest, "|")
	c := core.Call{
		ID: t.NewCall(), Turn: t.ID(), Server: g.name, Tool: "Bash", Title: parts[0], Kind: core.KindExecute, State: core.Proposed,
		Args: coretest.Args(map[string]string{"command": "rm -r build"}), Locations: []core.Location{{Path: "/w/build"}},
	}
	if err := t.Emit(ctx, core.CallChanged{Call: c}); err != nil {
		return "", err
	}
	options := []core.Option{}
	for _, part := range parts[1:] {
		f := strings.Split(part, "=")
		options = append(options, core.Option{ID: f[0], Label: f[1], Decision: core.Decision(f[2])})
	}
	g.mu.Lock()
	host := g.hosts[t.Meta().ID]
	g.mu.Unlock()
	r, err := host.Authorize(ctx, core.Request{Call: c, Spec: core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute}, Options: options})
	if err != nil {
		return "", err
	}
	if r.Decision.Allows() {
		c.State, c.Content = core.Succeeded, []core.Block{core.Text{Text: "removed"}}
		if err := t.Emit(ctx, core.CallChanged{Call: c}); err != nil {
			return "", err
		}
	}
	return "", t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: fmt.Sprintf("%s %s option=%s", r.Outcome, r.Decision, r.Option)})
}

// guests adds agents behind the gateway to a profile: claude has options and can be forked, plainer
// has none and can do nothing special, rewinder can go back and gets stuck at one of its models, and locked wants a login.
func guests(p *core.Profile) *core.Profile {
	values := func(ids ...string) (list []core.ChoiceValue) {
		for _, id := range ids {
			list = append(list, core.ChoiceValue{ID: id, Name: strings.ToUpper(id)})
		}
		return list
	}
	claude := &guest{name: "claude", after: 2 * time.Second, choices: []core.Choice{
		{ID: "mode", Name: "Mode", Category: "mode", Value: "ask", Values: values("ask", "plan", "bypass")},
		{ID: "model", Name: "Model", Category: "model", Value: "default", Values: values("default", "opus")},
		{ID: "effort", Name: "Effort", Category: "thought_level", Value: "low", Values: values("low", "high")},
		{ID: "fast", Name: "Fast", Boolean: true, Value: "false"},
	}}
	next := *p
	next.Agents = append(
		slices.Clone(p.Agents),
		claude.agent(core.BackendCaps{Fork: true}),
		(&guest{name: "plainer"}).agent(core.BackendCaps{}),
		(&guest{name: "rewinder", after: time.Second, choices: []core.Choice{
			{ID: "model", Category: "model", Value: "one", Values: values("one", "stuck")},
		}}).agent(core.BackendCaps{Rewind: true}),
		(&guest{name: "locked", fails: &core.SignInError{Agent: "locked", Text: "Please run /login"}}).agent(core.BackendCaps{}),
	)
	return &next
}
