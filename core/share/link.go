package share

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/ide"
)

// link is a connection to the owner of a session, for the clients of this process.
type link struct {
	of      *Sharing
	address string
	client  *jrpc2.Client
	owning  atomic.Bool   // the other process owns the session
	ended   chan struct{} // closed when the connection has ended

	mu       sync.Mutex // guards the fields below
	session  *session   // nil: it was not opened
	attached map[string]*attaching
	shown    map[board.Topic]core.Profiles // what the owner has posted
}

// attaching is a client that is attached there, or about to be.
type attaching struct {
	a    *core.Attachment
	done chan struct{} // closed when err is set
	err  error
}

// refusedError is the answer of a process that refuses this one.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return e.why }

// dial connects to a process, which may refuse that (*refusedError).
func (s *Sharing) dial(ctx context.Context, at string) (*link, error) {
	to, err := parseAddress(at)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", to.path)
	if err != nil {
		return nil, err
	}
	l := &link{of: s, address: at, ended: make(chan struct{}), attached: map[string]*attaching{}, shown: map[board.Topic]core.Profiles{}}
	l.client = jrpc2.NewClient(newFrames(conn, maxMessage), &jrpc2.ClientOptions{
		OnNotify: l.notified, OnCallback: l.asked,
		OnStop: func(*jrpc2.Client, error) { close(l.ended) },
	})
	err = l.call(ctx, methodHello, helloParams{Version: version, Key: to.key, Config: s.o.Config, Node: s.o.Node}, nil)
	if err != nil {
		l.close()
		if is, ok := faultOf(err); ok {
			return nil, &refusedError{is.Error()}
		}
		return nil, err
	}
	return l, nil
}

// open begins to serve a session.
func (l *link) open(ctx context.Context, s *session) error {
	l.mu.Lock()
	l.session = s
	l.mu.Unlock()
	var now changedParams
	if err := l.call(ctx, methodOpen, openParams{s.key.principal, s.key.id}, &now); err != nil {
		return err
	}
	l.changed(s, now)
	return nil
}

func (l *link) owns() bool { return l.owning.Load() && !l.gone() }

// gone reports whether the connection has ended.
func (l *link) gone() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// close ends the connection, and waits for that.
func (l *link) close() { _ = l.client.Close() }

// call sends a request and waits for the result. An error that carries no fault (faultOf) leaves open
// what became of the request.
func (l *link) call(ctx context.Context, method string, params, result any) error {
	rsp, err := l.client.Call(ctx, method, params)
	if err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	return rsp.UnmarshalResult(result)
}

// notified handles a notification of the owner. It is called with the lock of the client, and does not
// block.
func (l *link) notified(req *jrpc2.Request) {
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	var now changedParams
	var told postedParams
	switch {
	case s == nil:
	case req.Method() == methodChanged && req.UnmarshalParams(&now) == nil:
		l.changed(s, now)
	case req.Method() == methodPosted && req.UnmarshalParams(&told) == nil:
		l.show(told)
	}
}

// changed notes what the owner has said about the session.
func (l *link) changed(s *session, now changedParams) {
	was := l.owning.Swap(now.Owned)
	s.mu.Lock()
	current := s.link == l
	s.mu.Unlock()
	if current {
		s.linked.Store(now.Owned)
	}
	s.presentOf(now.Present)
	if s.Head().Before(now.Written) || was != now.Owned {
		s.Look()
	}
	if now.Live != nil {
		s.Show(now.Live.Event)
	} else {
		s.Show(nil)
	}
}

// asked handles a request of the owner.
func (l *link) asked(ctx context.Context, req *jrpc2.Request) (any, error) {
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	switch req.Method() {
	case methodEditor:
		var ask editorParams
		if err := req.UnmarshalParams(&ask); err != nil {
			return nil, err
		}
		l.mu.Lock()
		is := l.attached[ask.Client]
		l.mu.Unlock()
		if is == nil {
			return editorResult{Lacks: "has left"}, nil
		}
		return askEditor(ctx, is.a.Client().Editor, ask), nil
	case methodShown:
		var p shownParams
		if err := req.UnmarshalParams(&p); err != nil || s == nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, p.Within)
		defer cancel()
		s.catchUp(ctx, p.Upto)
		s.ShownHere(ctx, p.Upto)
		return struct{}{}, nil
	}
	return nil, jrpc2.MethodNotFound.Err()
}

// attach attaches a client there, without waiting for that.
func (l *link) attach(a *core.Attachment) *attaching {
	id := a.Client().ID
	l.mu.Lock()
	defer l.mu.Unlock()
	if is := l.attached[id]; is != nil {
		return is
	}
	is := &attaching{a: a, done: make(chan struct{})}
	if l.gone() {
		is.err = net.ErrClosed
		close(is.done)
		return is
	}
	l.attached[id] = is
	l.session.wg.Go(func() {
		defer close(is.done)
		ctx, cancel := context.WithTimeout(l.of.base, patience)
		defer cancel()
		var p attachParams
		if p, is.err = l.of.describe(a); is.err == nil {
			is.err = l.call(ctx, methodAttach, p, nil)
		}
	})
	return is
}

// describe returns the message that describes a client.
func (s *Sharing) describe(a *core.Attachment) (p attachParams, err error) {
	c := a.Client()
	p = attachParams{
		ID: c.ID, Name: c.Name, Principal: c.Principal, Caller: c.Caller, Role: c.Role, Asks: c.Asks, Questions: c.Questions,
		FixedAnswers: c.FixedAnswers, NoForms: c.NoForms, NoPages: c.NoPages, Visible: c.Visible, Servers: c.Servers, System: c.System,
		Folders: orderOf(a).Folders,
	}
	if e := ide.Of(c.Editor); e != nil {
		caps := e.Caps()
		p.Editor = &caps
	}
	if c.Profiles != nil && s.o.Spec != nil {
		p.Profiles, err = s.o.Spec(c.Profiles)
	}
	return p, err
}

// detach takes a client off there, without waiting for that.
func (l *link) detach(a *core.Attachment, leave bool) {
	id := a.Client().ID
	l.mu.Lock()
	defer l.mu.Unlock()
	is := l.attached[id]
	delete(l.attached, id)
	if is == nil || l.gone() {
		return
	}
	l.session.wg.Go(func() {
		ctx, cancel := context.WithTimeout(l.of.base, patience)
		defer cancel()
		<-is.done
		_ = l.call(ctx, methodDetach, detachParams{id, leave}, nil) // the connection's end does the same
	})
}

// do sends a command of a client, which is attached first if it is not.
func (l *link) do(ctx context.Context, a *core.Attachment, o *order) (is done, err error) {
	at := l.attach(a)
	select {
	case <-at.done:
	case <-ctx.Done():
		return done{}, context.Cause(ctx)
	}
	if at.err != nil {
		l.mu.Lock()
		delete(l.attached, o.Client) // the next command tries again
		l.mu.Unlock()
		return done{}, at.err
	}
	if o.Until.IsZero() {
		o.Until = time.Now().Add(patience)
	}
	err = l.call(ctx, methodDo, o, &is)
	return is, err
}

var errNotOpen = errors.New("no session was opened on this connection")

// raw returns a value as JSON; null if it cannot be encoded.
func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}
