package eca

import (
	"context"
	"errors"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// Codes of this adapter, in the range that JSON-RPC leaves to servers.
const (
	codeBusy   jrpc2.Code = -32000
	codeOwned  jrpc2.Code = -32010
	codeClosed jrpc2.Code = -32011
	codeStore  jrpc2.Code = -32012
)

// wireError turns an error of the core into one of the protocol. Its text is for people.
func wireError(err error) error {
	var (
		busy  *core.BusyError
		owned *core.OwnedError
		store *core.StoreError
		own   *jrpc2.Error
		lacks *core.UnsupportedError
	)
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.Is(err, core.ErrNotFound):
		return jrpc2.Errorf(jrpc2.InvalidParams, "%v", err)
	case errors.As(err, &lacks):
		return wrong("%s", lacking(lacks))
	case errors.As(err, &busy):
		return jrpc2.Errorf(codeBusy, "%v", busy)
	case errors.As(err, &owned):
		return jrpc2.Errorf(codeOwned, "%v", owned)
	case errors.As(err, &store):
		return jrpc2.Errorf(codeStore, "%v", store)
	case errors.Is(err, core.ErrClosed),
		errors.Is(err, core.ErrShutdown),
		errors.Is(err, core.ErrClientGone),
		errors.Is(err, context.Canceled):
		return jrpc2.Errorf(codeClosed, "%v", err)
	}
	return jrpc2.Errorf(jrpc2.InternalError, "%v", err)
}

// lacking names the feature that the agent of a chat lacks, and an alternative.
func lacking(e *core.UnsupportedError) string {
	switch e.What {
	case core.CanRewind, core.CanFork:
		return e.Error() + "; begin a new chat"
	case core.CanImages, core.CanAudio, core.CanResources, core.CanCompact:
	}
	return e.Error() + "; choose another agent"
}

// plain returns an error's text, for answers that hold the error as a text.
func plain(err error) string {
	if own := (*jrpc2.Error)(nil); errors.As(err, &own) {
		return own.Message
	}
	if lacks := (*core.UnsupportedError)(nil); errors.As(err, &lacks) {
		return lacking(lacks)
	}
	if login := (*core.SignInError)(nil); errors.As(err, &login) {
		return err.Error() + "\n" + content.LoginText(login.Agent)
	}
	return err.Error()
}

// refused is an error within a result.
func refused(err error) *eca.Refusal {
	f := &eca.Refusal{Code: eca.RefusedFailed, Message: plain(err)}
	switch {
	case errors.Is(err, core.ErrNotFound):
		f.Code = eca.RefusedNoChat
	case errors.Is(err, errCursor):
		f.Code = eca.RefusedCursor
	}
	return f
}

// wrong is the error for invalid parameters.
func wrong(format string, args ...any) error {
	return jrpc2.Errorf(jrpc2.InvalidParams, "invalid params: "+format, args...)
}
