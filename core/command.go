package core

import (
	"context"
	"slices"
	"strings"

	"dragoman/core/internal/slash"
)

// offered lists the commands of an agent's own in a session.
type offered struct {
	agent string
	list  []Command
}

// offering returns the Binding.Offer of an agent.
func (s *Session) offering(agent string) func([]Command) {
	return func(list []Command) {
		s.offer.Store(&offered{agent, slash.Own(list)})
		s.relist()
	}
}

// relist announces that the session's commands may be others.
func (s *Session) relist() {
	if l := s.g.cfg.Listing; l != nil {
		l.Offered(s.meta.Principal, s.meta.ID)
	}
}

// offers lists the commands of an agent's own; known is false where it has listed none yet. Those
// of an agent that does not run are in the log.
func (s *Session) offers(a Agent) (list []Command, known bool) {
	if o := s.offer.Load(); o != nil && o.agent == a.Name {
		return o.list, true
	}
	if o := s.State().Offered; a.External && o.Agent == a.Name {
		return slash.Own(o.Commands), true
	}
	return nil, false
}

// Commands lists the slash commands in the client's session: those of its profile, and those
// that the agent has listed. If both have the same name, the agent's wins if ours gives way
// (Command.GivesWay). Commands that need a capability which the agent is known to lack are left out.
func (g *Gateway) Commands(ctx context.Context, a *Attachment) ([]Command, error) {
	m := a.Meta()
	prof, err := g.profiles(a.client.Profiles).Rules(ctx, m.Roots) // turns and openings look for changes
	if err != nil {
		return nil, err
	}
	var list []Command
	if prof.Commands != nil {
		list = append([]Command{}, prof.Commands(ctx, m)...)
	}
	s := g.live(sessionKey{m.Principal, m.ID})
	agent, ok := prof.Agent(a.State().Settings.Agent)
	if s == nil || !ok {
		return list, nil
	}
	own, _ := s.offers(agent)
	return s.withLasting(slash.Merge(list, own, g.backends.known(agent)), a), nil
}

// Offers reports whether the turn's agent has a command of its own of a name. known is false
// where it has not listed its commands yet.
func (t *Turn) Offers(name string) (has, known bool) {
	a, err := t.agent()
	if err != nil {
		return false, true
	}
	list, known := t.s.offers(a)
	return slash.Has(list, name), known
}

// Can returns an *UnsupportedError if the turn's agent lacks a capability, and another error if
// that cannot be found out.
func (t *Turn) Can(ctx context.Context, what Capability) error {
	a, err := t.agent()
	if err != nil {
		return err
	}
	return t.s.g.can(ctx, a, what)
}

// Compact reports whether the user has requested that a summary replace the conversation, and
// the focus of the summary. Only the back end can do that.
func (t *Turn) Compact() (focus string, asked bool) {
	return t.command.Focus, t.command.Compact
}

// isCommand reports whether the prompt begins with a slash, as commands do.
func (t *Turn) isCommand() bool {
	if len(t.prompt.Blocks) == 0 {
		return false
	}
	first, _ := t.prompt.Blocks[0].(Text)
	return strings.HasPrefix(strings.TrimSpace(first.Text), "/")
}

// carryOut carries out a prompt that begins with a slash, before a back end is asked. over
// means that the turn is finished. A prompt for the back end gives the session its title here.
func (s *Session) carryOut(ctx context.Context, t *Turn) (over bool, err error) {
	if t.secret != nil {
		return true, t.Emit(ctx, TextDelta{Message: t.NewMessage(), Text: t.secret(ctx)})
	}
	if !t.isCommand() {
		return false, nil
	}
	typed := t.prompt.Blocks
	if run := t.Profile().Command; run != nil {
		is, known, err := run(ctx, t, strings.TrimSpace(typed[0].(Text).Text))
		switch {
		case err != nil:
			return false, err
		case !known:
		case is.Prompt != "":
			t.prompt.Blocks = slices.Concat([]Block{Text{Text: is.Prompt}}, typed[1:])
			if err := t.Emit(ctx, Expanded{Message: t.message, Text: is.Prompt}); err != nil {
				return false, err
			}
		case is.Compact:
			t.command = is
			return false, nil
		case is.Answer != "":
			return true, t.Emit(ctx, TextDelta{Message: t.NewMessage(), Text: is.Answer})
		default:
			return true, nil
		}
	}
	s.mu.Lock()
	titled := s.titledLocked(typed)
	s.mu.Unlock()
	return false, t.Emit(ctx, titled...)
}
