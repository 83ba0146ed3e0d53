package share

import (
	"encoding/json"
	"errors"

	"github.com/creachadair/jrpc2"

	"dragoman/core"
)

// errMoved is the answer of a process that does not own the session (any more).
var errMoved = errors.New("the session is owned by another process now")

// faultCode is the code of an error that carries a fault.
const faultCode jrpc2.Code = -32050

// fault is an error of core in a message. Kind names the error; empty: it is only words.
type fault struct {
	Kind  string          `json:"kind,omitempty"`
	Turn  core.TurnID     `json:"turn,omitempty"`
	Agent string          `json:"agent,omitempty"`
	What  core.Capability `json:"what,omitempty"`
	Text  string          `json:"text,omitempty"`

	Session core.SessionID  `json:"session,omitempty"`
	Clients []core.Attendee `json:"clients,omitempty"`
}

// plain are the errors without data, by their names.
var plain = map[string]error{
	"moved": errMoved, "observer": core.ErrObserver, "not_asked": core.ErrNotAsked, "closed": core.ErrClosed, "not_found": core.ErrNotFound,
	"no_message": core.ErrNoMessage, "read_only": core.ErrReadOnly, "shutdown": core.ErrShutdown, "fenced": core.ErrFenced,
}

// withFault returns an error as one that carries a fault.
func withFault(err error) error {
	if err == nil {
		return nil
	}
	f := fault{Text: err.Error()}
	var busy *core.BusyError
	var owned *core.OwnedError
	var lacks *core.UnsupportedError
	var login *core.SignInError
	var attended *core.AttendedError
	switch {
	case errors.As(err, &owned):
		f.Kind = "moved"
	case errors.As(err, &busy):
		f.Kind, f.Turn = "busy", busy.Turn
	case errors.As(err, &lacks):
		f.Kind, f.Agent, f.What = "unsupported", lacks.Agent, lacks.What
	case errors.As(err, &attended):
		f.Kind, f.Session, f.Clients = "attended", attended.Session, attended.Clients
	case errors.As(err, &login):
		f.Kind, f.Agent, f.Text = "sign_in", login.Agent, login.Text
	default:
		for kind, is := range plain {
			if errors.Is(err, is) {
				f.Kind = kind
			}
		}
	}
	return jrpc2.Errorf(faultCode, "%s", f.Text).WithData(f)
}

// spoken is an error of the other process's words that is one of ours.
type spoken struct {
	text string
	is   error
}

func (e *spoken) Error() string { return e.text }
func (e *spoken) Unwrap() error { return e.is }

// faultOf returns the error that an answer carries; ok is false if the connection failed, and it is
// unknown what became of the request.
func faultOf(err error) (is error, ok bool) {
	var answer *jrpc2.Error
	if !errors.As(err, &answer) || answer.Code != faultCode {
		return err, false
	}
	var f fault
	if json.Unmarshal(answer.Data, &f) != nil {
		return errors.New(answer.Message), true
	}
	switch f.Kind {
	case "busy":
		return &core.BusyError{Turn: f.Turn}, true
	case "unsupported":
		return &core.UnsupportedError{Agent: f.Agent, What: f.What}, true
	case "attended":
		return &core.AttendedError{Session: f.Session, Clients: f.Clients}, true
	case "sign_in":
		return &core.SignInError{Agent: f.Agent, Text: f.Text}, true
	}
	if is := plain[f.Kind]; is != nil {
		return &spoken{f.Text, is}, true
	}
	return errors.New(f.Text), true
}
