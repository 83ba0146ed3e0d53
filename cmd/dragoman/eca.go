package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/adapters/eca"
	"dragoman/cmd/internal/program"
	"dragoman/core"
)

func (a *app) eca() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:     "eca",
		Aliases: []string{"server"},
		Short:   "Serve an editor that speaks ECA, the Editor Code Assistant protocol",
		Long: `Serve an editor that speaks ECA, the Editor Code Assistant protocol (the ECA plugins of
Emacs, VS Code, IntelliJ, Neovim, Desktop), over standard input and output. These editors
start "PATH server": give them the path of dragoman, and "server" means this command. It
ends when the editor asks for it, closes our standard input or is gone.

--verbose and --config-file are ECA's own flags for its server and mean the same here: the
log at level debug, and --config.

The exit code is 0 if the editor has asked to shut down before it left, else 1.`,
		Example: `  dragoman eca
  dragoman server --log-level debug --log-file /tmp/dragoman.log`,
		Args:    cobra.NoArgs,
		Version: a.Version,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			if verbose && a.Flags.LogLevel == "" {
				a.Flags.LogLevel = "debug"
			}
			return a.serveStdio(ctx, "eca", func(h *house) server {
				return overECA{eca.New(eca.Options{
					Gateway: h.gateway, Log: h.log, Version: a.Version, Welcome: h.welcome, Configure: h.profiles.Configure, Shutdown: h.close,
				})}
			})
		}),
	}
	cmd.SetVersionTemplate(ecaVersionTemplate)
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log at level debug, unless --log-level says otherwise")
	cmd.Flags().StringVar(&a.Flags.Config, "config-file", "", "the same as --config: the configuration `FILE`")
	return cmd
}

// overECA is an ECA server. The process of one that was not asked to shut down
// fails, as the protocol wants it; there is nobody who could be told more.
type overECA struct{ *eca.Server }

// Serve implements server.
func (s overECA) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.Server.Serve(ctx, in, out)
	if errors.Is(err, eca.ErrNoShutdown) {
		return program.ErrReported
	}
	return err
}

// welcome is what an empty chat shows: who answers, and what is missing.
func (h *house) welcome(p *core.Profile) string {
	var b strings.Builder
	b.WriteString("Welcome to dragoman " + version + ".")
	if p == nil {
		return b.String()
	}
	b.WriteString(" The model is " + p.DefaultModel + ".")
	if made, err := h.profiles.Load(); err == nil && made.Finder.Choice.Offline() {
		b.WriteString("\n\nThis is the offline demo, not a language model: " + made.Finder.Choice.Reason + ". Say anything to learn how to set a model, give a key with /login PROVIDER, or try: list . then read README.md")
	}
	if p.Fault != "" {
		b.WriteString("\n\nThe configuration has a mistake, so the one before it goes on:\n" + p.Fault)
	}
	return b.String()
}
