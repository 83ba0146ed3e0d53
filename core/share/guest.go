package share

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"

	"dragoman/core"
)

// guest is a connection of another process to this one, for the clients that it has in one session.
type guest struct {
	of    *Sharing
	conn  net.Conn
	key   string // that it has to name
	srv   *jrpc2.Server
	feeds sync.WaitGroup
	dirty chan struct{} // holds one token: there may be something to tell
	over  chan struct{} // closed when the connection has ended
	in    *frames
	greet sync.Once // the end of its silence
	// showing is set while the other process has not answered a methodShown.
	showing atomic.Bool

	mu      sync.Mutex // guards the fields below
	known   bool       // it has named the key
	node    string
	config  string        // of the other process
	session *session      // nil: it has opened none
	core    *core.Session // of session
	clients map[string]*member
}

// member is a client of the other process.
type member struct {
	at    *core.Attachment
	leave func() // ends its feed, and its connection's profiles

	mu      sync.Mutex // guards folders
	folders []string   // nil: those of the session
}

// maxMembers limits the clients on a connection.
const maxMembers = 256

func newGuest(s *Sharing, conn net.Conn, key string) *guest {
	return &guest{
		of: s, conn: conn, key: key, in: newFrames(conn, maxGreeting), dirty: make(chan struct{}, 1), over: make(chan struct{}),
		clients: map[string]*member{},
	}
}

// serve serves the connection to its end.
func (g *guest) serve() {
	g.srv = jrpc2.NewServer(handler.Map{
		methodHello: handler.New(g.hello), methodOpen: handler.New(g.open), methodAttach: handler.New(g.attach),
		methodDetach: handler.New(g.detach), methodDo: handler.New(g.do), methodDelete: handler.New(g.delete), methodStatus: handler.New(g.status),
	}, &jrpc2.ServerOptions{AllowPush: true, DisableBuiltin: true, Concurrency: 256, NewContext: func() context.Context { return g.of.base }})
	g.srv.Start(g.in)
	late := time.AfterFunc(cmp.Or(g.of.o.Greeting, 5*time.Second), func() {
		if !g.isKnown() {
			g.close()
		}
	})
	defer late.Stop()
	var telling sync.WaitGroup
	telling.Go(g.tell)
	_ = g.srv.Wait() // however it has ended
	close(g.over)
	telling.Wait()
	g.leave()
	g.feeds.Wait()
	g.of.gone(g)
}

// close ends the connection. serve takes its clients off.
func (g *guest) close() { _ = g.conn.Close() }

// leave takes all clients of the connection off.
func (g *guest) leave() {
	g.mu.Lock()
	s, list := g.session, g.clients
	g.clients = map[string]*member{}
	g.mu.Unlock()
	for _, m := range list {
		m.at.Close()
		m.leave()
	}
	if s != nil {
		s.mu.Lock()
		delete(s.guests, g)
		s.mu.Unlock()
	}
}

func (g *guest) isKnown() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known
}

// poke says that there may be something to tell.
func (g *guest) poke() {
	select {
	case g.dirty <- struct{}{}:
	default:
	}
}

// tell notifies the other process of what is new. A process that takes nothing holds up only this.
func (g *guest) tell() {
	var was string
	for {
		select {
		case <-g.dirty:
		case <-g.over:
			return
		}
		g.mu.Lock()
		s := g.session
		g.mu.Unlock()
		if s == nil {
			continue
		}
		now := raw(s.now())
		if string(now) == was {
			continue
		}
		was = string(now)
		if g.srv.Notify(g.of.base, methodChanged, now) != nil {
			return
		}
	}
}

// now returns what other processes have to know.
func (s *session) now() (p changedParams) {
	var live core.Event
	p.Written, live = s.Written()
	p.Owned = s.Owned()
	if live != nil {
		p.Live = &event{live}
	}
	s.mu.Lock()
	p.Present = s.present
	s.mu.Unlock()
	return p
}

// callback sends a request to the other process and waits for the result.
func (g *guest) callback(ctx context.Context, method string, params, result any) error {
	rsp, err := g.srv.Callback(ctx, method, params)
	if err != nil {
		return err
	}
	return rsp.UnmarshalResult(result)
}

var errStranger = errors.New("this process was not told the key of the socket, which is in the data folder")

func (g *guest) hello(_ context.Context, p helloParams) (struct{}, error) {
	var none struct{}
	switch {
	case p.Version != version:
		return none, withFault(fmt.Errorf("process %s is of another version of dragoman; use the same one", g.of.o.Node))
	case subtle.ConstantTimeCompare([]byte(p.Key), []byte(g.key)) != 1:
		return none, withFault(errStranger)
	}
	g.greet.Do(g.of.greeted)
	g.in.most.Store(maxMessage)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.node, g.config = true, p.Node, p.Config
	return none, nil
}

func (g *guest) open(ctx context.Context, p openParams) (is changedParams, err error) {
	g.mu.Lock()
	known, open, config := g.known, g.session, g.config
	g.mu.Unlock()
	switch {
	case !known || open != nil:
		return is, withFault(errStranger)
	case config != g.of.o.Config:
		return is, withFault(fmt.Errorf("%s uses another configuration (%s), and this process uses %s", g.of.o.Node, g.of.o.Config, config))
	}
	s, gateway := g.of.find(key{p.Principal, p.Session})
	if s == nil || gateway == nil {
		return is, withFault(errMoved)
	}
	cs, err := gateway.Open(ctx, p.Principal, p.Session)
	if err != nil {
		return is, withFault(err)
	}
	s.mu.Lock()
	ended := s.ended
	if !ended {
		s.guests[g] = struct{}{}
	}
	s.mu.Unlock()
	if ended {
		return is, withFault(errMoved)
	}
	g.mu.Lock()
	g.session, g.core = s, cs
	g.mu.Unlock()
	g.poke()
	return s.now(), nil
}

func (g *guest) attach(_ context.Context, p attachParams) (struct{}, error) {
	var none struct{}
	g.mu.Lock()
	cs, has, n, node := g.core, g.clients[p.ID], len(g.clients), cmp.Or(g.node, "another process")
	g.mu.Unlock()
	switch {
	case cs == nil:
		return none, withFault(errNotOpen)
	case has != nil:
		return none, nil
	case p.Principal != cs.Meta().Principal:
		return none, withFault(fmt.Errorf("attach a client of %q to a session of %q: only its own clients may use it", p.Principal, cs.Meta().Principal))
	case n >= maxMembers:
		return none, withFault(fmt.Errorf("a process may attach %d clients to a session", maxMembers))
	}
	m := &member{leave: func() {}, folders: p.Folders}
	c := core.Client{
		ID: p.ID, Name: p.Name, Principal: p.Principal, Caller: p.Caller, Role: p.Role, Remote: node, Visible: p.Visible, Asks: p.Asks,
		Questions: p.Questions, FixedAnswers: p.FixedAnswers, NoForms: p.NoForms, NoPages: p.NoPages, Servers: p.Servers, System: p.System,
	}
	if p.Folders != nil {
		c.Folders = m.foldersNow
	}
	if p.Editor != nil {
		c.Editor = remoteEditor{g, p.ID, *p.Editor}
	}
	if len(p.Profiles) > 0 && g.of.o.Profiles != nil {
		profiles, leave, err := g.of.o.Profiles(p.Principal, p.Profiles)
		if err != nil {
			return none, withFault(err)
		}
		c.Profiles, m.leave = profiles, leave
	}
	m.at = cs.Attach(c)
	ctx, stop := context.WithCancel(g.of.base)
	ends := m.leave
	m.leave = func() { stop(); ends() }
	g.mu.Lock()
	twice := g.clients[p.ID] != nil
	if !twice {
		g.clients[p.ID] = m
	}
	g.mu.Unlock()
	switch {
	case twice: // another request was quicker
		m.at.Close()
		m.leave()
	case c.Profiles != nil && c.Visible:
		g.feeds.Go(func() { g.feed(ctx, p.ID, m, cs.Meta().ID) })
	}
	select {
	case <-g.over: // leave may have missed it
		g.leave()
	default:
	}
	return none, nil
}

func (m *member) foldersNow() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.folders
}

func (g *guest) detach(_ context.Context, p detachParams) (struct{}, error) {
	g.mu.Lock()
	m := g.clients[p.ID]
	delete(g.clients, p.ID)
	g.mu.Unlock()
	if m != nil {
		if p.Leave {
			m.at.Leave()
		} else {
			m.at.Close()
		}
		m.leave()
	}
	return struct{}{}, nil
}

func (g *guest) delete(ctx context.Context, p deleteParams) (struct{}, error) {
	g.mu.Lock()
	known := g.known
	g.mu.Unlock()
	_, gateway := g.of.find(key{p.Principal, p.Session})
	if !known || gateway == nil {
		return struct{}{}, withFault(errStranger)
	}
	return struct{}{}, withFault(gateway.Delete(ctx, p.Principal, p.Session, p.Deletion))
}

var errLate = errors.New("the command came too late")

// do carries out an order once: if it comes again, with the same key, its result is sent again.
func (g *guest) do(ctx context.Context, o order) (done, error) {
	g.mu.Lock()
	s, m := g.session, g.clients[o.Client]
	g.mu.Unlock()
	if s == nil || m == nil {
		return done{}, withFault(errNotOpen)
	}
	r, was := s.results.of(o.Client + " " + o.Key)
	if was {
		<-r.done
		return r.is, withFault(r.err)
	}
	defer close(r.done)
	if time.Now().After(o.Until) {
		r.err = errLate
		return done{}, withFault(errLate)
	}
	if o.Folders != nil {
		m.mu.Lock()
		m.folders = o.Folders
		m.mu.Unlock()
	}
	r.is, r.err = s.carry(ctx, m.at, o)
	r.is.Head, _ = s.Written()
	return r.is, withFault(r.err)
}

// carry carries out an order of a client of another process.
func (s *session) carry(ctx context.Context, a *core.Attachment, o order) (is done, err error) {
	if a.Client().Role != core.Decide && o.Can == nil { // who watches may know what the agent can do
		return is, core.ErrObserver
	}
	if err := s.elsewhere(); err != nil {
		return is, err
	}
	s.rebase(&o)
	switch {
	case o.Prompt != nil && o.Prompt.Adopt != "":
		s.LocalSession.Adopt(s.of.base, a, o.Prompt.Adopt, o.Prompt.of())
	case o.Prompt != nil:
		is.Turn, err = a.Prompt(s.of.base, o.Prompt.of()) // the client cancels it by an order
	case o.Steer != nil:
		is.Took = a.Steer(*o.Steer)
	case o.Unsteer:
		a.Unsteer()
	case o.Cancel != nil:
		err = a.Cancel(ctx, o.Cancel.Turn, o.Cancel.reason())
	case o.Settle != nil:
		err = a.Answer(ctx, o.Settle.Ask, o.Settle.Reply) // in the name of the client, whatever the reply says
	case o.Append != nil:
		is.Message, err = s.add(ctx, a, o.Append)
	case o.Truncate != nil:
		err = a.Truncate(ctx, *o.Truncate)
	case o.Prepare:
		err = s.Prepare(ctx, a)
	case o.Choose != nil:
		err = s.Choose(ctx, a, o.Choose.ID, o.Choose.Value)
	case o.Can != nil:
		err = s.Can(ctx, a, o.Can...)
	case o.Job != nil:
		return s.job(ctx, a, o.Job)
	case o.Server != nil && s.of.o.Boards != nil:
		c := a.Client()
		err = s.of.o.Boards.Control(ctx, c.Profiles, c, a.Meta().Roots, o.Server.Name, o.Server.Start)
	}
	return is, err
}

// add appends the events of a client of another process, in its name.
func (s *session) add(ctx context.Context, a *core.Attachment, p *additions) (core.MessageID, error) {
	var list []core.Event
	for _, e := range p.Events {
		by := a.Client().Name
		switch e := any(e.Event).(type) {
		case core.SettingsChanged:
			e.By = by
			list = append(list, e)
		case core.Archived:
			e.By = by
			list = append(list, e)
		case core.Reverted:
			e.By = by
			list = append(list, e)
		case core.Flagged:
			e.By = by
			list = append(list, e)
		case core.TitleChanged:
			e.Auto = false
			list = append(list, e)
		case core.TextDelta:
			list = append(list, core.TextDelta{Text: e.Text})
		default:
			return "", fmt.Errorf("append %T: it is not a client's to make", e)
		}
	}
	return s.Append(ctx, a, p.Idle, list...)
}

// reason returns the reason of a cancellation.
func (c *cancel) reason() error {
	switch {
	case c.Gone:
		return core.ErrClientGone
	case c.Reason != "":
		return errors.New(c.Reason)
	}
	return core.ErrCanceled
}
