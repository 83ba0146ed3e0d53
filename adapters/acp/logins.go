package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// The logins of external agents are theirs: a client's choice of one is passed on. Their methods
// are offered with those of our own, under ids AGENT/METHOD, so that the first one is never a login
// that nobody needs: some clients begin it without being asked to. So a method that an agent carries
// out itself is offered once the agent of new sessions has asked for a login. One for a terminal is always offered
// to a client that has terminals, which never calls authenticate for it: it runs our own command
// with the method's words, since it can name no other program.

// Logins knows the logins of external agents. Any goroutine may call the methods.
type Logins interface {
	// External lists the external agents that users can choose, and the one of new sessions; first is
	// empty if that is another agent. It reads the configuration at most.
	External() (names []string, first string)
	// Methods lists the ways to log in to an agent, under its own ids, as far as it has listed them.
	// wanted says that its last answer was that it wants a login; known, that it has ever run. It may
	// read a file.
	Methods(agent string) (list []Login, wanted, known bool)
	// Authenticate logs in to an agent with one of its methods, and starts it for that. It blocks
	// until the user has done so. An error that the login is still missing is a *core.SignInError;
	// ErrNoMethod says that the agent has no such method.
	// show shows the user a page that the agent wants opened, and reports whether they agree; nil: the
	// client shows none.
	Authenticate(ctx context.Context, agent, method string, show ShowPage) error
	// Logout ends the login of an agent. It may start it.
	Logout(ctx context.Context, agent string) error
	// Status returns the status of an agent's login: unknown unless it runs. It may block.
	Status(ctx context.Context, agent string) AuthStatus
}

// ErrNoMethod says that an agent has no such method to log in.
var ErrNoMethod = errors.New("the agent has no such method to log in")

// ShowPage shows the user a page.
type ShowPage func(ctx context.Context, text, page string) (agreed bool)

// Login is a way to log in to an external agent.
type Login struct {
	ID, Name, Description string
	Terminal              bool // the agent's program asks for it in a terminal
}

// AuthStatus is the status of a login.
type AuthStatus = acp.AuthStatus

// loginFlag begins the words that log in to an agent, behind our own command line.
const loginFlag = "--login"

// externals lists the external agents that users can choose, and the one of new sessions; first is
// empty if that is another agent.
func (s *Server) externals() (names []string, first string) {
	if s.opts.Logins == nil {
		return nil, ""
	}
	return s.opts.Logins.External()
}

// loginOf finds the external agent of a method, and the method's own id. Without an agent it is
// none of theirs.
func (s *Server) loginOf(ctx context.Context, id string) (agent, method string) {
	name, method, _ := strings.Cut(id, "/")
	names, _ := s.externals()
	for _, agent := range names {
		if agent == name {
			return agent, method
		}
	}
	return "", ""
}

// login logs in to an agent. A method for a terminal has been carried out there, or was not needed.
func (s *Server) login(call *wire.Call, agent, method string) error {
	list, wanted, _ := s.opts.Logins.Methods(agent)
	terminal := method == ""
	for _, m := range list {
		terminal = terminal || m.ID == method && m.Terminal
	}
	switch {
	case !terminal:
		show, done := s.pages(call)
		defer done()
		err := s.opts.Logins.Authenticate(call.Context(), agent, method, show)
		if errors.Is(err, ErrNoMethod) {
			return s.noMethod(agent, agent+"/"+method)
		}
		return err
	case wanted:
		return &core.SignInError{Agent: agent, Text: "it has not been logged in to in a terminal yet"}
	}
	return nil
}

// pages returns the function that shows pages while a request runs, and the one that says that they
// are no longer needed.
func (s *Server) pages(call *wire.Call) (show ShowPage, done func()) {
	if !bool(s.who().caps.Elicitation.URL) {
		return nil, func() {}
	}
	var mu sync.Mutex
	count, open := 0, []string{}
	show = func(ctx context.Context, text, page string) bool {
		mu.Lock()
		count++
		id := fmt.Sprintf("login/%s/%d", strings.Trim(string(call.ID), `"`), count)
		mu.Unlock()
		var res acp.ElicitationResponse
		err := s.conn.Ask(ctx, "elicitation/create", acp.PageRequest{Mode: "url", RequestID: call.ID, Message: text, ElicitationID: id, URL: page}, &res)
		if err != nil || res.Action != "accept" {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		open = append(open, id)
		return true
	}
	return show, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range open {
			_ = s.conn.Notify("elicitation/complete", map[string]string{"elicitationId": id}) // it may have left
		}
	}
}

// logins lists the methods of external agents. first is the one of new sessions.
func (s *Server) logins(names []string, first string) (list []acp.AuthMethod) {
	for _, agent := range names {
		_, wanted, _ := s.opts.Logins.Methods(agent)
		list = append(list, s.loginsOf(agent, wanted && agent == first)...)
	}
	return list
}

// loginsOf lists the methods of an agent in the client's form; those without a terminal only if it
// wants a login. Programs that an agent names for the editor to run are not among them.
func (s *Server) loginsOf(agent string, wanted bool) (list []acp.AuthMethod) {
	if s.opts.Logins == nil {
		return nil
	}
	own, _, known := s.opts.Logins.Methods(agent)
	terminal := bool(s.who().caps.Auth.Terminal)
	for _, m := range own {
		offer := acp.AuthMethod{ID: agent + "/" + m.ID, Name: agent + ": " + m.Name, Description: m.Description}
		switch {
		case m.Terminal && terminal:
			offer.Type, offer.Args = acp.AuthTerminal, acp.Strings{loginFlag, offer.ID}
			list = append(list, offer)
		case !m.Terminal && wanted:
			list = append(list, offer)
		}
	}
	if len(list) == 0 && terminal && !(known && len(own) == 0) {
		list = append(list, acp.AuthMethod{
			Type: acp.AuthTerminal, ID: agent, Name: agent + ": log in",
			Description: "Starts " + agent + " in a terminal and logs in there", Args: acp.Strings{loginFlag, agent},
		})
	}
	return list
}

// noMethod returns the error for a method that an agent does not have. It names those that it has as
// they are offered.
func (s *Server) noMethod(agent, id string) error {
	var ids []string
	for _, m := range s.loginsOf(agent, true) {
		ids = append(ids, m.ID)
	}
	text := fmt.Sprintf("there is no method %.100q to log in to agent %s", id, agent)
	if len(ids) > 0 {
		text += "; it has " + strings.Join(ids, ", ")
	} else { // this client has no terminal for them
		text += "; run dragoman agents login " + agent + " in a terminal"
	}
	if _, wanted, _ := s.opts.Logins.Methods(agent); wanted {
		return s.loginRequired(agent, text)
	}
	return jrpc2.Errorf(jrpc2.InvalidParams, "methodId: %s", text)
}

// loginRequired returns the error for a request that needs a login to an external agent.
func (s *Server) loginRequired(agent, text string) error {
	methods := append([]acp.AuthMethod{}, s.loginsOf(agent, true)...)
	return jrpc2.Errorf(acp.CodeAuthRequired, "%s", text).
		WithData(acp.AuthRequired{Details: text, AuthMethods: methods})
}
