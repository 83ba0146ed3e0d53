package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"dragoman/core"
	"dragoman/core/egress"
	"dragoman/core/sandbox"
	"dragoman/core/shell"
)

// room is the sandbox in which a session's commands run.
type room struct {
	set    *toolset
	box    *sandbox.Session
	net    *egress.Session
	leave  func()         // ends what runs in it, and the questions; blocks for that
	asking sync.WaitGroup // questions about what was set aside

	mu       sync.Mutex // guards the fields below
	left     bool
	origin   core.Origin     // of the turn that has started a command last
	aside    []sandbox.Aside // that the model has not heard of
	troubles []string        // of changes that a person wanted
}

// enter returns the session's sandbox; nil: there are none, or the session has ended.
func (s *toolset) enter() *room {
	if s.opts.Sandboxes == nil || s.host == nil {
		return nil
	}
	s.mu.Lock()
	r, first := s.room, s.room == nil && !s.shut
	if first {
		r = newRoom(s)
		s.room = r
	}
	s.mu.Unlock()
	if first {
		if tmp := r.box.Tmp(); tmp != "" {
			s.files.Mount("/tmp", tmp)
		}
	}
	return r
}

func newRoom(s *toolset) *room {
	m := s.host.Meta()
	r := &room{set: s}
	r.net = egress.NewSession(r.reach, s.host.Ask)
	box, release := s.opts.Sandboxes.Hold(string(m.Principal)+" "+string(m.ID), r.workspace)
	r.box = box
	life, end := context.WithCancel(context.Background())
	r.leave = func() {
		r.mu.Lock()
		r.left = true
		r.mu.Unlock()
		end()
		release()
		r.asking.Wait()
	}
	box.OnAside(func(list []sandbox.Aside) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.left {
			return
		}
		r.aside = append(r.aside, list...)
		r.asking.Go(func() { r.settle(life, list) })
	})
	return r
}

// workspace describes to the sandbox where the session works.
func (r *room) workspace() sandbox.Workspace {
	w := r.set.opts.Workspace(r.set.host)
	if r.set.opts.Reach != nil {
		w.Serve = r.net.Serve
	}
	return w
}

// reach returns the verdict on a connection of the session's commands.
func (r *room) reach(address string) core.Verdict {
	r.mu.Lock()
	origin := r.origin
	r.mu.Unlock()
	h, spec := r.set.host, shellSpec(r.set.shell)
	return r.set.opts.Reach(h, core.Check{
		Call: core.Call{Server: core.Native, Tool: spec.Name, Kind: spec.Kind}, Spec: spec,
		Access: []core.Access{{Op: core.OpNet, URL: address}}, Meta: h.Meta(), Settings: h.Settings(), Origin: origin,
	})
}

// starter returns what starts the session's commands, for a turn.
func (s *toolset) starter(o core.Origin) shell.Starter {
	if r := s.enter(); r != nil {
		r.mu.Lock()
		r.origin = o
		r.mu.Unlock()
		return r.box
	}
	return s.guard
}

// confined returns the level at which commands that run here are confined; "": they are not.
func (s *toolset) confined() string {
	r := s.enter()
	if r == nil {
		return ""
	}
	if level := r.box.Level(); level.Confines() {
		return string(level)
	}
	return ""
}

// level returns the level at which the next command will be confined; "": it will not. A job never
// runs in a terminal of the editor.
func (s *toolset) level(job bool) string {
	if !job && s.terminal() != nil {
		return ""
	}
	return s.confined()
}

// settle asks a person what becomes of changes that were set aside. Without an answer they stay
// there.
func (r *room) settle(ctx context.Context, list []sandbox.Aside) {
	const keep = "keep"
	reply, err := r.set.host.Ask(ctx, core.Ask{
		Kind: core.AskConsent,
		Text: "While a command ran, files changed that decide what runs later. The changes were undone and set aside:\n" + asideLines(list) + "\nMake them after all?",
		Options: []core.Option{
			{ID: keep, Label: "Make the changes", Decision: core.AllowOnce},
			{ID: "no", Label: "Leave the files as they were", Decision: core.RejectOnce},
		},
	})
	if err != nil || reply.Outcome != core.OutcomeAnswered || reply.Option != keep {
		return
	}
	for _, a := range list {
		if err := a.TakeBack(); err != nil {
			r.mu.Lock()
			r.troubles = append(r.troubles, fmt.Sprintf("%s could not be changed: %v", a.Path, err))
			r.mu.Unlock()
		}
	}
}

func asideLines(list []sandbox.Aside) string {
	const most = 20
	var lines []string
	for i, a := range list {
		if i == most {
			lines = append(lines, fmt.Sprintf("- and %d more", len(list)-most))
			break
		}
		lines = append(lines, "- "+visible(a.Path)+" "+string(a.Change))
	}
	return strings.Join(lines, "\n")
}

// remarks describe the changes that were set aside and the connections that were refused since the last
// command.
type remarks struct {
	text    string // for the model; "": nothing
	refused bool   // a connection
	person  bool   // who has refused one of them
}

// remarks returns what the sandbox has done since the last command.
func (s *toolset) remarks() (m remarks) {
	r := s.enter()
	if r == nil {
		return m
	}
	r.mu.Lock()
	list, troubles := r.aside, r.troubles
	r.aside, r.troubles = nil, nil
	r.mu.Unlock()
	var notes []string
	if len(list) > 0 {
		notes = append(notes, "[Changes to files that decide what runs later were undone and set aside. Only the user can make them:\n"+asideLines(list)+"]")
	}
	troubles = append(troubles, r.box.Notes()...)
	for _, n := range r.net.Notes() {
		m.refused, m.person = true, m.person || n.Person
		troubles = append(troubles, n.Text)
	}
	for _, t := range troubles {
		notes = append(notes, "["+visible(t)+"]")
	}
	m.text = strings.Join(notes, "\n")
	return m
}

// blamed returns what the sandbox probably has to do with the failure of a command; "": nothing.
func (s *toolset) blamed(printed string, end shell.Outcome, level string, m remarks) string {
	if level == "" || end.Why != shell.Ended || end.Code == 0 {
		return ""
	}
	if m.refused {
		return "a host was refused"
	}
	return sandbox.Sign(printed)
}

// outside asks a person whether a command that the sandbox has stopped is to run again without one,
// and reports whether it is. Only where the turn asks at all is anybody asked.
func (s *toolset) outside(ctx context.Context, inv core.Invocation, line, means string) bool {
	const again = "again"
	if a := inv.Origin.Approvals; a != "" && a != core.ApprovalsAsk || s.host.Settings().Trust {
		return false
	}
	r, err := s.host.Ask(ctx, core.Ask{
		Kind: core.AskConsent, Turn: inv.Turn, Call: inv.Call,
		Text: "The command failed, probably because of the sandbox: " + means + ". Run exactly this once without the sandbox, with all of your rights?\n" + codeBlock(line, s.shell.Name),
		Options: []core.Option{
			{ID: again, Label: "Run it once without the sandbox", Decision: core.AllowOnce},
			{ID: "no", Label: "Do not", Decision: core.RejectOnce},
		},
	})
	return err == nil && r.Outcome == core.OutcomeAnswered && r.Option == again
}
