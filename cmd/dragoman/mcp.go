package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/serve"
)

// noCodexTools is the warning of --codex-tools, which clients may still have in their settings.
const noCodexTools = "--codex-tools does nothing any more: the tools codex and codex-reply are gone; " +
	"use agent_prompt, which returns a session to continue, instead"

func (a *app) mcp() *cobra.Command {
	var o serve.MCPOptions
	var agent string
	var showToken, codexTools bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve another agent that speaks MCP, the Model Context Protocol",
		Long: `Serve another agent, or any client that speaks MCP, the Model Context Protocol, over
standard input and output. It gets tools to prompt this agent, wait for it, answer its
approvals and read its sessions. The command ends when the client closes its standard input.

Besides the agent, the client sees the configured MCP servers: their tools, prompts and
resources, and their requests and notifications. Each client has servers of its own, which
start when it first lists or calls something. If several servers have a tool of the same name,
it is called SERVER__TOOL. mcp.servers chooses the servers and mcp.prefix how their tools are
named; with mcp.tools, a client with more tools than that searches for them. Deny and ask
rules apply to these tools: a call that matches policy.ask is put to the client's user, or
refused if the client shows no forms. Nothing else is asked, because the client has already
asked its user. A tool that has changed since it was first seen is refused until you approve it
with "dragoman mcp-servers approve". mcp-audit.jsonl in the data folder records who called
which tool, never the content.

--root names a folder in which sessions may work, and may be repeated. The default is
mcp.workspaces in the configuration, else the client's roots, if it has any, else the current
folder. A client lists, reads and prompts only sessions whose folders all lie within these
folders, and answers and deletes only in sessions that it started or prompted.

--http serves many clients over Streamable HTTP instead, at /mcp of the given address, until
it is stopped. Each client needs a bearer token. "dragoman token create" makes one for a client,
with rights, and "dragoman token revoke" ends it at once. There is also one with all rights, which
is created at the first start and stored in the data folder; --show-token prints it, and after its
file is deleted only a new one is valid. --no-auth works without a token, on a loopback address
only: then every program on this machine can use the agent. A client that is silent
for 15 minutes, with no stream open and no turn running, has to start a new session. When there
are 1,000 clients, the one that has been silent for longest is dropped for a new one.

Approvals and questions are put to the client's user, if the client can show a form
(elicitation). If it cannot, or the form was dismissed, the client's model passes on the
user's answer; mcp.model_answers limits what it may allow, by default nothing over HTTP. It
can only reject what only a person may allow.

--only serves one of the configured MCP servers instead, unchanged: its own tools, prompts and
resources under their own names. Deny and ask rules apply as above. If the server ends, it is
started again, and the client stays connected. With --http, each server is also at /mcp/SERVER;
there a client starts a new session when its server has ended.`,
		Example: `  dragoman mcp
  dragoman mcp --root ~/src/app --root ~/src/lib
  dragoman mcp --http 127.0.0.1:7717 --root ~/src/app
  dragoman mcp --only files`,
		Args: none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			if codexTools {
				fmt.Fprintln(a.Err, "dragoman: "+noCodexTools)
			}
			if o.NoAuth && showToken {
				return program.UsageError{Err: errors.New("--no-auth and --show-token exclude each other: without authorization there is no token")}
			}
			if showToken {
				return a.showMainToken()
			}
			return serve.MCP(ctx, a.profiledFor(agent), o)
		}),
	}
	a.servingFlags(cmd, &agent)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Roots, "root", nil, "a `FOLDER` in which sessions may work; may be repeated")
	flags.StringVar(&o.HTTP, "http", "", "serve over HTTP at `HOST:PORT`, path /mcp; port 0: any free port")
	flags.BoolVar(&o.NoAuth, "no-auth", false, "with --http on a loopback address: serve every program on this machine")
	flags.BoolVar(&showToken, "show-token", false, "print the bearer token of --http that has all rights, and exit")
	flags.StringVar(&o.Only, "only", "", "serve only this configured MCP `SERVER`")
	flags.BoolVar(&codexTools, "codex-tools", false, "does nothing any more")
	if err := flags.MarkHidden("codex-tools"); err != nil {
		panic(err)
	}
	return cmd
}
