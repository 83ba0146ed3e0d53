package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/agents"
)

func (a *app) agentsAdd() *cobra.Command {
	var o agents.Choices
	dash := -1
	cmd := &cobra.Command{
		Use:   "add [AGENT | [NAME] -- COMMAND [ARGUMENT…]]",
		Short: "Add an agent: one that is installed, one of the registry, or a command",
		Long: `Add an agent to agents.json. Everything else in the file stays, also comments.

AGENT is an agent of the registry that editors share, by its id or the name that people use (claude
for claude-acp); older ids and names of packages are known, too. If its program is installed already
you are offered to use that. Otherwise it is shown what will be installed and run, with its licence,
its version and how it is verified, and you are asked; --yes agrees without asking, for scripts.

It is installed into a folder of dragoman's own, in one exact version, and is not changed there any
more: "dragoman agents update" installs a newer one. Updates that the agent would make by itself are
switched off, where it has a switch for that. Archives are compared with the registry's SHA-256 if
it has one, and you are told if not. A package of npm needs Node.js and npm; its install scripts,
and those of what it needs, are run only if you agree (--scripts). A Python package needs uv.

After "--" stands a command of your own, under a NAME or that of its program. Without AGENT, the
agents that are installed and those of the registry are listed.

The registry is fetched from cdn.agentclientprotocol.com; without a connection the copy that was
fetched last is used. --registry names a file or another address.`,
		Example: `  dragoman agents add
  dragoman agents add claude
  dragoman agents add gemini --as google --registry registry.json
  dragoman agents add box -- ssh box codex-acp
  dragoman agents add mine --env 'KEY=${env:KEY}' -- ./my-agent --acp`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash = cmd.ArgsLenAtDash(); dash > 1 || dash < 0 && len(args) > 1 {
				return errors.New(`name one agent, or put a command after "--": add NAME -- COMMAND`)
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			word, command := "", args
			if dash != 0 && len(args) > 0 {
				word, command = args[0], args[1:]
			}
			return agents.Add(ctx, a.Environment, word, command, o)
		}),
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; put a command and its arguments after \"--\"", err)
	})
	f := cmd.Flags()
	f.StringVar(&o.As, "as", "", "the `NAME` of the agent here")
	f.StringArrayVar(&o.Env, "env", nil, "`NAME=VALUE` in the environment of your command; may be given several times")
	f.BoolVar(&o.Install, "install", false, "install it, also if its program is installed already")
	f.BoolVar(&o.Replace, "replace", false, "replace the entry of the same name")
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "only show what would be done")
	installFlags(cmd, &o)
	return cmd
}

// installFlags adds the flags of commands that install.
func installFlags(cmd *cobra.Command, o *agents.Choices) {
	cmd.Flags().StringVar(&o.Registry, "registry", "", "a `FILE` or an address with a registry of agents")
	cmd.Flags().BoolVar(&o.Scripts, "scripts", false, "run the install scripts of packages without asking about them")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "agree without being asked")
}

func (a *app) agentsUpdate() *cobra.Command {
	var o agents.Choices
	cmd := &cobra.Command{
		Use:   "update [NAME]",
		Short: "Install newer versions of agents of the registry",
		Long: `Install the present version of an agent that was added from the registry, or of each of them. It is
shown and asked about as by "dragoman agents add". An agent whose files are not what was installed
is installed again.

The new version gets a folder of its own, and agents.json names it from then on. Programs that run
keep their version; sessions use the new one when their program is started again. The folder of the
old version is removed as soon as no program of it runs, by this command or a later one (on systems
that do not say what runs, after a day).`,
		Example: `  dragoman agents update
  dragoman agents update claude --yes`,
		Args:              upTo(1),
		ValidArgsFunction: a.completeAgents,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return agents.Update(ctx, a.Environment, name, o)
		}),
	}
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only show what would be done")
	installFlags(cmd, &o)
	return cmd
}

func (a *app) agentsRemove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove an agent",
		Long: `Remove an agent from agents.json, after asking. What was installed for it is removed, as soon as no
program of it runs; the program of a command of your own stays. The agent's login and its own
sessions stay where the agent keeps them.`,
		Example:           "  dragoman agents remove claude",
		Args:              exactly(1),
		ValidArgsFunction: a.completeAgents,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return agents.Remove(ctx, a.Environment, args[0], yes)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree without being asked")
	return cmd
}

func (a *app) agentsImport() *cobra.Command {
	var o agents.Choices
	cmd := &cobra.Command{
		Use:   "import [zed|jetbrains]",
		Short: "Take over the agents of an editor's settings",
		Long: `Take over the agents (agent_servers) in your own settings of Zed (settings.json in its folder) and
of JetBrains' programs (~/.jetbrains/acp.json), or of one of them. They are listed, and you are
asked. Agents that Zed has from the registry are installed from there, each after another question.
Texts are taken as they are: nothing in them becomes a reference. What cannot be taken over is
reported, the others are taken over, and the exit code is 1. dragoman's own entry is left out.

The settings of a project are never read: they come from others.`,
		Example: `  dragoman agents import --dry-run
  dragoman agents import zed`,
		Args:      upTo(1),
		ValidArgs: []string{"zed", "jetbrains"},
		RunE: a.begin(func(ctx context.Context, args []string) error {
			from := ""
			if len(args) > 0 {
				from = args[0]
			}
			return agents.Import(ctx, a.Environment, from, o)
		}),
	}
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only show what would be written")
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "change the entries that have the names")
	installFlags(cmd, &o)
	return cmd
}

func (a *app) agentsApprove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve NAME",
		Short: "Review and approve a change of an agent's program",
		Long: `Compare the program of an agent with the one that was used before, show both if they differ, and ask
for your approval. Of an agent that was installed from the registry every file counts; of a command
of yours the program's file, or that of the script. Until you approve a change, here or when a
session asks, the agent is not started.

--yes approves without asking, for scripts; read the output anyway. The exit code is 1 if it was not
approved.`,
		Example:           "  dragoman agents approve claude",
		Args:              exactly(1),
		ValidArgsFunction: a.completeAgents,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return agents.Approve(ctx, a.Environment, args[0], yes)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve without asking")
	return cmd
}
