package eca

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/control"
)

// The states of a server that have a meaning here.
const (
	statusRunning  = "running"
	statusStopped  = "stopped"
	statusFailed   = "failed"
	statusDisabled = "disabled"
	statusLogin    = "requires-auth"
)

// maxName limits the name of a server, in bytes.
const maxName = 256

// checkName returns the fault in the name of an MCP server.
func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return wrong("name is blank")
	case len(name) > maxName:
		return wrong("name is longer than %d bytes", maxName)
	}
	return nil
}

// ours reports whether a name stands for the gateway's own tools.
func ours(name string) bool {
	return name == eca.NativeServerTitle || name == eca.NativeServer || name == core.Native
}

var errNoServers = errors.New(
	"servers are set up in the user's own configuration, and cannot be changed from here",
)

// setUp has control work on an MCP server and calls back with the result, after the client has
// been notified of the consequences. Requests are carried out in the order in which the client
// sends them; a login does not delay the others.
func (s *Server) setUp(ctx context.Context, name string, what control.Action, then func(error)) {
	do := func() {
		s.pump.Do(func() { delete(s.failures, name) }) // a new request gets a new report
		err := s.do(ctx, name, what)
		s.behindBoard(func() { then(err) })
	}
	if _, waits := what.(control.Login); waits {
		s.wg.Go(do)
	} else {
		s.setups.Go(do)
	}
}

func (s *Server) do(ctx context.Context, name string, what control.Action) error {
	if ours(name) {
		return errors.New("these are the gateway's own tools")
	}
	roots, o := s.rootsNow(), s.reload(ctx)
	if o.Profile == nil {
		return errors.New(o.Fault)
	}
	servers := control.Of(o.Profile)
	if servers == nil {
		return errNoServers
	}
	return servers.Do(ctx, s.client(roots), roots, name, what)
}

// server handles a notification about an MCP server; verb names the request. A failure is
// reported to the client that asked, by a message and by the state of the server.
func (s *Server) server(
	verb string,
	what control.Action,
) func(context.Context, *wire.Call, eca.ServerParams) error {
	return func(ctx context.Context, _ *wire.Call, p eca.ServerParams) error {
		if err := checkName(p.Name); err != nil {
			return err
		}
		s.notified(ctx, p.Name, verb, what)
		return nil
	}
}

func (s *Server) notified(ctx context.Context, name, verb string, what control.Action) {
	s.setUp(ctx, name, what, func(err error) {
		if err == nil {
			return
		}
		posted, _ := s.opts.Board.Now()
		s.pump.Do(func() {
			s.showMessage(eca.MessageError, notDone(name, verb, err))
			if ours(name) { // the client may show it as changed already
				name = core.Native
			}
			s.notify(eca.MethodServerUpdated, s.serverUpdated(s.stateOf(name, posted)))
		})
	})
}

// serverConnect handles mcp/connectServer. The gateway opens the address in a browser; the
// message is for users who do not see that browser.
func (s *Server) serverConnect(ctx context.Context, _ *wire.Call, p eca.ServerParams) error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	s.notified(ctx, p.Name, "logged in to", control.Login{Show: func(address string) {
		s.pump.Do(func() {
			s.showMessage(
				eca.MessageInfo,
				"To log in to the MCP server "+p.Name+", open this in a browser on this machine: "+address,
			)
		})
	}})
	return nil
}

// stateOf returns the state of a server; a missing server has failed, but for our own tools.
func (s *Server) stateOf(name string, posted []board.Posting) board.Server {
	for _, p := range posted {
		if item, ok := p.Item.(board.Server); ok && item.Name == name && s.concerns(p.Topic) {
			return item
		}
	}
	if name == core.Native {
		return board.Server{Name: name, Status: statusRunning}
	}
	return board.Server{Name: name, Status: statusFailed}
}

// notDone names a request about a server that failed, with the reason.
func notDone(name, verb string, err error) string {
	if checkName(name) != nil {
		return plain(err)
	}
	return fmt.Sprintf("The MCP server %s was not %s: %s.", name, verb, strings.TrimSuffix(plain(err), "."))
}

// serverRefusal gives the reason for refusing a request about an MCP server.
func serverRefusal(name, verb string, err error) *eca.Refusal {
	return &eca.Refusal{Code: eca.RefusedRequest, Message: notDone(name, verb, err)}
}

// serverUpdate handles mcp/updateServer.
func (s *Server) serverUpdate(ctx context.Context, call *wire.Call, p eca.UpdateServerParams) error {
	if err := checkName(p.Name); err != nil {
		s.reply(ctx, call, eca.UpdateServerResult{Error: serverRefusal(p.Name, "changed", err)}, nil)
		return nil
	}
	s.setUp(ctx, p.Name, control.Change{Command: said(p.Command), Args: p.Args, URL: said(p.URL)}, func(err error) {
		res := eca.UpdateServerResult{}
		if err != nil {
			res.Error = serverRefusal(p.Name, "changed", err)
			s.pump.Do(func() { s.showMessage(eca.MessageError, res.Error.Message) }) // clients ignore the error
		}
		s.reply(ctx, call, res, nil)
	})
	return nil
}

// serverAdd handles mcp/addServer. The server belongs to the user of this client, and starts as
// soon as it is added.
func (s *Server) serverAdd(ctx context.Context, call *wire.Call, p eca.AddServerParams) error {
	what, err := additionOf(p)
	if err != nil {
		s.reply(ctx, call, eca.AddServerResult{Error: serverRefusal(p.Name, "added", err)}, nil)
		return nil
	}
	s.setUp(ctx, p.Name, what, func(err error) {
		if err != nil {
			s.reply(ctx, call, eca.AddServerResult{Error: serverRefusal(p.Name, "added", err)}, nil)
			return
		}
		posted, _ := s.opts.Board.Now()
		server := s.serverUpdated(s.stateOf(p.Name, posted))
		s.reply(ctx, call, eca.AddServerResult{Server: &server}, nil)
	})
	return nil
}

// additionOf returns a new server in the core's form.
func additionOf(p eca.AddServerParams) (control.Add, error) {
	add := control.Add{
		Spec:     core.ServerSpec{Command: said(p.Command), Args: p.Args, URL: said(p.URL), Headers: p.Headers},
		ClientID: said(p.ClientID), ClientSecret: said(p.ClientSecret), Disabled: p.Disabled != nil && *p.Disabled,
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		add.Spec.Env = append(add.Spec.Env, name+"="+p.Env[name])
	}
	if p.OAuthPort != nil {
		add.Port = *p.OAuthPort
	}
	switch scope := said(p.Scope); {
	case checkName(p.Name) != nil:
		return add, checkName(p.Name)
	case scope == eca.ScopeWorkspace:
		return add, errors.New(
			"servers are kept in the user's own configuration alone, for what a workspace's file names is not started; use the scope global",
		)
	case scope != "" && scope != eca.ScopeGlobal:
		return add, fmt.Errorf("the scope must be global, not %.40q", scope)
	case said(p.AuthScope) != "" && said(p.AuthScope) != eca.ScopeGlobal:
		return add, errors.New(
			"a login to a server counts for every workspace; leave authScope out, or set it to global",
		)
	case (add.Spec.Command == "") == (add.Spec.URL == ""):
		return add, errors.New("it needs a command or a url, and not both")
	}
	return add, nil
}

// serverRemove handles mcp/removeServer.
func (s *Server) serverRemove(ctx context.Context, call *wire.Call, p eca.ServerParams) error {
	if err := checkName(p.Name); err != nil {
		s.reply(ctx, call, eca.RemoveServerResult{Error: serverRefusal(p.Name, "removed", err)}, nil)
		return nil
	}
	s.setUp(ctx, p.Name, control.Remove{}, func(err error) {
		res := eca.RemoveServerResult{Name: p.Name, Removed: true}
		if err != nil {
			res = eca.RemoveServerResult{Error: serverRefusal(p.Name, "removed", err)}
		}
		s.reply(ctx, call, res, nil)
	})
	return nil
}

// promptsOf and servedOf list a server's prompts and resources.
func promptsOf(list []core.Command) []eca.ServerPrompt {
	out := []eca.ServerPrompt{}
	for _, c := range list {
		out = append(out, eca.ServerPrompt{Name: c.Name, Description: c.Description, Arguments: argumentsOf(c)})
	}
	return out
}

func servedOf(list []core.Link) []eca.ServerResource {
	out := []eca.ServerResource{}
	for _, l := range list {
		out = append(
			out,
			eca.ServerResource{URI: l.URI, Name: cmp.Or(l.Name, l.URI), Description: l.Description, MIMEType: l.MIME},
		)
	}
	return out
}

// servers holds the last announced state of each MCP server, by topic. It belongs to the pump.
type servers map[board.Topic]board.Server

// announceServer announces a server's state, and the reason of a failure.
func (s *Server) announceServer(t board.Topic, item board.Server) {
	if old, known := s.told[t]; known && reflect.DeepEqual(old, item) {
		return
	}
	s.told[t] = item
	p := s.serverUpdated(item)
	s.notify(eca.MethodServerUpdated, p)
	switch {
	case (p.Status == statusFailed || s.peerNow().lacks[p.Status]) && item.Why != "" && item.Why != s.failures[item.Name]:
		s.failures[item.Name] = item.Why // it is restarted by itself, and fails again
		s.showMessage(eca.MessageWarning, "The MCP server "+item.Name+" has failed: "+item.Why)
	case p.Status == statusRunning:
		delete(s.failures, item.Name)
	}
}

// announceRemoval announces that a server no longer exists, if the client believes that it does.
func (s *Server) announceRemoval(t board.Topic) {
	gone, told := s.told[t]
	if !told {
		return
	}
	name := gone.Name
	delete(s.told, t)
	for _, same := range s.told { // another workspace has it, too
		if same.Name == name {
			return
		}
	}
	s.notify(eca.MethodServerRemoved, eca.ServerParams{Name: name})
}
