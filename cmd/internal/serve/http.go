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
	"dragoman/cmd/internal/setup"
	"dragoman/core"
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
	door := gate.Options{Principal: core.Local}
	say := ""
	if m.NoAuth {
		say = "Every program on this machine may use it (--no-auth)."
	} else {
		token, path, err := o.Secrets.Token()
		if err != nil {
			return err
		}
		door.Token, say = token, "Clients need the bearer token in "+path+" (dragoman mcp --show-token)."
	}
	if !loopback {
		say += " The connection is not encrypted: put a proxy with TLS in front of it."
	}
	return run(ctx, o, true, func(ctx context.Context, of *gateway) error {
		of.log = of.log.With(zap.String("protocol", "mcp"))
		g := of.connect(setup.ClientOptions{})
		defer g.profiles.Close()
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", m.HTTP)
		if err != nil {
			return err
		}
		door.Log = g.log
		if host, _, err := net.SplitHostPort(m.HTTP); err == nil && host != "" {
			door.Hosts = []string{host}
		}
		front := gate.New(door)
		servers := newRelays(g, cwd)
		leave := servers.Close
		if m.Only != "" {
			front.Mount("/mcp", singleServer{servers, m.Only})
		} else {
			handler := aggregateServer{g, adapter(g), cwd, o.Env.InCircle()}.HTTP()
			front.Mount("/mcp", handler)
			front.Mount("/mcp/", servers)
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
