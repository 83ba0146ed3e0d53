package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
)

const rootLong = `dragoman connects editors and agents: one agent, reached over three protocols.

An editor that speaks ECA or ACP starts "dragoman eca" or "dragoman acp" and talks to it
over standard input and output; another agent starts "dragoman mcp". All of them get the
same agent with the same tools, and nothing is written or run without approval.

No configuration is needed. With a key in the environment (OPENAI_API_KEY,
OPENROUTER_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, …) its provider is used. "dragoman login"
stores a key for editors that do not see the environment. Without any key, an offline demo
model shows everything else; it is not a language model. "dragoman doctor" checks the setup.`

const rootExample = `  dragoman demo              play all three protocols, without a key, network or editor
  dragoman doctor            check this machine and report problems
  dragoman config init       write a commented configuration file
  dragoman chat              talk to the agent in this terminal
  dragoman run 'PROMPT'      carry out one prompt, also in scripts`

// root returns the command line. If args begin with a command that clients start, it has this one
// alone: the others would take a tenth of the time to the first answer.
func (a *app) root(args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:     "dragoman",
		Short:   "One agent for every editor: over ECA, ACP and MCP",
		Long:    rootLong,
		Example: rootExample,
		Args:    subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terminal.Is(a.In) {
				return cmd.Help()
			}
			return errors.New("choose a protocol: dragoman eca, dragoman acp or dragoman mcp")
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetIn(a.In)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(help)
	versioned(root, "dragoman "+a.Version+"\n")

	f := root.PersistentFlags()
	f.StringVar(&a.Flags.Config, "config", "", "the configuration `FILE` (default: see dragoman config path)")
	f.StringVar(
		&a.Flags.DataDir,
		"data-dir",
		"",
		"the `FOLDER` for sessions (default: $DRAGOMAN_DATA, else the system's usual place)",
	)
	f.StringVar(
		&a.Flags.LogLevel,
		"log-level",
		"",
		"log this `LEVEL` and above: debug, info, warn or error (default: the configuration's, else warn)",
	)
	f.StringVar(
		&a.Flags.LogFile,
		"log-file",
		"",
		"append the log to `FILE`, as JSON (default: the configuration's, else standard error)",
	)
	root.AddGroup(
		&cobra.Group{ID: "speak", Title: "Speak a protocol over standard input and output:"},
		&cobra.Group{ID: "use", Title: "For people:"},
	)
	speak := func(list ...*cobra.Command) {
		for _, c := range list {
			c.GroupID = "speak"
			root.AddCommand(c)
		}
	}
	if len(args) > 0 {
		serving := map[string]func() *cobra.Command{"eca": a.eca, "server": a.eca, "acp": a.acp, "mcp": a.mcp}
		if begin, ok := serving[args[0]]; ok {
			speak(begin())
			root.CompletionOptions.DisableDefaultCmd = true
			return root
		}
	}
	speak(a.eca(), a.acp(), a.mcp())
	for _, c := range []*cobra.Command{a.demo(), a.chat(), a.attach(), a.runCommand(), a.doctor(), a.sessions(), a.translate(), a.agents(), a.modelsCommand(), a.config(), a.mcpServers(), a.policyCommand(), a.login(), a.logout(), a.token(), a.keyringCommand(), a.sessionTools(), a.scriptedAgent(), a.version()} {
		c.GroupID = "use"
		root.AddCommand(c)
	}
	root.SetHelpCommandGroupID("use")
	root.SetCompletionCommandGroupID("use")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = helpTopic
		case "completion":
			chooses(c, c.Commands())
		}
	}
	return root
}

// help writes what a command does and how it is used, with the flags wrapped at 98 columns.
// It does not change cobra's template, because templates make the linker keep every
// exported method of the program.
func help(cmd *cobra.Command, _ []string) {
	usage := cmd.UsageString()
	for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		wide := strings.TrimRightFunc(flags.FlagUsages(), unicode.IsSpace)
		usage = strings.Replace(usage, wide, strings.TrimRightFunc(flags.FlagUsagesWrapped(98), unicode.IsSpace), 1)
	}
	about := strings.TrimRightFunc(cmp.Or(cmd.Long, cmd.Short), unicode.IsSpace)
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", about, usage)
}

// group returns a command that only has subcommands; without one it lists them.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	chooses(cmd, subs)
	return cmd
}

// chooses makes a command that has subcommands list them if none is given.
func chooses(cmd *cobra.Command, subs []*cobra.Command) {
	cmd.Args = subcommand
	cmd.RunE = func(*cobra.Command, []string) error {
		var names []string
		for _, s := range subs {
			names = append(names, s.Name())
		}
		last := len(names) - 1
		return fmt.Errorf("choose a subcommand: %s or %s", strings.Join(names[:last], ", "), names[last])
	}
}

// begin adapts a command's function; see app.started.
func (a *app) begin(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		if _, err := logs.ParseLevel(a.Flags.LogLevel); err != nil {
			return program.UsageError{Err: err}
		}
		return f(cmd.Context(), args)
	}
}
