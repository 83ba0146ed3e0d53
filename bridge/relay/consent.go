package relay

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
)

// maxDialogs limits the forms that are with the user of one session.
const maxDialogs = 64

// dialogMark returns the prefix of the ids of our forms, by which their answers are recognized even
// if nobody waits for them any more. It is random for each process, so no server can guess it.
var dialogMark = sync.OnceValue(rand.Text)

// reply is the answer to a form, or the reason why there is none.
type reply struct {
	res json.RawMessage
	err error
}

// dialogs are the open forms about calls, which we have sent to a relay's clients. Their answers
// go to no server.
type dialogs struct {
	mu     sync.Mutex         // guards the fields below
	open   map[string]*dialog // by the request's id
	closed bool
}

// dialog is one form.
type dialog struct {
	of     callID
	id     string
	answer chan reply // takes one
	back   bool       // it was withdrawn; set before answer has a value
}

// callID identifies a call of a client's.
type callID struct {
	session string // "" over a pipe
	id      string // as it was written; "": all calls of the session
}

// errClientLeft is the reason for the end of a form; the text before it names the client.
var errClientLeft = errors.New("its connection has ended")

func newDialogs() *dialogs { return &dialogs{open: map[string]*dialog{}} }

// begin makes a dialog about a call.
func (ds *dialogs) begin(of callID) (*dialog, error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.closed {
		return nil, errClientLeft
	}
	n := 0
	for _, d := range ds.open {
		if d.of.session == of.session {
			n++
		}
	}
	if n >= maxDialogs {
		return nil, jrpc2.Errorf(wire.CodeBusy, "%d questions are with the client already", maxDialogs)
	}
	d := &dialog{of: of, id: dialogMark() + rand.Text(), answer: make(chan reply, 1)}
	ds.open[d.id] = d
	return d, nil
}

// request is the message that shows the form.
func (d *dialog) request(form json.RawMessage) []byte {
	return requestLine(wire.JSON(d.id), proto.MethodElicit, form)
}

// withdrawal is the message that withdraws the form.
func (d *dialog) withdrawal() []byte { return withdrawal(wire.JSON(d.id), "") }

// answersUs reports whether a message is the answer to a form of ours, even if nobody waits for it.
func answersUs(m wire.Message) bool {
	return m.Kind() == wire.Response && strings.HasPrefix(string(m.ID), `"`+dialogMark())
}

// takes reports whether a message of a session is the answer to a form of ours, and passes it to the
// waiting call. The answer to a form that was withdrawn, or is another session's, is dropped.
func (ds *dialogs) takes(session string, m wire.Message) bool {
	if !answersUs(m) {
		return false
	}
	ds.mu.Lock()
	d := ds.open[strings.Trim(string(m.ID), `"`)]
	if d != nil && d.of.session != session {
		d = nil
	}
	if d != nil {
		delete(ds.open, d.id)
	}
	ds.mu.Unlock()
	if d != nil {
		res, err := resultOf(m)
		d.answer <- reply{res, err}
	}
	return true
}

// withdraw withdraws the forms about a call, or about all calls of a session, and reports whether
// there were any. The waiting calls get why.
func (ds *dialogs) withdraw(of callID, why error) bool {
	ds.mu.Lock()
	var gone []*dialog
	for id, d := range ds.open {
		if d.of.session == of.session && (of.id == "" || d.of.id == of.id) {
			delete(ds.open, id)
			gone = append(gone, d)
		}
	}
	ds.mu.Unlock()
	for _, d := range gone {
		d.end(why)
	}
	return len(gone) > 0
}

// close withdraws all forms. No more can be shown.
func (ds *dialogs) close() {
	ds.mu.Lock()
	open := ds.open
	ds.open, ds.closed = map[string]*dialog{}, true
	ds.mu.Unlock()
	for _, d := range open {
		d.end(errClientLeft)
	}
}

// end gives the waiting call the reason why there will be no answer.
func (d *dialog) end(why error) {
	d.back = true
	d.answer <- reply{err: why}
}

// sift removes the answers to our forms from a client's line. It returns nil if nothing is left.
func (ds *dialogs) sift(line []byte, messages []wire.Message) ([]byte, []wire.Message) {
	if !slices.ContainsFunc(messages, answersUs) {
		return line, messages
	}
	return editLine(line, messages, func(raw []byte, m wire.Message) []byte {
		if ds.takes("", m) {
			return nil
		}
		return raw
	})
}

// asks shows a call to the client's user, and sends it once they have agreed. It does not block.
func (c *pipeSession) asks(line []byte, o *request, v upstream.Ruling) {
	d, err := c.dialogs.begin(callID{id: string(o.id)})
	if err != nil {
		c.conclude(line, o, v, reply{err: err})
		return
	}
	_ = c.down.Put(d.request(v.Form)) // a client that has left is noticed by its stream
	c.owned.Go(func() {
		got := <-d.answer
		if d.back {
			_ = c.down.Put(d.withdrawal()) // as above
		}
		c.conclude(line, o, v, got)
	})
}

// conclude sends a call if the client's user has agreed, and refuses it if not. It ignores a call
// that was cancelled or answered meanwhile.
func (c *pipeSession) conclude(line []byte, o *request, v upstream.Ruling, got reply) {
	c.mu.Lock()
	open := c.open[string(o.id)] == o
	c.mu.Unlock()
	if !open {
		return
	}
	err := c.view.Decided(v, got.res, got.err)
	c.mu.Lock()
	open = c.open[string(o.id)] == o
	if open && err != nil {
		delete(c.open, string(o.id)) // c.last is not set before this has returned
	}
	c.mu.Unlock()
	switch {
	case !open:
	case err != nil:
		o.call.End(upstream.OutcomeRefused, 0)
		c.refuse(o.id, err)
	default:
		c.agreed(line, o)
	}
}

// agreed sends a call that the client's user has allowed. If the server was started again
// meanwhile, the call is judged again without asking the user.
func (c *pipeSession) agreed(line []byte, o *request) {
	o.agreed = true
	if !c.send(o.judged, line, o.line.messages, []*request{o}) {
		c.mu.Lock()
		delete(c.open, string(o.id))
		c.mu.Unlock()
		c.holdBack(o.line)
		return
	}
	c.mu.Lock()
	back := o.back
	c.mu.Unlock()
	if back { // the cancellation may have been sent before the call
		_ = o.judged.out.Put(withdrawal(o.id, "")) // a server that has left is noticed by its stream
	}
}
