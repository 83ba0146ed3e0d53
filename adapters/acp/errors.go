package acp

import (
	"cmp"
	"context"
	"errors"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// notFound is the error for a session that is not on this connection.
func notFound(id string) error {
	return jrpc2.Errorf(acp.CodeNotFound, "no such session: %.100q", id).
		WithData(acp.Details{
			Details: "there is no session of that id on this connection; session/list lists those that can be loaded",
		})
}

// noSession is the error for a session that is not stored.
func noSession(id string) error {
	return jrpc2.Errorf(acp.CodeNotFound, "no such session: %.100q", id).
		WithData(acp.NoSession{SessionID: id, Details: "session/list lists the sessions that are stored"})
}

// wireError is the function of that name for errors that an agent's login may mend: they have the
// ways to log in.
func (s *Server) wireError(err error) error {
	if login := new(core.SignInError); errors.As(err, &login) {
		return s.loginRequired(login.Agent, err.Error())
	}
	return wireError(err)
}

// wireError maps the core's errors to this protocol. No other place does.
func wireError(err error) error {
	var coded *jrpc2.Error
	var lacks *core.UnsupportedError
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.As(err, &lacks):
		return jrpc2.Errorf(jrpc2.InvalidParams, "%s", lacking(lacks))
	case errors.Is(err, core.ErrNotFound):
		return jrpc2.Errorf(acp.CodeNotFound, "%s", err.Error()).WithData(acp.Details{Details: err.Error()})
	case errors.Is(err, core.ErrCanceled), errors.Is(err, context.Canceled), errors.Is(err, wire.ErrCanceled):
		return jrpc2.Errorf(acp.CodeCancelled, "request cancelled")
	}
	text := cmp.Or(err.Error(), "internal error")
	return jrpc2.Errorf(jrpc2.InternalError, "%s", text).WithData(acp.Details{Details: text})
}

// lacking names the feature that the agent of a session lacks, and an alternative.
func lacking(e *core.UnsupportedError) string {
	switch e.What {
	case core.CanRewind, core.CanFork:
		return e.Error() + "; create a new session"
	case core.CanImages, core.CanAudio, core.CanResources, core.CanCompact:
	}
	return "prompt: " + e.Error() + "; choose another agent"
}
