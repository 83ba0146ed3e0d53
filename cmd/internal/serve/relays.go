package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"dragoman/adapters/gate"
	"dragoman/bridge/relay"
	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
)

// relays offers single MCP servers of the configuration to clients unchanged: at /mcp/SERVER, or
// one alone (dragoman mcp --only).
type relays struct {
	gateway *connection
	cwd     string // the folder for starting programs

	mu     sync.Mutex // guards the fields below
	open   map[string]*relayHTTP
	closed bool
}

// relayHTTP is a relay over HTTP, and the server that it relays.
type relayHTTP struct {
	*relay.HTTP
	of *relay.Server
}

func newRelays(h *connection, cwd string) *relays {
	return &relays{gateway: h, cwd: cwd, open: map[string]*relayHTTP{}}
}

// find returns a relay to a server of the current configuration. rules judges the calls of
// clients.
func (r *relays) find(name string, rules profile) (*relay.Server, error) {
	if _, err := r.gateway.profiles.LoadRules(); err != nil {
		return nil, err
	}
	box := r.gateway.profiles.Servers()
	if box != nil {
		if one, ok := relay.New(box, name, judged(rules, r.cwd)); ok {
			return one, nil
		}
	}
	return nil, fmt.Errorf("there is no MCP server %q in the configuration, or it is disabled", name)
}

// profile returns the profile of the configuration: after a look at its files (Client.LoadRules),
// or as of the look with which an HTTP request began (Profiles.Last).
type profile func() (*setup.Profile, error)

// judged refuses the calls that the rules deny, as of the beginning of the call.
func judged(rules profile, cwd string) upstream.Check {
	return func(server, tool string, args json.RawMessage) error {
		made, err := rules()
		if err != nil {
			return err
		}
		return denied(made.Rights.Rules, cwd)(server, tool, args)
	}
}

// denied refuses a call that the rules deny, or for which a rule requires a question to a person.
// Other questions are not asked, because the client's own program asks them.
func denied(rules core.Policy, cwd string) upstream.Check {
	return func(server, tool string, args json.RawMessage) error {
		v := rules.Decide(core.Check{
			Call: core.Call{Server: server, Tool: tool, Kind: core.KindOther, Args: args},
			Spec: core.Spec{Server: server, Name: tool, Kind: core.KindOther},
			Meta: core.Meta{Principal: core.Local, Cwd: cwd, Roots: []string{cwd}},
		})
		switch {
		case v.Effect == core.Deny:
			return fmt.Errorf("%s", v.Why)
		case v.Effect == core.MustAsk && v.Hard: // because of a rule; the client's program asks the other questions
			return &upstream.AskFirst{Why: v.Why}
		}
		return nil
	}
}

// face returns the relay of a server over HTTP.
func (r *relays) face(name string) (*relayHTTP, error) {
	r.mu.Lock()
	have := r.open[name]
	r.mu.Unlock()
	if have != nil { // the usual case: nothing is made for it
		if _, err := r.gateway.profiles.LoadRules(); err == nil && have.of.Current() {
			return have, nil
		}
	}
	relay, err := r.find(name, r.gateway.profiles.Last)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	if have = r.open[name]; have != nil && have.of.Current() {
		r.mu.Unlock()
		return have, nil // another request was quicker
	}
	if r.closed {
		r.mu.Unlock()
		return nil, errors.New("shutting down")
	}
	next := &relayHTTP{relay.HTTP(r.cwd, gate.Holder), relay}
	r.open[name] = next
	r.mu.Unlock()
	if have != nil {
		have.Close() // the configuration of the server has changed
	}
	return next, nil
}

// ServeHTTP implements http.Handler for /mcp/SERVER.
func (r *relays) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.serve(w, req, strings.TrimPrefix(req.URL.Path, "/mcp/"))
}

func (r *relays) serve(w http.ResponseWriter, req *http.Request, name string) {
	face, err := r.face(name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	face.ServeHTTP(w, req)
}

// Close ends all sessions of clients, and the programs that they have started.
func (r *relays) Close() {
	r.mu.Lock()
	open := r.open
	r.open, r.closed = map[string]*relayHTTP{}, true
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, face := range open {
		wg.Go(face.Close)
	}
	wg.Wait()
}

// singleServer serves a single server.
type singleServer struct {
	*relays
	name string
}

// Serve implements server: one client over a pipe.
func (o singleServer) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	relay, err := o.find(o.name, o.gateway.profiles.LoadRules)
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	return relay.Serve(ctx, core.Local, o.cwd, in, out)
}

// ServeHTTP implements http.Handler for /mcp.
func (o singleServer) ServeHTTP(w http.ResponseWriter, req *http.Request) { o.serve(w, req, o.name) }
