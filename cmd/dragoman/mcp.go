package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"dragoman/adapters/mcp"
	"dragoman/cmd/internal/setup"
)

func (a *app) mcp() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve another agent that speaks MCP, the Model Context Protocol",
		Long: `Serve another agent, or any client that speaks MCP, the Model Context Protocol, over
standard input and output: it gets tools with which it prompts this agent, waits for it,
answers its approvals and reads its sessions. It ends when the client closes our standard
input.

The MCP servers of the configuration are handed on beside the agent: their tools, prompts and
resources, and what they ask and tell, in both directions. Each client has servers of its own,
which start when it first lists or calls something. Where several have a tool of the same name
it begins with its server's: SERVER__TOOL. What is handed on, and how it is named, is said by
mcp.servers and mcp.prefix; with mcp.tools a client searches for tools in place of being shown
more than that. Deny and ask rules apply to these tools: a call that policy.ask matches is put
to the client's user, or refused if the client shows no forms. Nothing else is asked about,
since the client's own program asks. A tool that has changed since it was first seen is refused
until you agree to it with "dragoman mcp-servers approve". Who called which tool is recorded in
mcp-audit.jsonl in the data folder, and never what was said.

--root names a folder in which sessions may work, and may be given several times. Without
one the folders are those of mcp.workspaces in the configuration, else the client's, where
it tells them, else the one that this command was started in. A client lists, reads and
prompts only sessions whose folders all lie within them, and answers and deletes only in
those that it has begun or prompted.

--http serves many clients over Streamable HTTP instead, at /mcp of the address given, until
it is stopped. They need a bearer token, which is made at the first start and kept in the
data folder; --show-token shows it. --no-auth does without, on an address that this machine
alone can reach: then every program on it can use the agent. A client that is silent for 15
minutes, with no stream open and no turn running, has to begin anew; when 1,000 clients are
there, the one that has been silent for longest makes room.

What must be asked is asked of the client's user, where the client can show a form
(elicitation). Where it cannot, or the form was dismissed, the client's model passes on what
the user said; mcp.model_answers says what it may allow, by default nothing over HTTP. What
only a person may allow it can only reject.

--codex-tools adds the tools "codex" and "codex-reply", as Codex's own MCP server had them.

--only hands on one of the MCP servers of the configuration instead, as it is: its own tools,
prompts and resources under their own names. Deny and ask rules apply as above. With --http
each of them is also at /mcp/SERVER.`,
		Example: `  dragoman mcp
  dragoman mcp --root ~/src/app --root ~/src/lib
  dragoman mcp --http 127.0.0.1:7717 --root ~/src/app
  dragoman mcp --only files`,
		Args: cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			if f.showToken {
				return a.showToken()
			}
			return a.serveMCP(ctx, f)
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.roots, "root", nil, "a `FOLDER` in which sessions may work; may be repeated")
	flags.StringVar(&f.http, "http", "", "serve over HTTP at `HOST:PORT`, path /mcp; port 0: any that is free")
	flags.BoolVar(&f.noAuth, "no-auth", false, "with --http on loopback: let every program on this machine in")
	flags.BoolVar(&f.showToken, "show-token", false, "print the bearer token of --http, and end")
	flags.BoolVar(&f.codexTools, "codex-tools", false, "add the tools codex and codex-reply")
	flags.StringVar(&f.only, "only", "", "hand on the MCP `SERVER` of the configuration, and nothing else")
	cmd.MarkFlagsMutuallyExclusive("no-auth", "show-token")
	cmd.MarkFlagsMutuallyExclusive("only", "codex-tools")
	return cmd
}

// mcpFlags are the flags of dragoman mcp.
type mcpFlags struct {
	roots                         []string
	http, only                    string
	noAuth, showToken, codexTools bool
}

func (a *app) serveMCP(ctx context.Context, f mcpFlags) error {
	for i, root := range f.roots {
		abs, err := folder(root)
		if err != nil {
			return err
		}
		f.roots[i] = abs
	}
	if f.noAuth && f.http == "" {
		return errors.New("--no-auth is for --http; over standard input and output there is nobody to let in")
	}
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	make := func(h *house) *mcp.Server { return a.mcpServer(h, f, cwd) }
	if f.http != "" {
		return a.serveHTTP(ctx, f, cwd, make)
	}
	if f.only != "" {
		return a.serveStdio(ctx, "mcp", func(h *house) server { return only{newRelays(h, cwd), f.only} })
	}
	return a.serveStdio(ctx, "mcp", func(h *house) server { return aggregated{h, make(h), cwd, a.InCircle()} })
}

// mcpServer is the adapter, as the flags and the configuration want it.
func (a *app) mcpServer(h *house, f mcpFlags, cwd string) *mcp.Server {
	s := mcp.New(mcp.Options{
		Gateway: h.gateway, Log: h.log, Version: a.Version, Roots: f.roots, Cwd: cwd, Home: a.Home(),
		CodexTools: f.codexTools, Expand: setup.Expander(a.Lookup),
		Settings: func() mcp.Settings {
			made, err := h.profiles.Load()
			if err != nil {
				return mcp.Settings{} // the tools say what is wrong
			}
			c := made.Config.MCP
			s := mcp.Settings{
				AllowAuto: c.AllowAuto, ElicitationTimeout: c.ElicitationTimeout,
				ModelAnswers: modelAnswers(c.ModelAnswers, f.http != ""),
			}
			for _, w := range c.Workspaces {
				path, err := w.ResolvePath(a.Lookup)
				if err != nil {
					path = w.String() // it is no folder, and that is said when somebody prompts
				}
				s.Workspaces = append(s.Workspaces, path)
			}
			return s
		},
	})
	h.profiles.Lends = s
	return s
}

// modelAnswers reports whether mcp.model_answers is soft. Where it is left out it counts
// as soft, but not over HTTP, where the caller may be anybody with the token.
func modelAnswers(configured string, overHTTP bool) bool {
	return configured == "soft" || configured == "" && !overHTTP
}

// folder is the absolute path of a folder that is there.
func folder(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is no folder", abs)
	}
	return abs, nil
}
