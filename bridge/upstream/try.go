package upstream

import (
	"context"
	"errors"
	"fmt"

	"dragoman/core"
	"dragoman/core/board"
)

// Trial is the result of a trial start of a server.
type Trial struct {
	board.Server
	Changes []Change
	Unused  []Change // the tools of a server of which nothing is pinned: it has not been used yet
}

// Change is a tool that differs from its pin: until the user agrees it cannot be used, and a
// model gets the old description.
type Change struct {
	Tool string
	Text string // the differences, line by line, with every character visible

	item []byte
}

// Try starts every server once, concurrently, returns their states, in their order, and ends them
// again. It pins nothing. It blocks until each runs or has failed, or ctx ends.
func (b *Box) Try(ctx context.Context, m core.Meta) ([]Trial, error) {
	b.pins.onlyLook()
	opened, err := b.Open(ctx, trialHost{m})
	if err != nil {
		return nil, err
	}
	ups := map[string]*upstream{}
	for _, u := range opened.(*set).ups {
		u.nudge()
		ups[u.server.Name] = u
	}
	var all []Trial
	for _, s := range b.list() {
		t := Trial{Server: board.Server{Name: s.Name, Status: statusDisabled}}
		if u := ups[s.Name]; u != nil {
			t.Status, t.Why = u.settled(ctx)
			pinned, err := b.pins.known(s.Name)
			for _, l := range u.known() {
				if err == nil && pinned == nil && b.pins.kept() {
					t.Unused = append(t.Unused, Change{Tool: l.spec.Name, item: l.raw})
				}
				t.Tools = append(t.Tools, l.spec)
				if l.change != "" {
					t.Changes = append(t.Changes, Change{Tool: l.spec.Name, Text: l.change, item: l.raw})
				}
			}
		}
		all = append(all, t)
	}
	return all, errors.Join(opened.Close(), context.Cause(ctx))
}

// Agree pins tools, all or none, as they were when they were tried: later changes need consent
// again. Tools of an unused server that are left out are new then.
func (b *Box) Agree(server string, changes []Change) error {
	if err := b.pins.agree(server, changes...); err != nil {
		return fmt.Errorf("keep what you have agreed to: %w", err)
	}
	return nil
}

// Forget removes the pins of a server. file is that of Options.PinFile.
func Forget(file, server string) error {
	p := pinsIn(file)
	if known, err := p.known(server); err != nil || known == nil {
		return err
	}
	return p.change(server, func(map[string]string) map[string]string { return nil })
}

// trialHost is a session without clients.
type trialHost struct{ meta core.Meta }

func (a trialHost) Meta() core.Meta           { return a.meta }
func (a trialHost) Editor(string) core.Editor { return nil }
func (a trialHost) Spills() core.Spills       { return nil }
func (a trialHost) Texts() *core.Texts        { return nil }

func (a trialHost) Servers() []core.ServerSpec { return nil }

func (a trialHost) Delegate(context.Context, core.Caller) (*core.Attachment, core.Settings, error) {
	return nil, core.Settings{}, errors.New("there is no user here")
}

func (trialHost) Changed(context.Context, string, func(core.Editor) bool) {}

func (a trialHost) Connection() core.Profiles { return nil }

func (a trialHost) Profile(context.Context) (*core.Profile, error) {
	return nil, errors.New("there is no user here")
}

func (a trialHost) Settings() core.Settings { return core.Settings{} }

func (a trialHost) Ask(context.Context, core.Ask) (core.Reply, error) {
	return core.Reply{Outcome: core.OutcomeAlone}, nil
}
