package egress

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"dragoman/core"
)

const (
	refusalTime  = 30 * time.Second // during which a refused host is not asked about again
	maxQuestions = 3                // that wait at the same time
	maxRefused   = 100              // hosts that are remembered as refused
	maxNotes     = 10               // of refusals that nobody has taken
)

// Session judges the addresses that the programs of one session want to reach: by the rules, and else
// by what a person says. Any goroutine may call its methods.
type Session struct {
	reach func(address string) core.Verdict
	ask   func(context.Context, core.Ask) (core.Reply, error)

	mu      sync.Mutex           // guards the fields below
	allowed map[string]bool      // hosts, for the session
	refused map[string]refusal   // by host, or by address
	waiting map[string]*question // by host
	notes   []Note
}

// Note is a connection that was refused.
type Note struct {
	Text   string
	Person bool // a person has refused it
}

type refusal struct {
	err error
	at  time.Time
}

// question is one that several connections may wait for. The first of them puts it.
type question struct {
	cancel context.CancelFunc // withdraws it
	users  int                // of Session.mu: connections that wait
	done   chan struct{}      // closed when err is set
	err    error
}

// NewSession returns the judge of a session. reach says what the rules decide about an address, and ask puts a consent
// to whoever uses the session, as core.ToolHost.Ask does.
func NewSession(reach func(address string) core.Verdict, ask func(context.Context, core.Ask) (core.Reply, error)) *Session {
	return &Session{reach: reach, ask: ask, allowed: map[string]bool{}, refused: map[string]refusal{}, waiting: map[string]*question{}}
}

// Serve serves a proxy on a listener, which it closes in the end. stop ends it and blocks for that.
func (g *Session) Serve(l net.Listener) (stop func()) { return Serve(l, g.Judge, nil).Close }

// ServeWith is Serve with a server of ours beside the proxy: it gets the requests that are for no
// proxy.
func (g *Session) ServeWith(local http.Handler) func(net.Listener) (stop func()) {
	return func(l net.Listener) (stop func()) { return Serve(l, g.Judge, local).Close }
}

// Judge implements Judge. Where a person must be asked it blocks until they have answered. An answer
// holds for a host and its port: for the connections that wait for it, or for the session.
func (g *Session) Judge(ctx context.Context, address string) error {
	v := g.reach(address)
	host := Host(address)
	switch v.Effect {
	case core.Allow:
		return nil
	case core.Deny:
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.refuse(address, refused(host, v.Why), false) // other pages of the host may be allowed
	case core.MustAsk:
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	q, first, err := g.join(host, v.Hard, cancel)
	if q == nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { g.leave(q) })()
	if first {
		g.put(life, q, host, v)
		return q.err
	}
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the question about a host, and whether the caller is to put it. nil: there is none, and
// the error says what holds.
func (g *Session) join(host string, hard bool, cancel context.CancelFunc) (q *question, first bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.allowed[host] && !hard {
		return nil, false, nil
	}
	if r, ok := g.refused[host]; ok && time.Since(r.at) < refusalTime {
		return nil, false, r.err
	}
	if q = g.waiting[host]; q != nil {
		q.users++
		return q, false, nil
	}
	if len(g.waiting) >= maxQuestions {
		return nil, false, refused(host, fmt.Sprintf("%d questions about other hosts wait for an answer", maxQuestions))
	}
	q = &question{cancel: cancel, users: 1, done: make(chan struct{})}
	g.waiting[host] = q
	return q, true, nil
}

// leave takes a connection that has ended off a question. Without any it is withdrawn.
func (g *Session) leave(q *question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.users--; q.users == 0 {
		q.cancel()
	}
}

// put puts a question, and settles it for all who wait.
func (g *Session) put(ctx context.Context, q *question, host string, v core.Verdict) {
	r, err := g.ask(ctx, questionAbout(host, v))
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiting, host)
	switch {
	case ctx.Err() != nil:
		q.err = ctx.Err()
	case err != nil:
		q.err = g.refuse(host, refused(host, err.Error()), false)
	case r.Outcome == core.OutcomeAnswered && r.Option == allowSession:
		g.allowed[host] = true
	case r.Outcome == core.OutcomeAnswered && r.Option == allowOnce:
	case r.Outcome == core.OutcomeAnswered, r.Outcome == core.OutcomeDeclined:
		q.err = g.refuse(host, refused(host, "the user said no"), true)
	default:
		q.err = g.refuse(host, refused(host, v.Why+", and nobody could be asked"), false)
	}
	close(q.done)
}

// Identifiers of the answers.
const (
	allowSession = "session"
	allowOnce    = "once"
)

// questionAbout returns the question about a host.
func questionAbout(host string, v core.Verdict) core.Ask {
	a := core.Ask{
		Kind: core.AskConsent, Hard: true,
		Text: "A command in the sandbox wants to connect to " + host + " (" + v.Why + "). Allow it?",
	}
	if !v.Hard {
		a.Options = append(a.Options, core.Option{ID: allowSession, Label: "Allow " + host + " for this session", Decision: core.AllowSession})
	}
	a.Options = append(a.Options,
		core.Option{ID: allowOnce, Label: "Allow this connection", Decision: core.AllowOnce},
		core.Option{ID: "no", Label: "Refuse it", Decision: core.RejectOnce},
	)
	return a
}

// refused is the error for the program.
func refused(host, why string) error {
	return fmt.Errorf("the sandbox refused a connection to %s: %s", host, why)
}

// refuse notes that an address or a host was refused, and returns the error. The caller holds mu.
func (g *Session) refuse(what string, err error, person bool) error {
	maps.DeleteFunc(g.refused, func(_ string, r refusal) bool { return time.Since(r.at) >= refusalTime })
	if _, known := g.refused[what]; !known && len(g.notes) < maxNotes {
		g.notes = append(g.notes, Note{Text: err.Error(), Person: person})
	}
	if len(g.refused) < maxRefused {
		g.refused[what] = refusal{err: err, at: time.Now()}
	}
	return err
}

// Notes returns what was refused since they were taken the last time.
func (g *Session) Notes() []Note {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.notes
	g.notes = nil
	return list
}
