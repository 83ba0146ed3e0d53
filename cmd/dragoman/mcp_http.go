package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"go.uber.org/zap"

	"dragoman/adapters/gate"
	"dragoman/adapters/mcp"
)

func (a *app) showToken() error {
	token, _, err := a.secrets.Token()
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Out, token)
	return nil
}

// serveHTTP serves MCP clients over HTTP until a signal comes. What a person must know stands on standard error.
func (a *app) serveHTTP(ctx context.Context, f mcpFlags, cwd string, make func(*house) *mcp.Server) error {
	loopback := gate.Loopback(f.http)
	if f.noAuth && !loopback {
		return fmt.Errorf("--no-auth is for addresses that this machine alone can reach, such as 127.0.0.1:7717; %s is none", f.http)
	}
	var o gate.Options
	say := ""
	if f.noAuth {
		say = "Every program on this machine may use it (--no-auth)."
	} else {
		token, path, err := a.secrets.Token()
		if err != nil {
			return err
		}
		o.Token, say = token, "Clients need the bearer token in "+path+" (dragoman mcp --show-token)."
	}
	if !loopback {
		say += " The connection is not encrypted: put a proxy with TLS in front of it."
	}
	return a.inHouse(ctx, func(ctx context.Context, h *house) error {
		h.log = h.log.With(zap.String("protocol", "mcp"))
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", f.http)
		if err != nil {
			return err
		}
		o.Log = h.log
		if host, _, err := net.SplitHostPort(f.http); err == nil && host != "" {
			o.Hosts = []string{host}
		}
		g := gate.New(o)
		servers := newRelays(h, cwd)
		leave := servers.Close
		if f.only != "" {
			g.Mount("/mcp", only{servers, f.only})
		} else {
			handler := aggregated{h, make(h), cwd, a.InCircle()}.HTTP()
			g.Mount("/mcp", handler)
			g.Mount("/mcp/", servers)
			leave = func() {
				handler.Close()
				servers.Close()
			}
		}
		fmt.Fprintf(a.Err, "dragoman: MCP at http://%s/mcp. %s\n", l.Addr(), say)
		h.log.Info("speaking", zap.String("version", a.Version), zap.Stringer("address", l.Addr()))
		err = g.Serve(ctx, l, leave)
		h.log.Info("ended", zap.Error(err))
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		return err
	})
}
