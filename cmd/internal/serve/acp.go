package serve

import (
	"context"
	"io"

	"dragoman/adapters/acp"
	"dragoman/adapters/thread"
	"dragoman/adapters/wire"
	"dragoman/cmd/internal/setup"
)

// ACP serves an editor that speaks the Agent Client Protocol.
func ACP(ctx context.Context, o setup.Options) error {
	return stdio(ctx, o, "acp", func(g *connection) server {
		return acpStream{
			acp.Options{
				Gateway:   g.Gateway,
				Board:     g.profiles.Board(),
				Principal: g.principal,
				Profiles:  g.profiles,
				Log:       g.log,
				Version:   o.Env.Version,
				Servers:   true,
				Providers: g.profiles.Providers(),
			},
		}
	})
}

// acpStream serves ACP, or its form of June 2025, the thread protocol, depending on the client's
// first call.
type acpStream struct {
	opts acp.Options
}

// Serve implements server.
func (a acpStream) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return wire.NewConn(in, out, a.opts.Wire()).ServeFirst(ctx, func(method string) wire.Protocol {
		if thread.Speaks(method) {
			return thread.New(
				thread.Options{
					Gateway:   a.opts.Gateway,
					Principal: a.opts.Principal,
					Profiles:  a.opts.Profiles,
					Log:       a.opts.Log,
				},
			)
		}
		return acp.New(a.opts)
	})
}
