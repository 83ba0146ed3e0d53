package wire

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"
)

// A Method handles the calls of one method on the reading goroutine, so it must not
// block. An error is the answer; with nil the method has answered, or whoever it handed
// the call to will.
type Method func(*Call) error

// Methods is a method table; its Handle is a handler for [Conn.Serve].
//
//	wire.Methods{
//		"session/prompt": wire.Async(srv.prompt),              // func(*wire.Call, PromptParams) error
//		"session/list":   wire.Sync(wire.Func(srv.list)),      // func(context.Context, ListParams) (ListResult, error)
//		"ping":           wire.Sync(handler.New(srv.ping)),    // any handler of jrpc2's
//	}
type Methods map[string]Method

// Table makes a method table of jrpc2's: each method is answered when its handler returns.
func Table(m handler.Map) Methods {
	t := make(Methods, len(m))
	for name, h := range m {
		t[name] = Sync(h)
	}
	return t
}

// Handle calls the method that the call names. An unknown one is answered with -32601,
// or ignored as a notification.
func (m Methods) Handle(call *Call) { m.handle(call, "method not found: %.100q") }

// Handler returns Handle with another message for unknown methods, a format for the name.
func (m Methods) Handler(unknown string) func(*Call) {
	return func(call *Call) { m.handle(call, unknown) }
}

func (m Methods) handle(call *Call, unknown string) {
	f, ok := m[call.Method]
	if !ok {
		call.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, unknown, call.Method))
		return
	}
	if err := f(call); err != nil {
		call.Reply(nil, err)
	}
}

// Sync makes a method of a jrpc2 handler, such as handler.New or [Func] make: the call
// is answered when it returns. Parameters in which two names differ only in case are
// refused, since handler.New could take the wrong one.
func Sync(h jrpc2.Handler) Method {
	return func(call *Call) error {
		if err := ambiguous(call.Params); err != nil {
			return err
		}
		req := jrpc2.ParsedRequest{ID: string(call.ID), Method: call.Method, Params: call.Params}
		result, err := h(call.connection(), req.ToRequest())
		if err != nil {
			return named(err)
		}
		call.Reply(result, nil)
		return nil
	}
}

// named puts what handler.New found wrong with parameters into the message; it leaves
// that to the data, which few clients show.
func named(err error) error {
	e, ok := errors.AsType[*jrpc2.Error](err)
	if !ok || e.Code != jrpc2.InvalidParams || e.Message != jrpc2.InvalidParams.String() {
		return err
	}
	var why string
	if json.Unmarshal(e.Data, &why) != nil {
		return err
	}
	return jrpc2.Errorf(jrpc2.InvalidParams, "invalid params: %s", strings.TrimPrefix(why, "json: "))
}

// Async makes a method of a function that is handed the call with its decoded
// parameters, and answers it, or has it answered later. An error that it returns is the
// answer.
func Async[P any](f func(*Call, P) error) Method {
	decode := decoder[P]()
	return func(call *Call) error {
		p, err := decode(call.Params)
		if err != nil {
			return err
		}
		call.Params = nil // a call may be open for long, and shall not hold a large message
		return f(call, p)
	}
}

// Func makes a jrpc2 handler of a function with typed parameters, like handler.New, but
// reads them as [Unmarshal] does, and says with -32602 which of them is wrong and why.
func Func[P, R any](f func(context.Context, P) (R, error)) jrpc2.Handler {
	decode := decoder[P]()
	return func(ctx context.Context, req *jrpc2.Request) (any, error) {
		p, err := decode([]byte(req.ParamString()))
		if err != nil {
			return nil, err
		}
		return f(ctx, p)
	}
}
