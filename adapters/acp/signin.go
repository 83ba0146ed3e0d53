package acp

import (
	"cmp"
	"context"
	"reflect"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core/control"
)

// A user signs in by giving the key of the provider whose model the configuration chooses. A key
// never goes through the protocol, since clients keep what is typed into their forms: the user
// gives it to `dragoman login`, which the client can run in a terminal (its capability
// auth.terminal), or the user in any other; authenticate then looks whether it is there.

// SignIn knows the keys of the providers of models. Any goroutine may call the methods, which
// block on the disk.
type SignIn interface {
	// Chosen returns the account of the provider whose model is the default.
	Chosen(context.Context) (control.Account, error)
	// List returns the accounts of all providers.
	List(context.Context) []control.Account
	// Logout forgets a key that was stored by a login; no error if there is none.
	Logout(ctx context.Context, provider string) error
}

// Ids of the methods to sign in.
const (
	loginMethod    = "login"
	terminalMethod = "terminal-login"
)

// signInMethods returns the methods that exist only if keys can be given.
func (s *Server) signInMethods(ctx context.Context) wire.Methods {
	if s.opts.SignIn == nil && s.opts.Logins == nil {
		return wire.Methods{"authenticate": wire.Async(s.authenticated)}
	}
	return wire.Methods{
		"authenticate": wire.Async(later(s, ctx, s.authenticate)),
		"logout":       wire.Async(later(s, ctx, s.logout)),
		"auth/status":  wire.Async(later(s, ctx, s.authStatus)),
	}
}

// authenticated answers authenticate where there is nothing to sign in to.
func (s *Server) authenticated(call *wire.Call, _ struct{}) error {
	call.Reply(acp.Marker{}, nil)
	return nil
}

// authenticate succeeds if the key is there now, and at once if none is needed, whatever the
// method: some clients choose one without being asked to. A method of an external agent is passed
// on to it.
func (s *Server) authenticate(ctx context.Context, call *wire.Call, p acp.AuthenticateRequest) error {
	if agent, method := s.loginOf(ctx, p.MethodID); agent != "" {
		if err := s.login(call, agent, method); err != nil {
			return err
		}
	} else if _, agent := s.externals(); agent != "" {
		if _, wanted, _ := s.opts.Logins.Methods(agent); wanted {
			return s.noMethod(agent, p.MethodID)
		}
	} else if err := s.signedIn(ctx); err != nil {
		if p.MethodID != loginMethod && p.MethodID != terminalMethod {
			return jrpc2.Errorf(jrpc2.InvalidParams, "methodId: there is no method %.60q to sign in", p.MethodID)
		}
		return err
	}
	call.Reply(acp.Marker{}, nil)
	s.sendAuthStatus(ctx)
	return nil
}

// logout forgets the stored key of the chosen provider. It is idempotent.
func (s *Server) logout(ctx context.Context, call *wire.Call, _ struct{}) error {
	if _, agent := s.externals(); agent != "" {
		if err := s.opts.Logins.Logout(call.Context(), agent); err != nil {
			return err
		}
		call.Reply(acp.Marker{}, nil)
		s.sendAuthStatus(ctx)
		return nil
	}
	if s.opts.SignIn == nil {
		return jrpc2.Errorf(jrpc2.InvalidParams, "logout: there is nothing to log out of")
	}
	acc, err := s.opts.SignIn.Chosen(ctx)
	switch {
	case err != nil:
		return err
	case acc.Source == "env":
		return jrpc2.Errorf(jrpc2.InvalidParams, "logout: the key of %s comes from the variable %s; unset it there", acc.Label, acc.EnvVar)
	case acc.Source == "config":
		return jrpc2.Errorf(jrpc2.InvalidParams, "logout: the key of %s comes from the configuration; remove it there", acc.Label)
	}
	if err := s.opts.SignIn.Logout(ctx, acc.Provider); err != nil {
		return err
	}
	call.Reply(acp.Marker{}, nil)
	s.sendAuthStatus(ctx)
	return nil
}

// authStatus handles auth/status.
func (s *Server) authStatus(ctx context.Context, call *wire.Call, _ struct{}) error {
	now := s.signInStatus(ctx)
	s.mu.Lock()
	s.auth = &now
	s.mu.Unlock()
	call.Reply(now, nil)
	return nil
}

// sendAuthStatus sends auth/status_update if the status is another one than the client knows. A
// client that has not asked for it gets none.
func (s *Server) sendAuthStatus(ctx context.Context) {
	s.mu.Lock()
	was := s.auth
	s.mu.Unlock()
	if was == nil {
		return
	}
	now := s.signInStatus(ctx)
	s.mu.Lock()
	news := !reflect.DeepEqual(*s.auth, now)
	s.auth = &now
	s.mu.Unlock()
	if !news {
		return
	}
	if err := s.conn.Notify(acp.AuthChanged, now); err != nil {
		s.log.Debug(acp.AuthChanged, zap.Error(err))
	}
}

// signInStatus returns the present status. Its accounts are for display alone and never logged.
func (s *Server) signInStatus(ctx context.Context) acp.AuthStatus {
	if _, agent := s.externals(); agent != "" {
		is := s.opts.Logins.Status(ctx, agent)
		is.State = cmp.Or(is.State, acp.AuthUnknown)
		return is
	}
	if s.opts.SignIn == nil {
		return acp.AuthStatus{State: acp.AuthNotRequired}
	}
	chosen, err := s.opts.SignIn.Chosen(ctx)
	if err != nil {
		return acp.AuthStatus{State: acp.AuthUnknown}
	}
	st := acp.AuthStatus{State: acp.Unauthenticated}
	switch {
	case chosen.Configured && chosen.Source == "": // it needs none
		st.State = acp.AuthNotRequired
	case chosen.Configured:
		st.State = acp.Authenticated
	}
	for _, a := range s.opts.SignIn.List(ctx) {
		if a.Configured && a.Source != "" {
			st.Accounts = append(st.Accounts, acp.AuthAccount{Label: a.Label + " API key", Active: a.Provider == chosen.Provider})
		}
	}
	return st
}

// signedIn returns the error for a request that needs a key, if the configuration chooses a
// provider that has none. A key that the configuration names but that cannot be read is no
// reason to sign in: another one would not count.
func (s *Server) signedIn(ctx context.Context) error {
	methods, acc := s.authMethods(ctx)
	if len(methods) == 0 {
		return nil
	}
	text := "there is no key for " + acc.Label + ": run \"dragoman login " + acc.Provider + "\" in a terminal"
	if acc.EnvVar != "" {
		text += ", or set " + acc.EnvVar + " where dragoman is started"
	}
	return jrpc2.Errorf(acp.CodeAuthRequired, "authentication required: %s", text).
		WithData(acp.AuthRequired{Details: text, AuthMethods: methods})
}

// authMethods returns the ways to sign in to the chosen provider; none if it has a key or needs none.
func (s *Server) authMethods(ctx context.Context) ([]acp.AuthMethod, control.Account) {
	list := []acp.AuthMethod{}
	if s.opts.SignIn == nil {
		return list, control.Account{}
	}
	acc, err := s.opts.SignIn.Chosen(ctx)
	if err != nil || acc.Configured || acc.Source != "" {
		return list, acc
	}
	if s.who().caps.Auth.Terminal {
		list = append(list, acp.AuthMethod{
			Type: acp.AuthTerminal, ID: terminalMethod, Name: "Give the API key of " + acc.Label + " in a terminal",
			Description: "Runs dragoman's login, which stores the key where only you can read it", Args: acp.Strings{"login", acc.Provider},
		})
	}
	text := "Run \"dragoman login " + acc.Provider + "\" in a terminal, then continue here"
	return append(list, acp.AuthMethod{ID: loginMethod, Name: "Use the API key of " + acc.Label, Description: text}), acc
}
