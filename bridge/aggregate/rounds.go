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

// inquiry holds a server's questions to a client of 2026-07-28, where servers send no requests.
// If a server of an older version asks during a call, the call is answered with the questions, and
// the client makes it again with the answers.
type inquiry struct {
	questions []*question
	numbered  int
	result    *outcome // came while the client had the questions
	expiry    *time.Timer
}

// question is a server's request that waits for the client's answer.
type question struct {
	id   string
	call *wire.Call
}

// outcome is a server's answer to a call.
type outcome struct {
	res json.RawMessage
	err error
}

// park adds a question to the call that it belongs to.
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
		x.enqueueQuestion(c)
	}
}

// asks returns the calls that a question may belong to. If several clients may share the
// connection, calls whose questions a client has not answered are given up as soon as another call
// is open: the owner of a question must be clear, and those clients may never come back.
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

// isParked reports whether the call waits for the client's answers to questions.
func (x *pass) isParked() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.call == nil && !x.over
}

// enqueueQuestion adds a question, and asks the client unless the client has questions already.
func (x *pass) enqueueQuestion(c *wire.Call) {
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

// forgetQuestion drops a question that the server has cancelled, or that was answered.
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

// dropQuestions refuses the questions of a pass that has ended.
func (x *pass) dropQuestions() {
	x.mu.Lock()
	open := x.questions
	x.questions = nil
	x.mu.Unlock()
	for _, q := range open {
		q.call.Reply(nil, wire.ErrCanceled)
	}
}

// hand answers the client's call with the open questions.
func (x *pass) hand() {
	s := x.part.side
	handle := rand.Text()
	x.mu.Lock()
	call := x.call
	if call == nil || x.over || len(x.questions) == 0 {
		x.mu.Unlock()
		return // the client gets them when it calls again
	}
	requests := map[string]proto.InputRequest{}
	for _, q := range x.questions {
		requests[q.id] = proto.InputRequest{Method: q.call.Method, Params: q.call.Params}
	}
	x.call = nil
	x.mu.Unlock()
	x.part.silence.End(x) // until the client calls again
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
		proto.InputRequired{
			Type:     proto.ResultInputRequired,
			Requests: requests,
			State:    wire.JSON(handle),
		},
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

// parkedCall returns the waiting call that a request continues; nil: there is none.
func (s *side) parkedCall(p *part, method string, q request, own string) *pass {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.parked[q.state]
	if x == nil || x.part != p || x.method != method || x.own != own || x.q.uri != q.uri {
		return nil
	}
	return x
}

// errState refuses a requestState that belongs to no waiting call.
var errState = jrpc2.Errorf(jrpc2.InvalidParams,
	"requestState is not one that this gateway gave out for the call, or it is too old")

// resumes continues a waiting call. false: the request is a new call, or the server handles its
// requestState itself.
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
	kept.End(upstream.OutcomeOK, 0) // the first call records the outcome
	answers := map[string]json.RawMessage{}
	_ = json.Unmarshal(q.answers, &answers) // anything else answers no question
	x.resume(call, q, answers)
	return true
}

// resume passes the answers to the server, and replaces the client's earlier call by the one that
// has brought them.
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
		x.part.silence.Begin(x, x.part.server.CallTimeout)
		call.Watch(x)
	}
	if over { // it was cancelled while the client had the questions
		call.Reply(nil, wire.ErrCanceled)
	}
	for _, q := range told {
		q.call.Reply(answers[q.id], nil)
	}
	if result != nil {
		x.finish(result.res, result.err)
		return
	}
	x.hand() // questions that are still open
}

// rounds puts the questions of a server of 2026-07-28 to a client of the older versions, and makes
// the call again with the answers.
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
	var failed error // the server's error, not the client's
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

// askClient sends a question to the client and waits for the answer.
func (s *side) askClient(
	ctx context.Context,
	p *part,
	method string,
	params json.RawMessage,
) (reply json.RawMessage, err error) {
	if !s.offersFor(method) {
		return nil, jrpc2.Errorf(jrpc2.MethodNotFound, "the client does not offer it")
	}
	if !p.silence.Ask(maxAskingClient) {
		return nil, jrpc2.Errorf(wire.CodeBusy, "%d questions are with the client already", maxAskingClient)
	}
	defer p.silence.Answered()
	err = s.caller.conn.Ask(ctx, method, orNothing(params), &reply)
	return reply, err
}
