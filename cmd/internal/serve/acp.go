package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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
				Folder:    workable,
				Providers: g.profiles.Providers(),
				SignIn:    g.profiles.SignIn(),
				Logins:    g.profiles.Logins(),
			},
		}
	})
}

// workable returns why a session cannot work in a folder.
func workable(dir string) error {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %.1000s does not exist; create it first, or name another one", dir)
	case err != nil:
		return fmt.Errorf("open the folder %.1000s: %w", dir, err)
	case !st.IsDir():
		return fmt.Errorf("%.1000s is not a folder; name the folder to work in", dir)
	}
	return nil
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
