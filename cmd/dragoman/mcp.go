package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/serve"
)

func (a *app) mcp() *cobra.Command {
	var o serve.MCPOptions
	var showToken bool
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
			if showToken {
				token, _, err := a.secrets.Token()
				if err == nil {
					_, err = fmt.Fprintln(a.Out, token)
				}
				return err
			}
			return serve.MCP(ctx, a.profiled(), o)
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Roots, "root", nil, "a `FOLDER` in which sessions may work; may be repeated")
	flags.StringVar(&o.HTTP, "http", "", "serve over HTTP at `HOST:PORT`, path /mcp; port 0: any that is free")
	flags.BoolVar(&o.NoAuth, "no-auth", false, "with --http on loopback: let every program on this machine in")
	flags.BoolVar(&showToken, "show-token", false, "print the bearer token of --http, and end")
	flags.BoolVar(&o.CodexTools, "codex-tools", false, "add the tools codex and codex-reply")
	flags.StringVar(&o.Only, "only", "", "hand on the MCP `SERVER` of the configuration, and nothing else")
	cmd.MarkFlagsMutuallyExclusive("no-auth", "show-token")
	cmd.MarkFlagsMutuallyExclusive("only", "codex-tools")
	return cmd
}
