package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"go.uber.org/zap"

	"dragoman/adapters/gate"
	"dragoman/adapters/mcp"
	"dragoman/adapters/mcp/permit"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
	"dragoman/cmd/internal/tokens"
	"dragoman/core"
	"dragoman/core/access"
)

// overHTTP serves MCP clients over HTTP until a signal comes. Messages for people go to standard
// error.
func overHTTP(
	ctx context.Context,
	o setup.Options,
	m MCPOptions,
	cwd string,
	adapter func(*connection) *mcp.Server,
) error {
	loopback := gate.Loopback(m.HTTP)
	if m.NoAuth && !loopback {
		return fmt.Errorf(
			"--no-auth needs a loopback address, such as 127.0.0.1:7717; %s is not one",
			m.HTTP,
		)
	}
	door := gate.Options{Everybody: access.Owner(core.Local)}
	say := "Every program on this machine may use it (--no-auth)."
	var kept *tokens.Store
	if !m.NoAuth {
		var err error
		if kept, say, err = openTokens(o.Env); err != nil {
			return err
		}
	}
	if !loopback {
		say += " The connection is not encrypted: put a proxy with TLS in front of it."
	}
	return run(ctx, o, setup.ClientOptions{}, true, func(ctx context.Context, g *connection) error {
		g.log = g.log.With(zap.String("protocol", "mcp"))
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", m.HTTP)
		if err != nil {
			return err
		}
		door.Log = g.log
		if kept != nil {
			door.Admit = admitting(kept, g.log)
		}
		if host, _, err := net.SplitHostPort(m.HTTP); err == nil && host != "" {
			door.Hosts = []string{host}
		}
		front := gate.New(door)
		servers := newRelays(g, cwd)
		leave := servers.Close
		if m.Only != "" {
			front.Mount("/mcp", permit.Server(gate.Holder, singleServer{servers, m.Only}))
		} else {
			handler := aggregateServer{g, adapter(g), cwd, o.Env.InCircle()}.HTTP()
			front.Mount("/mcp", permit.Handler(gate.Holder, handler))
			front.Mount("/mcp/", permit.Server(gate.Holder, servers))
			leave = func() {
				handler.Close()
				servers.Close()
			}
		}
		fmt.Fprintf(o.Env.Err, "dragoman: MCP at http://%s/mcp. %s\n", l.Addr(), say)
		g.log.Info("speaking", zap.String("version", o.Env.Version), zap.Stringer("address", l.Addr()))
		err = front.Serve(ctx, l, leave)
		g.log.Info("ended", zap.Error(err))
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		return err
	})
}

// openTokens opens the tokens of clients, and returns what people are told about them. It creates
// the main token if there is none.
func openTokens(env *program.Environment) (kept *tokens.Store, say string, err error) {
	dir, err := env.DataDir()
	if err != nil {
		return nil, "", err
	}
	kept = tokens.Open(dir)
	_, path, err := kept.Main()
	if err == nil {
		_, err = kept.List()
	}
	return kept, "Clients need a token of their own (dragoman token create), or the one in " + path +
		", which may do everything (dragoman mcp --show-token).", err
}

// admitting returns gate.Options.Admit. It logs files that cannot be used, and hides them from clients.
func admitting(kept *tokens.Store, log *zap.Logger) func(token string) (access.Holder, error) {
	return func(token string) (access.Holder, error) {
		of, err := kept.Admit(token)
		if err == nil {
			return of, nil
		}
		if expired, ok := errors.AsType[*tokens.ExpiredError](err); ok {
			return of, fmt.Errorf("%w; whoever runs dragoman can create another: dragoman token create NAME", expired)
		}
		if !errors.Is(err, tokens.ErrUnknown) {
			log.Warn("tokens of MCP clients are not admitted", zap.Error(err))
		}
		return of, gate.ErrNoToken
	}
}
