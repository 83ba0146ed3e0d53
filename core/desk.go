package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"dragoman/core/internal/bench"
)

// desk holds the resources of a session for its turns. Only the goroutine that runs turns uses
// it, and close, after that goroutine has ended.
type desk struct {
	conv  Conversation
	caps  BackendCaps // of its back end; one that owns its history stays open at rest
	set   Settings
	tools *toolsets

	profile *Profile     // of the tools
	servers []ServerSpec // that the clients brought along when the tools were listed
}

// restDesk closes the resources that the next turn can open again. The toolsets stay open, with
// their servers and the servers' state.
func (s *Session) restDesk(ctx context.Context) error {
	d := &s.desk
	if d.tools != nil {
		d.tools.Forget()
	}
	if _, rests := d.conv.(Rester); d.caps.OwnsHistory && !rests && !s.stale() {
		return nil
	}
	return s.endConversation(ctx)
}

// quiet has the conversation and the toolsets rest, and reports whether nothing runs behind the session.
func (d *desk) quiet() bool {
	if r, ok := d.conv.(Rester); ok && !r.Rest() {
		return false
	}
	return !slices.ContainsFunc(d.tools.Sets(), func(t Toolset) bool {
		r, ok := t.(Rester)
		return ok && !r.Rest()
	})
}

// prepare opens the tools that the turn needs, or takes those that are open.
func (s *Session) prepare(ctx context.Context, t *Turn, prof *Profile) error {
	if err := s.prepareTools(ctx, prof); err != nil {
		return err
	}
	t.set, t.tools = s.State().Settings, s.desk.tools
	return nil
}

// look has the turn go by the profile of now.
func (s *Session) look(ctx context.Context, t *Turn) (*Profile, error) {
	prof, err := s.g.Profile(ctx, s.connection(), s.Meta().Roots)
	s.mu.Lock()
	t.profile = prof
	s.mu.Unlock()
	return prof, err
}

// converse opens the conversation that the turn needs, or takes the one that is open.
func (s *Session) converse(ctx context.Context, t *Turn) (Conversation, error) {
	agent, err := t.agent()
	if err != nil {
		return nil, err
	}
	if err = s.prepareConversation(ctx, agent, t.set, nil); err != nil {
		return nil, agent.fault(err)
	}
	caps, err := s.learn(ctx)
	if err == nil { // the agent may be another one than when the prompt was taken
		err = s.back.Load().Value.can(ctx, needsOf(t.prompt.Blocks)...)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	t.caps = caps
	s.mu.Unlock()
	return s.desk.conv, nil
}

// learn asks the back end of the conversation for its capabilities, on which the commands depend.
func (s *Session) learn(ctx context.Context) (BackendCaps, error) {
	caps, err := s.back.Load().Value.ask(ctx)
	if err == nil && caps != s.desk.caps {
		s.desk.caps = caps
		s.relist()
	}
	return caps, err
}

// connection returns the profiles of the client that has prompted last.
func (s *Session) connection() Profiles {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of
}

// rules looks at the configuration for a call that begins. What else the turn needs of a
// profile it takes from there.
func (s *Session) rules(ctx context.Context) (*Profile, error) {
	prof, err := s.g.profiles(s.connection()).Rules(ctx, s.Meta().Roots)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.turn != nil {
		s.turn.profile = prof
	}
	s.mu.Unlock()
	return prof, nil
}

// profile returns the profile of the running turn. Without a turn it reads the current one.
func (s *Session) profile(ctx context.Context) (*Profile, error) {
	s.mu.Lock()
	var prof *Profile
	if s.turn != nil {
		prof = s.turn.profile
	}
	s.mu.Unlock()
	if prof != nil {
		return prof, nil
	}
	return s.g.profiles(s.connection()).Rules(ctx, s.Meta().Roots)
}

func (s *Session) prepareTools(ctx context.Context, prof *Profile) error {
	d := &s.desk
	servers := host{s}.Servers()
	if d.tools != nil && (d.profile == prof || d.tools.Has(prof.Toolboxes)) {
		d.profile = prof // its policy; the jobs of the session continue
		if !reflect.DeepEqual(d.servers, servers) {
			d.servers = servers
			return d.tools.List(ctx)
		}
		return d.tools.Refresh(ctx)
	}
	b, err := bench.Open(d.tools, prof.Toolboxes,
		func(box Toolbox) (Toolset, error) { return box.Open(ctx, host{s}) }, s.g.shelf)
	if err != nil {
		return err
	}
	before := d.tools
	d.tools, d.profile, d.servers = b, prof, servers
	return errors.Join(before.Close(b), b.List(ctx))
}

// prepareConversation opens the conversation with an agent. fork is the agent's state of the
// original session, if this one is a copy (Binding.Fork).
func (s *Session) prepareConversation(ctx context.Context, agent Agent, set Settings, fork json.RawMessage) error {
	d := &s.desk
	if l := s.back.Load(); l != nil && l.Key != agent.revision() {
		if err := s.endConversation(ctx); err != nil {
			return fmt.Errorf("close the conversation with agent %s: %w", l.Key.name, err)
		}
	}
	if d.conv == nil {
		b := Binding{Meta: s.Meta(), Settings: set, Host: host{s}, Fork: fork, Offer: s.offering(agent.Name), Tools: d.tools.Specs(), Servers: host{s}.Servers()}
		s.view(func(st *State) {
			is := st.sides.Of(agent.Name)
			b.State, b.Heard = is.State, is.Heard
		})
		l, err := s.g.backends.lend(agent)
		if err != nil {
			return err
		}
		defer func() {
			if d.conv == nil { // also where Open has panicked
				s.g.backends.GiveBack(l)
			}
		}()
		conv, err := l.Value.Open(ctx, b)
		if err != nil {
			return err
		}
		s.back.Store(l)
		s.talk.Store(&conv)
		d.conv, d.set = conv, set
		return s.pin(ctx, agent)
	}
	if d.set == set {
		return nil
	}
	if err := d.conv.Set(ctx, set); err != nil {
		return err
	}
	d.set = set
	return nil
}

// closeDesk closes all resources.
func (s *Session) closeDesk(ctx context.Context) error {
	err := errors.Join(s.endConversation(ctx), s.desk.tools.Close(nil))
	s.desk = desk{}
	return err
}

// host is a session's interface for conversations and tools.
type host struct{ s *Session }

var (
	_ Host     = host{}
	_ ToolHost = host{}
)

func (h host) Meta() Meta { return h.s.Meta() }

func (h host) Spills() Spills { return h.s.journal }

// Servers lists the servers of the client that prompted last, and of others of its connection. Of several with
// the same name, that of the client whose name comes first counts.
func (h host) Servers() (list []ServerSpec) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	clients := h.s.clients.Some(func(a *Attachment) bool {
		return a.client.Role == Decide && (a == h.s.by || a.client.Profiles != nil && a.client.Profiles == h.s.of)
	})
	slices.SortFunc(clients, byName)
	for _, a := range clients {
		list = append(list, a.client.Servers...)
	}
	slices.SortStableFunc(list, func(a, b ServerSpec) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b ServerSpec) bool { return a.Name == b.Name })
}

func byName(a, b *Attachment) int { return cmp.Compare(a.client.Name, b.client.Name) }

// Editor is the one of the client that has prompted last. When that has left or has none, it is the one
// of another client of the same principal whose folders hold the path.
func (h host) Editor(path string) Editor {
	if a := h.serving(path); a != nil {
		return a.client.Editor
	}
	return nil
}

// serving returns the client whose editor that is; nil: none.
func (h host) serving(path string) *Attachment {
	h.s.mu.Lock()
	by := h.s.by
	_, here := h.s.clients[by]
	h.s.mu.Unlock()
	if here && by.client.Editor != nil {
		return by
	}
	for _, a := range h.near(path) {
		return a
	}
	return nil
}

// near lists the clients of the prompter's principal with an editor and folders that hold the path, by name.
func (h host) near(path string) (list []*Attachment) {
	path = cmp.Or(path, h.s.meta.Cwd)
	h.s.mu.Lock()
	person := h.s.meta.Principal
	if h.s.by != nil {
		person = h.s.by.client.Principal
	}
	list = h.s.clients.Some(func(a *Attachment) bool {
		return a.client.Editor != nil && a.client.Role == Decide && a.client.Principal == person
	})
	h.s.mu.Unlock()
	slices.SortFunc(list, byName)
	return slices.DeleteFunc(list, func(a *Attachment) bool {
		return !slices.ContainsFunc(a.folders(), func(dir string) bool { return within(dir, path) })
	})
}

// Changed implements ToolHost.
func (h host) Changed(ctx context.Context, path string, unsaved func(Editor) bool) {
	serving := h.serving(path)
	for _, a := range h.near(path) {
		if a != serving && unsaved(a.client.Editor) {
			text := fmt.Sprintf("%s has unsaved changes in %s, which the agent has changed on the disk.", a.client.Name, path)
			_ = h.Publish(ctx, Notice{Severity: Warning, Text: text}) // a session that cannot be stored says so
		}
	}
}

// deserted notes that the client that has prompted the running turn has left with its editor.
func (s *Session) deserted(a *Attachment) {
	if a.client.Editor == nil {
		return
	}
	from, again := "files come from the disk, and commands run here", false
	if next := (host{s}).serving(s.meta.Cwd); next != nil {
		from, again = "files come from "+next.client.Name, next.client.Name == a.client.Name
	}
	var wake []*Reader
	s.mu.Lock()
	if t := s.turn; t != nil && t.by == a && t.ctx.Err() == nil && s.closing == nil && s.epoch > 0 && !again {
		wake = s.appendLocked(Notice{Severity: Info, Text: a.client.Name + " has left. Its turn goes on: " + from + "."})
	}
	s.mu.Unlock()
	s.wake(wake)
}

// folders lists the client's folders of the session.
func (a *Attachment) folders() []string {
	if a.client.Folders != nil {
		return a.client.Folders()
	}
	return a.Meta().Roots
}

// within reports whether a path is a folder or lies in it. Both are absolute.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Delegate implements ToolHost.
func (h host) Delegate(ctx context.Context, by Caller) (*Attachment, Settings, error) {
	set := h.s.State().Settings
	if h.s.meta.Parent != "" {
		return nil, set, errors.New("delegate a task: an agent that works on a task cannot delegate another one")
	}
	child, err := h.s.child(ctx, set)
	if err != nil {
		return nil, set, fmt.Errorf("hand over a task: %w", err)
	}
	c := Client{
		Name: h.s.name(), Principal: h.s.meta.Principal, Caller: by, Asks: true, Questions: true,
		Profiles: h.s.connection(), task: true,
	}
	if e := h.Editor(""); e != nil {
		c.Editor = e.Lend(h.s.meta.ID)
	}
	return child.Attach(c), set, nil
}

// child makes a sub-session.
func (s *Session) child(ctx context.Context, set Settings) (*Session, error) {
	child, err := s.g.Create(ctx, Meta{
		Principal: s.meta.Principal, Cwd: s.meta.Cwd, Roots: s.Meta().Roots, Parent: s.meta.ID, ParentAgent: set.Agent,
	})
	if err == nil {
		child.mu.Lock()
		child.texts, child.parent, child.heeded = s.texts, s, set.Trust
		child.mu.Unlock()
	}
	return child, err
}

// name is that of the session as a client of those that work on its tasks.
func (s *Session) name() string { return "session " + string(s.meta.ID) }

// Sub implements Host.
func (h host) Sub(ctx context.Context, title string) (Host, *Attachment, error) {
	child, err := h.s.child(ctx, h.s.State().Settings)
	if err != nil {
		return nil, nil, err
	}
	at := child.Attach(Client{Name: h.s.name(), Principal: h.s.meta.Principal, Role: Observe})
	if err := (host{child}).Publish(ctx, TitleChanged{Title: title, Auto: true}); err != nil {
		at.Leave()
		return nil, nil, err
	}
	return host{child}, at, nil
}

func (h host) Connection() Profiles { return h.s.connection() }

func (h host) Profile(ctx context.Context) (*Profile, error) { return h.s.profile(ctx) }

func (h host) Settings() Settings { return h.s.State().Settings }

func (h host) Ask(ctx context.Context, a Ask) (Reply, error) {
	switch {
	case a.About != nil:
		a.Kind = AskApproval
	case a.Kind != AskConsent:
		a.Kind = AskQuestion
	}
	alone := false
	h.s.mu.Lock()
	t := h.s.turn
	if t != nil {
		a.Turn = cmp.Or(a.Turn, t.id)
		alone = t.origin.Approvals == ApprovalsDeny
	}
	a.Later = a.Later && t != nil
	h.s.mu.Unlock()
	if alone && a.Kind != AskApproval { // such a prompt says that there is no person
		return Reply{Outcome: OutcomeAlone}, nil
	}
	prof, err := h.s.profile(ctx)
	if err != nil {
		return Reply{}, err
	}
	done, err := h.s.own(ctx) // a server may ask while no turn runs
	if err != nil {
		return Reply{}, err
	}
	defer done()
	r, err := h.s.ask(ctx, a, prof.AskTimeout, nil)
	if r.Outcome == OutcomeLater && t != nil {
		h.s.mu.Lock()
		t.later = append(t.later, a)
		h.s.mu.Unlock()
	}
	return r, err
}
