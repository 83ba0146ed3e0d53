package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/servers"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/control"
)

// serverControl lets people control the MCP servers of the configuration from their editors.
// Lasting changes are written into their own file, with nothing else in it changed, and apply at
// once.
type serverControl struct {
	p  *edition
	of *Profile // the profile that contains it
}

var _ control.Servers = serverControl{}

var errNotYours = errors.New("only the person whose configuration it is can do that")

// Configured implements core.Servers.
func (serverControl) Configured() {}

// Do implements control.Servers. A server is started and stopped where the turns of the client's
// connection run, which may be in another process.
func (d serverControl) Do(
	ctx context.Context,
	by core.Client,
	roots []string,
	name string,
	what control.Action,
) error {
	_, starts := what.(control.Start)
	if _, stops := what.(control.Stop); !starts && !stops || d.p.sharing == nil || by.Role != core.Decide || by.Principal != core.Local {
		return d.here(ctx, by, roots, name, what)
	}
	n, err := d.p.sharing.Control(ctx, by.Profiles, name, starts)
	if starts && n > 0 {
		return err
	}
	return errors.Join(err, d.here(ctx, by, roots, name, what))
}

// here is Do in this process.
func (d serverControl) here(
	ctx context.Context,
	by core.Client,
	roots []string,
	name string,
	what control.Action,
) error {
	if by.Role != core.Decide || by.Principal != core.Local {
		return errNotYours
	}
	made, err := d.p.Load()
	if err != nil {
		return err
	}
	box, is, err := d.find(made.Config, name)
	if _, adds := what.(control.Add); err != nil && !adds {
		return err
	}
	starts := true // as soon as the file has the wanted state
	switch w := what.(type) {
	case control.Start:
	case control.Stop:
		return box.Stop(name)
	case control.Enable:
		err = d.edit(ctx, configs.DisableServer(name, false))
	case control.Disable:
		return d.edit(ctx, configs.DisableServer(name, true))
	case control.Add:
		starts = !w.Disabled
		err = d.edit(ctx, configs.AddServer(name, addition(w)))
	case control.Change:
		if made.Config.FromEditor(servers.Key(name)) { // the user would not be asked about it any more
			return errors.New("the options of your editor name it, and it is changed there")
		}
		starts = !is.Disabled
		if is, err = changed(is, w); err == nil {
			err = d.edit(ctx, configs.PutServer(name, is))
		}
	case control.Remove:
		if err := d.edit(ctx, configs.DropServer(name)); err != nil {
			return err
		}
		return d.p.store.Forget(name)
	case control.Login:
		err = box.Login(ctx, name, func(address string) {
			w.Show(address)
			if d.p.env.Browse != nil {
				_ = d.p.env.Browse(address) // without a browser the user has seen the address
			}
		})
	case control.Logout:
		return box.Logout(ctx, name)
	}
	if err != nil || !starts {
		return err
	}
	return box.Start(roots, name)
}

// Warm implements control.Servers.
func (d serverControl) Warm(by core.Client, roots []string) <-chan struct{} {
	box := d.p.servers.of(d.p)
	if box == nil || by.Role != core.Decide || by.Principal != core.Local {
		return nil
	}
	return box.Warm(roots)
}

// Moved implements control.Servers.
func (d serverControl) Moved() {
	if box := d.p.servers.of(d.p); box != nil {
		box.TellRoots()
	}
}

// find returns the server of a name that a person has typed, possibly wrongly.
func (d serverControl) find(c *configs.Config, name string) (*upstream.Box, configs.MCPServer, error) {
	box := d.p.servers.of(d.p)
	is, ok := c.Server(name)
	if ok {
		return box, is, nil
	}
	names := c.ServerNames()
	why := "the configuration has no server of that name"
	if len(names) > 0 {
		why += cmp.Or(configs.DidYouMean(name, names), "; it has "+strings.Join(names, ", "))
	}
	return box, is, errors.New(why)
}

// edit changes the user's file and applies the change.
func (d serverControl) edit(ctx context.Context, edit configs.Edit) error {
	p := d.p
	if _, err := p.store.Edit(ctx, edit); err != nil {
		return err
	}
	p.mu.Lock()
	p.stale = true
	p.mu.Unlock()
	if _, err := p.Load(); err != nil {
		return err
	}
	if fault := p.faultNow(); fault != "" {
		return fmt.Errorf("it is in the configuration, which has a mistake and is not in use:\n%s", fault)
	}
	return nil
}

// addition returns the entry of a new server in the file.
func addition(w control.Add) configs.MCPServer {
	s := configs.MCPServer{
		Command: configs.NewValue(w.Spec.Command), Args: valuesOf(w.Spec.Args), URL: configs.NewURL(w.Spec.URL), Disabled: w.Disabled,
		OAuth: configs.OAuth{ClientID: configs.NewValue(w.ClientID), ClientSecret: configs.NewSecret(w.ClientSecret), RedirectPort: w.Port},
	}
	for _, kv := range w.Spec.Env {
		name, value, _ := strings.Cut(kv, "=")
		if s.Env == nil {
			s.Env = map[string]configs.Secret{}
		}
		s.Env[name] = configs.NewSecret(value)
	}
	for name, value := range w.Spec.Headers {
		if s.Headers == nil {
			s.Headers = map[string]configs.Secret{}
		}
		s.Headers[name] = configs.NewSecret(value)
	}
	if w.Spec.SSE {
		s.Transport = "sse"
	}
	return s
}

func valuesOf(words []string) (list []configs.Value) {
	for _, w := range words {
		list = append(list, configs.NewValue(w))
	}
	return list
}

// changed returns a server with another address or command. A server that becomes a program
// loses the settings of an address, and the other way round.
func changed(is configs.MCPServer, w control.Change) (configs.MCPServer, error) {
	program := w.Command != "" || w.Args != nil
	switch {
	case program && w.URL != "":
		return is, errors.New("it is a command or a url, and not both")
	case !program && w.URL == "":
		return is, errors.New("there is nothing to change: give a command, args or a url")
	case program && w.Command == "" && is.Command.IsZero():
		return is, errors.New("it is an address, and args are a program's: give a command, too")
	case w.URL != "":
		is.Command, is.Args, is.Env, is.Dir = configs.Value{}, nil, nil, configs.Value{}
		if w.URL != is.URL.String() { // its text hides the query
			is.URL = configs.NewURL(w.URL)
		}
		return is, nil
	}
	is.URL, is.Headers, is.OAuth, is.Transport = configs.URL{}, nil, configs.OAuth{}, ""
	if w.Command != "" {
		is.Command = configs.NewValue(w.Command)
	}
	if w.Args != nil {
		is.Args = valuesOf(w.Args)
	}
	return is, nil
}
