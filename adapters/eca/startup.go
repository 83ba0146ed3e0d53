package eca

import (
	"context"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/clients"
	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/control"
)

// tasks are the steps of the start that a client shows. The Desktop client takes prompts as soon
// as no task is running, so all of them start before the first one ends.
var tasks = [...]eca.ProgressParams{
	{TaskID: "models", Title: "Loading models"},
	{TaskID: "tools", Title: "Loading tools"},
	{TaskID: "mcp-servers", Title: "Starting MCP servers"},
}

const (
	serversTask = len(tasks) - 1
	// maxStarting limits the time that the start of the servers is shown as a task.
	maxStarting = 2 * time.Second
)

// initialized handles initialized: from here on the client accepts notifications. Nothing here
// waits for the network; later news comes from the board.
func (s *Server) initialized(ctx context.Context, _ *wire.Call, _ noParams) error {
	posted, since := s.opts.Board.Now()
	s.pump.Do(func() { s.announce(ctx, posted) })
	s.wg.Go(func() { s.watchBoard(ctx, since) })
	return nil
}

// announce sends the notifications of the start. It belongs to the pump.
func (s *Server) announce(ctx context.Context, posted []board.Posting) {
	s.progress(eca.ProgressStart, tasks[:]...)
	o := s.offered()
	s.announced = o
	s.configUpdated("", o.Config(s.defaults(o)))
	if !slices.ContainsFunc(
		posted,
		func(p board.Posting) bool { return p.Topic.Kind == "server" && p.Topic.Name == core.Native },
	) {
		posted = append(
			posted,
			board.Posting{
				Topic: board.Topic{Kind: "server", Name: core.Native},
				Item:  board.Server{Name: core.Native, Status: "running"},
			},
		)
	}
	for _, posting := range posted {
		if item, ok := posting.Item.(board.Server); ok && s.concerns(posting.Topic) {
			s.announceServer(posting.Topic, item)
		}
	}
	for _, text := range []string{s.hintNow(), o.Fault} {
		if text != "" {
			s.showMessage(eca.MessageError, text)
		}
	}
	if len(s.jobs()) > 0 {
		s.announceJobs()
	}
	s.progress(eca.ProgressFinish, tasks[:serversTask]...)
	s.warm(ctx, o)
}

// warm starts the MCP servers. Their task ends when each runs or has failed, or at maxStarting,
// because a client may hold prompts back until then.
func (s *Server) warm(ctx context.Context, o *offer.Offer) {
	var settled <-chan struct{}
	if o.Profile != nil {
		if servers := control.Of(o.Profile); servers != nil {
			settled = servers.Warm(s.client(s.rootsNow()), s.rootsNow())
		}
	}
	if settled == nil {
		s.progress(eca.ProgressFinish, tasks[serversTask])
		return
	}
	s.wg.Go(func() {
		limit := time.NewTimer(maxStarting)
		defer limit.Stop()
		select {
		case <-settled:
		case <-limit.C:
		case <-ctx.Done():
		}
		s.behindBoard(func() { s.pump.Do(func() { s.progress(eca.ProgressFinish, tasks[serversTask]) }) })
	})
}

func (s *Server) progress(t eca.ProgressType, tasks ...eca.ProgressParams) {
	for _, task := range tasks {
		task.Type = t
		s.notify(eca.MethodProgress, task)
	}
}

// boardWatch is the revision of the board that was passed on, and the functions that wait for one.
type boardWatch struct {
	on    bool // the board is being watched
	seen  uint64
	later []func()
	revs  []uint64 // the revisions they wait for
}

// behindBoard calls do once the client has been notified of the board's current content.
func (s *Server) behindBoard(do func()) {
	_, rev := s.opts.Board.Now()
	s.mu.Lock()
	wait := s.board.on && s.board.seen < rev
	if wait {
		s.board.later, s.board.revs = append(s.board.later, do), append(s.board.revs, rev)
	}
	s.mu.Unlock()
	if !wait {
		do()
	}
}

// passedOn records the revision that was passed on, and calls the functions that waited for it.
func (s *Server) passedOn(rev uint64) {
	s.mu.Lock()
	s.board.on, s.board.seen = true, rev
	n := 0
	for n < len(s.board.revs) && s.board.revs[n] <= rev {
		n++
	}
	ready := s.board.later[:n]
	s.board.later, s.board.revs = s.board.later[n:], s.board.revs[n:]
	s.mu.Unlock()
	for _, do := range ready {
		do()
	}
}

// watchBoard passes on changes outside of the chats.
func (s *Server) watchBoard(ctx context.Context, since uint64) {
	for {
		s.passedOn(since)
		posted, rev, err := s.opts.Board.Next(ctx, since)
		if err != nil {
			return
		}
		since = rev
		for _, p := range posted {
			if s.concerns(p.Topic) {
				s.posted(ctx, p)
			}
		}
		if slices.ContainsFunc(
			posted,
			func(p board.Posting) bool { return p.Topic.Kind == jobTopic && s.concerns(p.Topic) },
		) {
			s.announceJobs()
		}
	}
}

func (s *Server) posted(ctx context.Context, p board.Posting) {
	switch item := p.Item.(type) {
	case board.Server:
		s.pump.Do(func() { s.announceServer(p.Topic, item) })
	case board.Models, board.Agents:
		s.refresh(ctx)
	case board.Present:
		if c := s.chat(p.Topic.Name); c != nil {
			s.pump.Do(func() { c.present(item.Clients) })
		}
	case board.Gone:
		switch p.Topic.Kind {
		case "session":
			s.gone(ctx, p.Topic.Name)
		case "server":
			s.pump.Do(func() { s.announceRemoval(p.Topic) })
		}
	case board.Account:
		s.announceAccount(ctx, item.Account)
	case board.Job: // all jobs are announced at once
	case board.Session, board.Commands: // clients ask for the list when they show it
	}
}

// concerns reports whether a topic concerns this connection.
func (s *Server) concerns(t board.Topic) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (t.Principal == "" || t.Principal == s.opts.Principal) &&
		(t.Workspace == "" || slices.Contains(s.roots, t.Workspace))
}

// reload makes a new offer if the profile has changed, and returns it. The client is not
// notified.
func (s *Server) reload(ctx context.Context) *offer.Offer {
	for range 3 { // another goroutine may find another profile meanwhile
		s.mu.Lock()
		roots, old := s.roots, s.offer
		s.mu.Unlock()
		o := s.offerIn(ctx, roots, old)
		s.mu.Lock()
		if s.offer == old {
			s.offer = o
			s.mu.Unlock()
			return o
		}
		s.mu.Unlock()
	}
	return s.offered()
}

// offerIn returns the offer in a workspace: the old one if nothing has changed.
func (s *Server) offerIn(ctx context.Context, roots []string, old *offer.Offer) *offer.Offer {
	prof, err := s.opts.Gateway.Profile(ctx, s.opts.Profiles, roots)
	fault := ""
	if err != nil {
		prof, fault = nil, "The configuration is wrong, and nothing can be prompted before it is mended:\n"+err.Error()
	}
	if prof == old.Profile && fault == old.Fault {
		return old
	}
	o := offer.New(prof)
	o.Known, o.Fault, o.Welcome = s.known, fault, s.welcome(prof, fault)
	return o
}

// refresh reloads, and notifies the client of a change that it does not know.
func (s *Server) refresh(ctx context.Context) *offer.Offer {
	o := s.reload(ctx)
	s.pump.Do(s.announceOffer)
	return o
}

// announceOffer announces the offer, unless the client knows it. It belongs to the pump.
func (s *Server) announceOffer() {
	o, old := s.offered(), s.announced
	if o.Profile == old.Profile && o.Fault == old.Fault {
		return
	}
	s.announced = o
	for _, c := range s.allChats() {
		if c.feed != nil {
			c.feed.view.offer = o
		}
	}
	s.announceChoices(o)
	if o.Fault != "" && o.Fault != old.Fault {
		s.showMessage(eca.MessageError, o.Fault)
	}
	if o.Mistake != "" && o.Mistake != old.Mistake {
		s.showMessage(eca.MessageWarning, o.Mistake)
		s.hintAt(o.Mistake)
	}
}

// welcome returns the text of an empty chat. It is never empty: the Emacs client needs a string,
// and before the first prompt shows errors only here.
func (s *Server) welcome(prof *core.Profile, fault string) string {
	var text string
	if s.opts.Welcome != nil {
		text = s.opts.Welcome(prof)
	} else {
		text = strings.TrimSpace("Welcome to dragoman "+s.opts.Version) + "."
	}
	if fault != "" {
		text += "\n\n" + fault
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// defaults returns the choices that a chat begins with.
func (s *Server) defaults(o *offer.Offer) (st offer.State) {
	s.mu.Lock()
	chosen := s.chosen
	s.mu.Unlock()
	o.Apply(chosen, &st)
	return st
}

func (s *Server) offered() *offer.Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

func (s *Server) rootsNow() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roots
}

func (s *Server) peerNow() peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer
}

// notify sends a notification. It belongs to the pump, so that nothing overtakes the feeds.
func (s *Server) notify(method string, params any) {
	_ = s.conn.Notify(method, params) // nobody reads after the connection has ended
}

// configUpdated sends config/updated, for one chat or for all.
func (s *Server) configUpdated(id core.SessionID, c *eca.ChatConfig) {
	s.listed = c
	s.notify(eca.MethodConfigUpdated, eca.ConfigUpdatedParams{ChatID: string(id), Chat: c})
}

// row returns what is known of the client.
func (s *Server) row() clients.Row { return clients.Of(s.peerNow().name) }

// showMessage sends $/showMessage, and says an error in the chat to a client that drops it.
func (s *Server) showMessage(t eca.MessageType, text string) {
	if s.row().Formats {
		text = strings.ReplaceAll(text, "%", "%%")
	}
	s.notify(eca.MethodShowMessage, eca.ShowMessageParams{Type: t, Message: text})
	if c := s.prompted; c != nil && t == eca.MessageError && s.row().Unshown {
		c.remark(text)
	}
}
