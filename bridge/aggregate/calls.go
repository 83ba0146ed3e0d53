package aggregate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core/jsonscan"
)

// pass is a client's request on its way to a server, and its answer on the way back.
type pass struct {
	part   *part
	method string
	own    string // the server's own name for the tool or prompt; "": as in the request
	q      request
	after  func(json.RawMessage) json.RawMessage // rewrites the result; nil: it stays as it is
	kept   *upstream.Record

	mu      sync.Mutex // guards the fields below
	call    *wire.Call // nil: it was answered with questions, and the client will call again
	token   json.RawMessage
	asked   *wire.Ask
	watched bool   // Ended will be called
	forget  func() // gives up the progress token; nil: there is none
	reason  string // why the client has cancelled the call
	tried   bool
	over    bool
	inquiry
}

func (s *side) newPass(p *part, call *wire.Call, q request) *pass {
	s.busy.Add(1)
	return &pass{part: p, method: call.Method, call: call, q: q, token: q.token}
}

// relay passes a request on as it is.
func (s *side) relay(p *part, call *wire.Call, q request) {
	s.newPass(p, call, q).send()
}

// asks reports whether a server may ask the client questions during such a request.
func (x *pass) asks() bool {
	switch x.method {
	case proto.MethodCallTool, proto.MethodGetPrompt, proto.MethodReadResource:
		return true
	}
	return false
}

// send sends the request, once the server runs and has the log level for it.
func (x *pass) send() {
	if peer := x.part.running(); peer != nil && x.judgedFor(peer) && x.part.hasLevel(peer, x.q.level) {
		x.sendTo(peer)
		return
	}
	ctx := x.call.Context()
	x.part.side.caller.owned.Go(func() {
		peer, err := x.part.acquire(ctx, false)
		if err != nil {
			x.finish(nil, jrpc2.Errorf(jrpc2.InternalError, "%v", err))
			return
		}
		x.sendAgain(ctx, peer)
	})
}

// judgedFor reports whether the request can be sent on a connection without judging it again.
func (x *pass) judgedFor(peer *upstream.Peer) bool {
	return x.method != proto.MethodCallTool || x.part.agent() || !x.part.view.Pins() || x.q.judged == peer
}

// sendAgain sends the request on a connection that was made after the request had come. A call is
// judged again, by the tools that the server has now. Nobody is asked about it a second time.
func (x *pass) sendAgain(ctx context.Context, peer *upstream.Peer) {
	p := x.part
	if !x.judgedFor(peer) {
		err := p.unlisted(x.own)
		if peer = p.lookForCall(context.WithoutCancel(ctx)); peer != nil { // others may wait for the list, too
			_, err = p.permits(x.own, x.q, true)
		}
		if err != nil {
			x.kept.End(upstream.OutcomeRefused, 0)
			x.finish(nil, err)
			return
		}
	}
	p.setLevel(ctx, peer, x.q.level)
	x.sendTo(peer)
}

func (x *pass) sendTo(peer *upstream.Peer) {
	p := x.part
	var token json.RawMessage
	var forget func()
	if x.q.token != nil {
		token, forget = peer.Track(x.note)
	}
	x.mu.Lock()
	x.forget = forget
	call, watched := x.call, x.watched
	x.watched = true
	x.mu.Unlock()
	if !watched && call != nil {
		call.Watch(x)
	}
	if x.asks() {
		p.enter(x)
		p.silence.Begin(x, p.server.CallTimeout)
	}
	asked, err := peer.Conn.Start(
		x.method,
		orNothing(x.params(peer, token)),
		func(res json.RawMessage, err error) {
			x.answered(peer, res, err)
		},
	)
	if err != nil {
		p.side.caller.owned.Go(func() { x.lost(peer, false) })
		return
	}
	x.mu.Lock()
	x.asked = asked
	over, reason := x.over, x.reason
	x.mu.Unlock()
	if over { // it was cancelled meanwhile
		asked.WithdrawFor(reason)
	}
}

// params returns the parameters for the server: with its own name for the tool, a progress token
// of ours, and the metadata that its version requires.
func (x *pass) params(peer *upstream.Peer, token json.RawMessage) json.RawMessage {
	s := x.part.side
	var metas [8]wire.Member
	var alls [2]wire.Member
	meta, all := metas[:0], alls[:0]
	if token != nil {
		meta = append(meta, wire.Set(proto.MetaToken, token))
	}
	if !x.part.agent() {
		if x.method == proto.MethodCallTool {
			meta = append(meta, wire.Set(proto.MetaHops, hopped(x.q.hops)))
		}
		switch {
		case s.modern() && !peer.Modern():
			for _, name := range []string{proto.MetaVersion, proto.MetaClient, proto.MetaCapabilities, proto.MetaLevel} {
				meta = append(meta, wire.Set(name, nil))
			}
		case !s.modern() && peer.Modern():
			meta = append(meta, s.says()...)
		}
	}
	if len(meta) > 0 {
		whole := wire.Edit(x.q.meta, meta...)
		if len(whole) == 2 {
			whole = nil
		}
		all = append(all, wire.Set("_meta", whole))
	}
	if x.own != "" && x.own != x.q.name {
		all = append(all, wire.Set("name", jsonscan.AppendString(nil, x.own)))
	}
	if len(all) == 0 {
		return x.q.params
	}
	return wire.Edit(x.q.params, all...)
}

// hopped returns the number of gateways that a request has passed, including us.
func hopped(before int) json.RawMessage {
	if before == 0 {
		return once
	}
	return strconv.AppendInt(nil, int64(before)+1, 10)
}

var once = json.RawMessage("1")

// says returns the metadata about the client in a request of 2026-07-28.
func (s *side) says() []wire.Member {
	list := []wire.Member{
		wire.Set(proto.MetaVersion, wire.JSON(proto.Modern)), wire.Set(proto.MetaClient, s.client), wire.Set(proto.MetaCapabilities, s.caps),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.level != "" {
		list = append(list, wire.Set(proto.MetaLevel, wire.JSON(s.level)))
	}
	return list
}

// note passes progress on under the client's own token. It runs on the peer's reading goroutine,
// so that it comes before the answer.
func (x *pass) note(n upstream.Progress) {
	x.mu.Lock()
	token, call := x.token, x.call
	x.mu.Unlock()
	x.part.silence.Sign(x)
	if token == nil || call == nil || x.part.side.caller.behind() {
		return // a later one will say more
	}
	_ = call.Notify(proto.NoteProgress, wire.Edit(n.Raw, wire.Set(proto.MetaToken, token))) // it has left
}

// maxUnread limits the bytes that wait for a client before notifications are dropped.
const maxUnread = 4 << 20

// behind reports whether more than that waits for a client on a pipe.
func (c *caller) behind() bool {
	out := c.conn.Writer()
	return out != nil && out.Queued() > maxUnread
}

// answered handles the server's answer. It runs on the peer's reading goroutine.
func (x *pass) answered(peer *upstream.Peer, res json.RawMessage, err error) {
	s := x.part.side
	switch {
	case err != nil && (errors.Is(err, wire.ErrClosed) || streamable.SessionLost(err)):
		s.caller.owned.Go(func() { x.lost(peer, true) })
	case err != nil:
		x.finish(nil, x.wrong(err))
	case peer.Modern() && !s.modern() && bytes.Contains(res, []byte(`"`+proto.ResultInputRequired+`"`)):
		s.caller.owned.Go(func() { x.rounds(peer, res) })
	default:
		x.finish(x.fit(peer, res), nil)
	}
}

// wrong translates an error to the client's version.
func (x *pass) wrong(err error) error {
	var e *jrpc2.Error
	if s := x.part.side; errors.As(err, &e) && s.modern() && e.Code == proto.CodeNoResource &&
		x.method == proto.MethodReadResource {
		return &jrpc2.Error{Code: jrpc2.InvalidParams, Message: e.Message, Data: e.Data}
	}
	return x.part.wrong(err)
}

// fit translates a result to the client's version.
func (x *pass) fit(peer *upstream.Peer, res json.RawMessage) json.RawMessage {
	s := x.part.side
	if x.after != nil {
		res = x.after(res)
	}
	if s.modern() && !peer.Modern() && isObject(res) && wire.Value(res, "resultType") == nil {
		res = wire.Edit(res, wire.Set("resultType", complete))
	}
	return s.addressed(x.part, inResult, res)
}

var complete = wire.JSON(proto.ResultComplete)

// isObject reports whether a value, without white space around it, is an object.
func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

// finish answers the client; only the first call counts.
func (x *pass) finish(res json.RawMessage, err error) {
	if call, _, ok := x.end(outcome{res, err}, true); ok {
		call.Reply(wire.ValidJSON(res), err)
		x.kept.Answered(wire.Message{Result: res, Error: faulty(err)}, len(res))
		x.dropQuestions()
	}
}

// faulty returns an error as the audit expects it.
func faulty(err error) json.RawMessage {
	if err == nil {
		return nil
	}
	return json.RawMessage(`{}`)
}

// end ends the pass, and returns the call to answer and the request to withdraw. false: the pass
// has ended before, or the client will call again for the outcome.
func (x *pass) end(o outcome, answers bool) (call *wire.Call, asked *wire.Ask, ok bool) {
	x.mu.Lock()
	call, asked = x.call, x.asked
	over, waits := x.over, answers && call == nil
	if waits {
		x.result = &outcome{o.res, o.err}
	} else {
		x.over, x.call = true, nil
	}
	forget := x.forget
	x.mu.Unlock()
	if over {
		return nil, nil, false
	}
	x.part.leave(x)
	if waits {
		return nil, nil, false
	}
	if call != nil {
		call.Watch(nil)
	}
	if forget != nil {
		forget()
	}
	x.part.silence.End(x)
	x.part.side.busy.Add(-1)
	return call, asked, true
}

// Ended implements wire.Watcher: the client has cancelled the call, or has left. Over HTTP the
// call is answered all the same, which ends its HTTP request.
func (x *pass) Ended(cause error) {
	if why, ok := errors.AsType[*wire.CanceledError](cause); ok {
		x.mu.Lock()
		x.reason = why.Reason
		x.mu.Unlock()
	}
	x.giveUp(func(call *wire.Call) {
		if x.part.side.caller.posted {
			call.Reply(nil, wire.ErrCanceled)
		}
		call.Drop()
	})
}

// Silent implements silence.Request: it gives the request up.
func (x *pass) Silent() {
	x.mu.Lock()
	parked := x.call == nil
	x.mu.Unlock()
	if parked {
		return
	}
	x.kept.End(upstream.OutcomeError, 0)
	x.giveUp(func(call *wire.Call) {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InternalError,
			"the MCP server %s gave no sign of life for %v; the call was given up",
			x.part.server.Name, x.part.server.CallTimeout))
	})
}

// giveUp withdraws the request from the server, and passes the call that is still to be answered,
// if any, to then.
func (x *pass) giveUp(then func(*wire.Call)) {
	call, asked, ok := x.end(outcome{}, false)
	if !ok {
		return
	}
	x.kept.End(upstream.OutcomeCancelled, 0)
	if asked != nil {
		asked.WithdrawFor(x.reason)
	}
	x.dropQuestions()
	if call != nil {
		then(call)
	}
}

// lost handles the end of a server before its answer. The request is repeated only if that does
// no harm.
func (x *pass) lost(peer *upstream.Peer, sent bool) {
	p := x.part
	<-peer.Done
	why := peer.Why()
	harmless := !p.agent() && p.view.MayRepeat(x.method, x.own)
	x.mu.Lock()
	call := x.call
	again := call != nil && !x.tried && (harmless || !sent) && !p.agent()
	x.tried, x.forget, x.asked = true, nil, nil // the peer's tokens have ended with it
	x.mu.Unlock()
	p.leave(x)
	if again {
		next, err := p.acquire(call.Context(), true)
		if err == nil {
			x.sendAgain(call.Context(), next)
			return
		}
		why = err.Error()
	}
	x.finish(nil, jrpc2.Errorf(jrpc2.InternalError, "%v", upstream.EndedError(p.server.Name, harmless, why)))
}

// enter and leave maintain the list of calls in which the server may ask.
func (p *part) enter(x *pass) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, x)
}

func (p *part) leave(x *pass) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.open, x); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1) // others have copies
	}
}
