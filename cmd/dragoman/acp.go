package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"dragoman/adapters/acp"
	"dragoman/adapters/thread"
	"dragoman/adapters/wire"
)

func (a *app) acp() *cobra.Command {
	return &cobra.Command{
		Use:   "acp",
		Short: "Serve an editor that speaks ACP, the Agent Client Protocol",
		Long: `Serve an editor that speaks ACP, the Agent Client Protocol (Zed, JetBrains, agent-shell,
codecompanion, toad, …), over standard input and output. The editor starts this command; it
ends when the editor closes our standard input.`,
		Example: `  dragoman acp
  dragoman acp --log-level debug --log-file /tmp/dragoman.log`,
		Args: cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return a.serveStdio(ctx, "acp", func(h *house) server {
				return acpStream{acp.Options{Gateway: h.gateway, Log: h.log, Version: a.Version, Servers: true, Providers: h.profiles.Providers()}}
			})
		}),
	}
}

// acpStream serves ACP, or the thread protocol that it was in June 2025, as the client's first call wants.
type acpStream struct {
	opts acp.Options
}

func (a acpStream) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return wire.NewConn(in, out, a.opts.Wire()).ServeFirst(ctx, func(method string) wire.Protocol {
		if thread.Speaks(method) {
			return thread.New(thread.Options{Gateway: a.opts.Gateway, Log: a.opts.Log})
		}
		return acp.New(a.opts)
	})
}
