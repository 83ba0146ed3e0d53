package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/agents"
	"dragoman/cmd/internal/doctor"
)

func (a *app) agents() *cobra.Command {
	return group(
		&cobra.Command{
			Use:   "agents",
			Short: "Add and list agents, log in to them, and find out why one does not start",
			Long: `Add and list agents, log in to them, and find out why one does not start. External agents are
programs that speak ACP, the Agent Client Protocol, such as Claude, Codex, Gemini and OpenCode. They
can be chosen in every editor, as agents like the built-in ones.

These commands keep agents in agents.json next to the configuration ("dragoman config path --agents"
prints its path), in the form of agents in config.yaml. An entry agents.NAME.acp.command in
config.yaml is used as well, and wins if both files have the same name; these commands never change
that file. Connected editors follow the changes in both.

The program of an agent is compared with what was used before whenever it is started. You are asked
about a change, here or in the session; until you agree the agent is not started.`,
			Example: `  dragoman agents add claude
  dragoman agents list
  dragoman agents login claude
  dragoman agents doctor claude`,
		},
		a.agentsList(),
		a.agentsAdd(),
		a.agentsUpdate(),
		a.agentsRemove(),
		a.agentsImport(),
		a.agentsApprove(),
		a.agentsDoctor(),
		a.agentsLogin(),
		a.agentsLogout(),
		a.agentsSessions(),
	)
}

func (a *app) agentsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents: built-in, configured and external ones",
		Long: `List the agents, the default one first: the built-in ones, those of the configuration, and external
ones, with the path of their program, its version as far as it is known, and where it comes from
(registry, or own for a command of yours). Nothing is started. Agents that files of a workspace or
of your own define are not listed. --json prints one object per line.`,
		Example: "  dragoman agents list\n  dragoman agents list --json",
		Args:    none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return agents.List(ctx, a.Environment, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func (a *app) agentsDoctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [NAME]",
		Short: "Start external agents and report why one does not work",
		Long: `Start an external agent, or each of them, and report why it does not work: whether its program is
found, also in the PATH of an editor that is started from a desktop, its version, how long it takes
to answer, whether it wants a login, what it can do, its options and the end of its error output.
A session is opened in a temporary folder, nothing is prompted, and the agent is ended. The time
for each agent is a minute. What was installed from the registry is compared with what it was then,
file by file.

The exit code is 1 if there is a problem; a warning (!) does not count.`,
		Example:           "  dragoman agents doctor\n  dragoman agents doctor claude",
		Args:              upTo(1),
		ValidArgsFunction: a.completeAgents,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return doctor.New(a.Environment, a.secrets).PrintAgents(ctx, strings.Join(args, ""))
		}),
	}
}

func (a *app) agentsLogin() *cobra.Command {
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "login NAME [METHOD]",
		Short: "Log in to an external agent",
		Long: `Log in to an external agent in one of its own ways: its program asks in this terminal, or it opens a
page in the browser; its messages are shown meanwhile. The agent keeps the login where it always
does, so dragoman never sees it. Without METHOD you are asked which way to take, if there are
several. Sessions that are open in an editor use the login from their next prompt on.

Editors log in as well: over ACP in their own way, over ECA with /login NAME.`,
		Example: `  dragoman agents login claude
  dragoman agents login codex chatgpt`,
		Args:              between(1, 2),
		ValidArgsFunction: a.completeAgents,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return agents.Login(ctx, a.Environment, args[0], strings.Join(args[1:], ""), !noBrowser)
		}),
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the addresses of pages instead of opening them")
	return cmd
}

func (a *app) agentsLogout() *cobra.Command {
	return &cobra.Command{
		Use:   "logout NAME",
		Short: "Have an external agent forget its login",
		Long: `Start an external agent and have it forget its login, if it can do that by itself. dragoman has no
part of the login. A key in the agent's environment, or under agents.NAME.acp.env, stays.`,
		Example:           "  dragoman agents logout claude",
		Args:              exactly(1),
		ValidArgsFunction: a.completeAgents,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return agents.Logout(ctx, a.Environment, args[0])
		}),
	}
}

func (a *app) agentsSessions() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sessions NAME",
		Short: "List the sessions that an external agent has by itself",
		Long: `Ask an external agent for its own sessions and list them, most recently used first: the time of last
use, the id here, the agent's id, the folder and the title. The agent is started for that. A session
that was deleted here is marked; it cannot be opened.

Editors show these sessions beside ours, and import one when it is opened, as "dragoman run
--session ID" does. "dragoman sessions list" shows it from then on. No agent is started for the
lists of editors: they show what this command, or an agent in use, has listed last.`,
		Example:           "  dragoman agents sessions claude\n  dragoman agents sessions claude --json",
		Args:              exactly(1),
		ValidArgsFunction: a.completeAgents,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return agents.Sessions(ctx, a.Environment, args[0], asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// completeAgents lists the external agents, for a shell.
func (a *app) completeAgents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := a.LoadConfig(nil)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return agents.Names(c), cobra.ShellCompDirectiveNoFileComp
}
