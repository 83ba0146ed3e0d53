package aggregate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
)

// parked is what a pass has while a server of an older version asks in the middle of
// it, and the client is of 2026-07-28, where nobody asks: the call is answered with
// the questions, and the client makes it again with the answers.
type parked struct {
	questions []*question
	numbered  int
	result    *outcome // came in the meantime
	expiry    *time.Timer
}

// question is a request of the server's that waits for the client.
type question struct {
	id   string
	call *wire.Call
}

// outcome is a server's answer.
type outcome struct {
	res json.RawMessage
	err error
}

// park hands a question on with the call that it belongs to.
func (p *part) park(c *wire.Call) {
	open := p.asks()
	var x *pass
	if len(open) > 0 {
		x = open[len(open)-1]
	}
	switch {
	case x == nil:
		c.Reply(nil, jrpc2.Errorf(jrpc2.InvalidRequest, "%s: nothing is called that this could belong to", c.Method))
	case p.side.caller.shared && len(open) > 1:
		c.Reply(nil, jrpc2.Errorf(jrpc2.InvalidRequest,
			"%s: %d calls are open, and nothing says to which of them this belongs", c.Method, len(open)))
	default:
		x.wonder(c)
	}
}

// asks lists the calls that a question may belong to. Where several clients may share the
// connection, those whose questions a client has and has not come back to are given up as soon
// as another call is open: whose a question is must be clear, and it may never come back.
func (p *part) asks() (open []*pass) {
	p.mu.Lock()
	all := slices.Clone(p.open)
	p.mu.Unlock()
	for _, x := range all {
		if !x.isParked() {
			open = append(open, x)
		}
	}
	if !p.side.caller.shared || len(open) == 0 {
		return all
	}
	for _, x := range all {
		if !slices.Contains(open, x) {
			x.giveUp(func(*wire.Call) {})
		}
	}
	return open
}

// isParked reports whether the client has the pass's questions.
func (x *pass) isParked() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.call == nil && !x.over
}

// wonder takes a question in, and puts it to the client if the call is not with it
// already.
func (x *pass) wonder(c *wire.Call) {
	x.mu.Lock()
	if x.over || len(x.questions) >= maxAskingClient {
		x.mu.Unlock()
		c.Reply(nil, jrpc2.Errorf(wire.CodeBusy, "%d questions are with the client already", maxAskingClient))
		return
	}
	x.numbered++
	x.questions = append(x.questions, &question{strconv.Itoa(x.numbered), c})
	x.mu.Unlock()
	context.AfterFunc(c.Context(), func() { x.forgetQuestion(c) })
	x.hand()
}

// forgetQuestion: the server has taken it back, or has its answer.
func (x *pass) forgetQuestion(c *wire.Call) {
	x.mu.Lock()
	n := len(x.questions)
	x.questions = slices.DeleteFunc(x.questions, func(q *question) bool { return q.call == c })
	was := len(x.questions) < n
	x.mu.Unlock()
	if was {
		c.Drop()
	}
}

// dropQuestions takes back the questions of a pass that has ended: no answer will come.
func (x *pass) dropQuestions() {
	x.mu.Lock()
	open := x.questions
	x.questions = nil
	x.mu.Unlock()
	for _, q := range open {
		q.call.Reply(nil, wire.ErrCanceled)
	}
}

// hand answers the client's call with the questions that are open.
func (x *pass) hand() {
	s := x.part.side
	handle := rand.Text()
	x.mu.Lock()
	call := x.call
	if call == nil || x.over || len(x.questions) == 0 {
		x.mu.Unlock()
		return // it is with the client, who will see them when it comes back
	}
	requests := map[string]proto.InputRequest{}
	for _, q := range x.questions {
		requests[q.id] = proto.InputRequest{Method: q.call.Method, Params: q.call.Params}
	}
	x.call = nil
	x.mu.Unlock()
	call.Watch(nil)
	s.mu.Lock()
	full := len(s.parked) >= upstream.MaxParked
	if !full {
		s.parked[handle] = x
	}
	s.mu.Unlock()
	if full {
		x.giveUp(func(*wire.Call) {})
		call.Reply(nil, jrpc2.Errorf(wire.CodeBusy, "%d calls wait for answers already", upstream.MaxParked))
		return
	}
	x.mu.Lock()
	x.expiry = time.AfterFunc(upstream.ParkedFor, func() {
		if s.unpark(handle) != nil {
			x.giveUp(func(*wire.Call) {})
		}
	})
	x.mu.Unlock()
	call.Reply(
		proto.InputRequired{Type: proto.ResultInputRequired, Requests: requests, State: wire.JSON(handle)},
		nil,
	)
}

func (s *side) unpark(handle string) *pass {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.parked[handle]
	delete(s.parked, handle)
	return x
}

// parkedCall returns the call that a request goes on with; nil: there is none.
func (s *side) parkedCall(p *part, method string, q request, own string) *pass {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.parked[q.state]
	if x == nil || x.part != p || x.method != method || x.own != own || x.q.uri != q.uri {
		return nil
	}
	return x
}

// errState refuses a call that brings a state which no call waits with.
var errState = jrpc2.Errorf(jrpc2.InvalidParams,
	"requestState is not one that this gateway gave out for the call, or it is too old")

// resumes goes on with a call that the client makes again; false: it is a new one, or
// the server's own affair.
func (s *side) resumes(p *part, call *wire.Call, q request, own string, kept *upstream.Record) bool {
	if !s.modern() || p.agent() || q.state == "" && q.answers == nil {
		return false
	}
	x := s.parkedCall(p, call.Method, q, own)
	if peer := p.running(); x == nil && peer != nil && peer.Modern() {
		return false
	}
	if x == nil || s.unpark(q.state) == nil {
		kept.End(upstream.OutcomeRefused, 0)
		call.Reply(nil, errState)
		return true
	}
	kept.End(upstream.OutcomeOK, 0) // what comes of it is the first call's
	answers := map[string]json.RawMessage{}
	_ = json.Unmarshal(q.answers, &answers) // what is none answers nothing
	x.resume(call, q, answers)
	return true
}

// resume gives a server the answers to its questions, and the call that has brought
// them in the place of the one before.
func (x *pass) resume(call *wire.Call, q request, answers map[string]json.RawMessage) {
	x.mu.Lock()
	var told []*question
	x.questions = slices.DeleteFunc(x.questions, func(q *question) bool {
		_, ok := answers[q.id]
		if ok {
			told = append(told, q)
		}
		return ok
	})
	if x.expiry != nil {
		x.expiry.Stop()
	}
	over, result := x.over, x.result
	if !over {
		x.call, x.token, x.expiry = call, q.token, nil
	}
	x.mu.Unlock()
	if !over {
		call.Watch(x)
	}
	if over { // it was taken back while it was on its way to the client
		call.Reply(nil, wire.ErrCanceled)
	}
	for _, q := range told {
		q.call.Reply(answers[q.id], nil)
	}
	if result != nil {
		x.finish(result.res, result.err)
		return
	}
	x.hand() // what is still open
}

// rounds asks a client of the older versions what a server of 2026-07-28 wants to
// know, and makes the call again with the answers.
func (x *pass) rounds(peer *upstream.Peer, res json.RawMessage) {
	p, s := x.part, x.part.side
	x.mu.Lock()
	call := x.call
	x.mu.Unlock()
	if call == nil {
		return
	}
	ctx := call.Context()
	first := true
	var failed error // of the server, and not of the client
	res, err := proto.Rounds(
		func(answers map[string]json.RawMessage, state json.RawMessage) (next json.RawMessage, err error) {
			if first {
				first = false
				return res, nil
			}
			failed = peer.Conn.Ask(
				ctx,
				x.method,
				wire.Edit(x.params(peer, nil), upstream.BroughtBack(answers, state)...),
				&next,
			)
			return next, failed
		},
		func(q proto.InputRequest) (json.RawMessage, error) {
			reply, err := s.askClient(ctx, p, q.Method, q.Params)
			if err != nil {
				return nil, fmt.Errorf("the MCP server %s asks for %.100s: %w", p.server.Name, q.Method, err)
			}
			return reply, nil
		},
	)
	switch {
	case err == nil:
		x.finish(x.fit(peer, res), nil)
	case failed != nil && ctx.Err() != nil:
	case failed != nil:
		x.finish(nil, x.wrong(failed))
	case errors.As(err, new(proto.RoundsError)):
		x.finish(nil, jrpc2.Errorf(jrpc2.InternalError, "the MCP server %s %v", p.server.Name, err))
	default:
		x.finish(nil, err)
	}
}

// askClient asks the client something and waits for the answer.
func (s *side) askClient(
	ctx context.Context,
	p *part,
	method string,
	params json.RawMessage,
) (reply json.RawMessage, err error) {
	if !s.offersFor(method) {
		return nil, jrpc2.Errorf(jrpc2.MethodNotFound, "the client does not offer it")
	}
	if !p.ask() {
		return nil, jrpc2.Errorf(wire.CodeBusy, "%d questions are with the client already", maxAskingClient)
	}
	defer p.answered()
	err = s.caller.conn.Ask(ctx, method, orNothing(params), &reply)
	return reply, err
}
