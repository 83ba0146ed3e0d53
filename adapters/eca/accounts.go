package eca

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core/control"
)

// logsIn reports whether a prompt begins a login whose next step is the client's next message. One that can be
// asked is asked for the key.
func (s *Server) logsIn(p eca.PromptParams) bool {
	words := strings.Fields(p.Message)
	if len(words) != 2 || words[0] != content.LoginCommand || s.peerNow().asks() {
		return false
	}
	o := s.offered()
	_, agent := o.Agent(words[1]) // it is logged in to in its own way
	return !agent && control.AccountsOf(o.Profile) != nil
}

// providersList handles providers/list.
func (s *Server) providersList(ctx context.Context, call *wire.Call, _ noParams) error {
	s.wg.Go(func() {
		o := s.reload(ctx)
		list := o.Providers()
		if accounts := control.AccountsOf(o.Profile); accounts != nil {
			list = o.Statuses(accounts.List(ctx))
		}
		s.reply(ctx, call, eca.ProvidersListResult{Providers: list}, nil)
	})
	return nil
}

var errNoAccounts = errors.New("logins are not available here; set keys in the configuration")

// account carries out do on the accounts and answers with its result. An error is in the result
// and is also shown as a message, because some clients read only one of the two.
func (s *Server) account(ctx context.Context, call *wire.Call, do func(control.Accounts) (eca.LoginResult, error)) {
	s.wg.Go(func() {
		var res eca.LoginResult
		o := s.reload(ctx)
		err := errNoAccounts
		if accounts := control.AccountsOf(o.Profile); accounts != nil {
			res, err = do(accounts)
		}
		if err != nil {
			res = eca.LoginResult{Error: &eca.Fault{Type: eca.MessageError, Message: plain(err)}}
			s.pump.Do(func() { s.showMessage(eca.MessageError, plain(err)) })
		} else {
			s.refresh(ctx) // the account may bring other models
		}
		s.behindBoard(func() {
			if s.row().Faultless {
				s.reply(ctx, call, res, err)
			} else {
				s.reply(ctx, call, res, nil)
			}
		})
	})
}

// providersLogin handles providers/login: the first step of a login. If there are several ways to
// log in, the client chooses one first.
func (s *Server) providersLogin(ctx context.Context, call *wire.Call, p eca.LoginParams) error {
	s.account(ctx, call, func(accounts control.Accounts) (eca.LoginResult, error) {
		method := said(p.Method)
		if method == "" {
			for _, a := range accounts.List(ctx) {
				if a.Provider == p.Provider && len(a.Methods) > 1 {
					return eca.LoginResult{Action: eca.LoginChoose, Methods: offer.Ways(a)}, nil
				}
			}
		}
		step, err := accounts.Login(ctx, p.Provider, method, nil)
		if err != nil {
			return eca.LoginResult{}, err
		}
		s.mu.Lock()
		if s.logins == nil {
			s.logins = map[string]string{}
		}
		s.logins[p.Provider] = method
		s.mu.Unlock()
		return stepOf(step), nil
	})
	return nil
}

// providersInput handles providers/loginInput: the user's input for the way of logging in that
// was chosen last.
func (s *Server) providersInput(ctx context.Context, call *wire.Call, p eca.LoginInputParams) error {
	s.mu.Lock()
	method := s.logins[p.Provider]
	s.mu.Unlock()
	s.account(ctx, call, func(accounts control.Accounts) (eca.LoginResult, error) {
		if len(p.Data) == 0 {
			return eca.LoginResult{}, errors.New("nothing was typed")
		}
		step, err := accounts.Login(ctx, p.Provider, method, p.Data)
		return stepOf(step), err
	})
	return nil
}

// providersLogout handles providers/logout.
func (s *Server) providersLogout(ctx context.Context, call *wire.Call, p eca.LogoutParams) error {
	s.account(ctx, call, func(accounts control.Accounts) (eca.LoginResult, error) {
		return eca.LoginResult{}, accounts.Logout(ctx, p.Provider)
	})
	return nil
}

// stepOf returns a step of a login in the protocol's form.
func stepOf(step control.LoginStep) eca.LoginResult {
	r := eca.LoginResult{Action: eca.LoginDone}
	for _, f := range step.Fields {
		field := eca.InputField{Key: f.Key, Label: cmp.Or(f.Label, f.Key), Type: eca.InputText}
		if f.Secret {
			field.Type = eca.InputSecret
		}
		r.Fields = append(r.Fields, field)
	}
	switch {
	case step.URL != "":
		r.Action, r.URL, r.Message = eca.LoginAuthorize, step.URL, step.Message
	case len(r.Fields) > 0:
		r.Action, r.Message = eca.LoginInput, step.Message
	}
	return r
}

// announceAccount sends providers/updated, and announces the models that the account adds or
// removes.
func (s *Server) announceAccount(ctx context.Context, a control.Account) {
	o := s.refresh(ctx)
	s.pump.Do(func() { s.notify(eca.MethodProvidersUpdated, o.Status(a)) })
}
