package share

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/core"
)

// patience is the time for the owner of a session to carry out a command. It also limits the time in
// which a command looks for a new owner after the old one has ended.
const patience = 5 * time.Second

// startFor is that time for a command for which an agent may have to start.
const startFor = 2 * time.Minute

// session is an open session: the owner for its clients, around the one in this process. While another
// process owns it, session keeps a link to that, and sends commands there. While this process does, the
// guests are the others' links.
type session struct {
	core.LocalSession

	of     *Sharing
	key    key
	linked atomic.Bool // there is a link, and the other process owns the session
	wg     sync.WaitGroup

	results results

	mu      sync.Mutex // guards the fields below
	locals  int        // clients of this process
	link    *link      // nil: there is none
	guests  map[*guest]struct{}
	sent    map[core.TurnID]*sent // prompts of clients of this process, whose turns have not ended
	present []core.Attendee       // all clients; of another owner as it last said
	looking bool                  // a goroutine is in look
	again   bool                  // it must look again
	ended   bool
}

// sent is a prompt that the owner has accepted.
type sent struct {
	by     *core.Attachment
	prompt core.Prompt
	ctx    context.Context //nolint:containedctx // of Attachment.Prompt, which belongs to the prompt
	stop   func() bool     // stops watching ctx
}

var _ core.Peer = (*session)(nil)

// Attach implements core.Owner.
func (s *session) Attach(a *core.Attachment) {
	s.LocalSession.Attach(a)
	s.mu.Lock()
	if a.Client().Remote == "" {
		s.locals++
	}
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.attach(a)
	}
	s.clientsChanged()
	s.Changed()
}

// Detach implements core.Owner.
func (s *session) Detach(a *core.Attachment, leave bool) {
	here := slices.Contains(s.Clients(), a)
	s.LocalSession.Detach(a, leave)
	s.mu.Lock()
	if here && a.Client().Remote == "" {
		s.locals--
	}
	for id, p := range s.sent {
		if p.by == a {
			p.stop()
			delete(s.sent, id)
		}
	}
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.detach(a, leave)
	}
	s.clientsChanged()
	s.Changed()
}

// Linked implements core.Peer.
func (s *session) Linked() bool { return s.linked.Load() }

// Alone implements core.Peer.
func (s *session) Alone() bool { return s.of.alone() }

// Changed implements core.Peer.
func (s *session) Changed() {
	s.mu.Lock()
	for g := range s.guests {
		g.poke()
	}
	linked, here := s.link != nil || len(s.sent) > 0, s.locals > 0
	s.mu.Unlock()
	if linked || here && !s.Owned() { // an owner without either has nothing to look at
		s.look()
	}
}

// clientsChanged notes who the clients are, if this process knows, and shows that.
func (s *session) clientsChanged() {
	list := s.Attendees()
	s.mu.Lock()
	if s.link != nil && !s.link.gone() { // the other process says it
		s.mu.Unlock()
		return
	}
	s.present = list
	s.mu.Unlock()
	s.of.present(s.key, list)
}

// presentOf notes the clients as the owner has listed them.
func (s *session) presentOf(list []core.Attendee) {
	s.mu.Lock()
	same := slices.Equal(s.present, list)
	s.present = list
	s.mu.Unlock()
	if !same {
		s.of.present(s.key, list)
	}
}

// present shows the clients of a session.
func (s *Sharing) present(k key, list []core.Attendee) {
	if s.o.Present != nil {
		s.o.Present(k.principal, k.id, list)
	}
}

// End implements core.Peer.
func (s *session) End() {
	s.mu.Lock()
	s.ended = true
	l := s.link
	guests := make([]*guest, 0, len(s.guests))
	for g := range s.guests {
		guests = append(guests, g)
	}
	s.mu.Unlock()
	s.of.forget(s)
	for _, g := range guests {
		g.close()
	}
	if l != nil {
		l.close()
	}
	s.wg.Wait()
}

// forget takes a session that has closed off the list.
func (s *Sharing) forget(is *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[is.key] == is {
		delete(s.sessions, is.key)
	}
}

// look has a goroutine bring the link into the state that the session wants.
func (s *session) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again = true; !s.looking && !s.ended {
		s.looking = true
		s.wg.Go(s.lookAll)
	}
}

func (s *session) lookAll() {
	for {
		s.mu.Lock()
		if !s.again || s.ended {
			s.looking = false
			s.mu.Unlock()
			return
		}
		s.again = false
		s.mu.Unlock()
		s.lookOnce()
	}
}

// lookOnce closes the link of a session that this process owns now, opens one to the process that does,
// and forgets the prompts whose turns have ended.
func (s *session) lookOnce() {
	s.tidy()
	s.mu.Lock()
	l, wanted := s.link, s.locals > 0
	s.mu.Unlock()
	if s.Owned() {
		if l != nil {
			s.drop(l)
			l.close()
			s.clientsChanged()
		}
		s.adopt()
		return
	}
	if !wanted || l != nil && l.owns() {
		return
	}
	at := s.Address()
	if at == "" || l != nil && l.address == at {
		return
	}
	ctx, cancel := context.WithTimeout(s.of.base, patience)
	defer cancel()
	_, _ = s.linkTo(ctx, at) // the next command reports that it fails
}

// tidy forgets the prompts whose turns have ended.
func (s *session) tidy() {
	s.mu.Lock()
	none := len(s.sent) == 0
	s.mu.Unlock()
	if none {
		return
	}
	open := map[core.TurnID]bool{}
	s.View(func(st *core.State) {
		open[st.Turn] = true
		for _, id := range st.Queued {
			open[id] = true
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.sent {
		if !open[id] {
			p.stop()
			delete(s.sent, id)
		}
	}
}

// adopt makes the clients of this process those of their queued prompts again, after this process has
// become the owner.
func (s *session) adopt() {
	s.mu.Lock()
	list := s.sent
	s.sent = map[core.TurnID]*sent{}
	s.mu.Unlock()
	for id, p := range list {
		p.stop()
		s.LocalSession.Adopt(p.ctx, p.by, id, p.prompt)
	}
}

// linkTo returns a link to the process at an address: the one that there is, or a new one.
func (s *session) linkTo(ctx context.Context, at string) (*link, error) {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil && l.address == at && !l.gone() {
		return l, nil
	}
	next, err := s.of.dial(ctx, at)
	if err != nil {
		return nil, err
	}
	if err := next.open(ctx, s); err != nil {
		next.close()
		if is, ok := faultOf(err); ok && !moved(is) {
			err = &refusedError{is.Error()}
		}
		return nil, err
	}
	s.mu.Lock()
	if now := s.link; s.ended || now != l && now != nil && now.address == at && !now.gone() { // another goroutine was quicker
		s.mu.Unlock()
		next.close()
		if now == nil {
			return nil, core.ErrClosed
		}
		return now, nil
	}
	s.link = next
	s.wg.Go(func() { s.await(next) })
	s.mu.Unlock()
	s.linked.Store(next.owns())
	s.of.Address() // the socket shows others that this process has sessions of theirs open
	if l != nil {
		l.close()
	}
	for _, a := range s.Clients() {
		if a.Client().Remote == "" {
			next.attach(a)
		}
	}
	s.comeBack(next)
	return next, nil
}

// comeBack makes the clients of this process those of their queued prompts again, at a new owner.
func (s *session) comeBack(l *link) {
	s.mu.Lock()
	list := make(map[core.TurnID]*sent, len(s.sent))
	for id, p := range s.sent {
		list[id] = p
	}
	s.mu.Unlock()
	for id, p := range list {
		o := orderOf(p.by)
		o.Prompt = promptOf(p.prompt)
		o.Prompt.Adopt = id
		ctx, cancel := context.WithTimeout(s.of.base, patience)
		_, _ = l.do(ctx, p.by, o) // without an answer the prompt is carried out all the same
		cancel()
	}
}

// await waits for the end of a link. Then the session is looked at: its owner may have ended.
func (s *session) await(l *link) {
	<-l.ended
	l.hide()
	s.drop(l)
	s.Show(nil)
	s.Look()
	s.clientsChanged()
	s.look()
}

// drop forgets a link.
func (s *session) drop(l *link) {
	s.mu.Lock()
	if s.link == l {
		s.link = nil
		s.linked.Store(false)
	}
	s.mu.Unlock()
}

// command carries out a command here, or sends it to the session's owner. It does not wait for this process
// to read the log, which its owner may write more quickly.
func (s *session) command(ctx context.Context, a *core.Attachment, wait time.Duration, here func() error, o *order) (done, error) {
	if wait == patience { // it is carried out even if nobody waits for it any more
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errSlow)
	defer cancel()
	from := s.Head()
	for {
		err := s.elsewhere()
		if err == nil {
			err = here()
		}
		var owned *core.OwnedError
		if !errors.As(err, &owned) || owned.Address == "" || a.Client().Remote != "" {
			return done{}, err
		}
		is, sendErr := s.send(ctx, owned.Address, a, o)
		if sendErr == nil {
			s.catchUp(ctx, is.Head)
			return is, nil
		}
		if err, ok := faultOf(sendErr); ok && !moved(err) {
			return is, err
		}
		if ctx.Err() != nil {
			return is, fmt.Errorf("%w; the process does not answer (%w)", owned, context.Cause(ctx))
		}
		if refused := (*refusedError)(nil); errors.As(sendErr, &refused) {
			return is, fmt.Errorf("%w; it cannot be used from here: %w", owned, sendErr)
		}
		if s.recorded(ctx, a, o, from) {
			return is, nil
		}
		pause := time.NewTimer(20 * time.Millisecond) // until the owner's end shows
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// moved reports whether an answer says that the session has another owner, or will have.
func moved(err error) bool {
	return errors.Is(err, errMoved) || errors.Is(err, core.ErrShutdown) || errors.Is(err, core.ErrClosed)
}

var errSlow = errors.New("it took too long")

// send sends a command to the process at an address.
func (s *session) send(ctx context.Context, at string, a *core.Attachment, o *order) (done, error) {
	l, err := s.linkTo(ctx, at)
	if err != nil {
		return done{}, err
	}
	o.Until, _ = ctx.Deadline()
	return l.do(ctx, a, o)
}

// showFor is the longest time for which a command that was carried out waits for its effect to show here.
const showFor = time.Second

// catchUp reads the log up to what a command has added, for at most showFor.
func (s *session) catchUp(ctx context.Context, head core.Pos) {
	ctx, cancel := context.WithTimeout(ctx, showFor)
	defer cancel()
	for s.Head().Before(head) && ctx.Err() == nil {
		before := s.Head()
		if err := s.Follow(ctx); err != nil || s.Head() == before {
			return // the reader of the log reports it
		}
	}
}

// orderOf returns an order of a client.
func orderOf(a *core.Attachment) *order {
	o := &order{Client: a.Client().ID, Key: newKey()}
	if f := a.Client().Folders; f != nil {
		o.Folders = append([]string{}, f()...)
	}
	return o
}

func newKey() string { return strings.ToLower(rand.Text()) }

// Shown implements core.Peer.
func (s *session) Shown(ctx context.Context, upto core.Pos) {
	until, ok := ctx.Deadline()
	if !ok {
		return
	}
	s.mu.Lock()
	shown, n := make(chan struct{}, len(s.guests)), 0
	for g := range s.guests {
		// One that has not answered yet, because its process has stopped, is not asked again.
		if s.ended || g.showing.Swap(true) {
			continue
		}
		n++
		s.wg.Go(func() {
			_ = g.callback(s.of.base, methodShown, shownParams{Upto: upto, Within: time.Until(until)}, &struct{}{})
			g.showing.Store(false)
			shown <- struct{}{}
		})
	}
	s.mu.Unlock()
	for range n {
		select {
		case <-shown:
		case <-ctx.Done():
			return
		}
	}
}
