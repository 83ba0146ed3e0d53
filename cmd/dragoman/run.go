package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/serve"
)

func (a *app) runCommand() *cobra.Command {
	var o serve.RunOptions
	cmd := &cobra.Command{
		Use:   "run [PROMPT]",
		Short: "Carry out one prompt and print the answer",
		Long: `Carry out one prompt in the current folder and print the answer. Unless standard input is a
terminal, its text is added to the prompt. The answer goes to standard output as it is written,
everything else to standard error: tool calls, notices, retries, errors and usage. The session is
stored, so that it can be continued.

Nobody is asked anything. What needs your approval is refused, unless a rule allows it: one of the
configuration, or one given with --allow. TOOL is the name of a tool, or SERVER__TOOL for that of an
MCP server; PATTERN is that of the command, the path or the address, as in policy.allow. Deny and
ask rules, and calls that only a person may allow, are not affected.

The turn waits for the MCP servers of the configuration, each for its start_timeout at most. With
--require-mcp it fails if one of them has not started; otherwise it goes on without the tools of
that server.

The session may be one that other clients use at the same time. Nothing of their turns is printed,
and their questions are left to them; the prompt waits until the turns before it have ended.

With --json, each event of the turn is printed as one line as soon as it happens, in the form of
/export FILE.jsonl.

The exit code is 0 if the turn has ended by itself, 1 if it failed, 2 if the command line is wrong,
3 if something was refused because nobody could be asked, 4 if a limit or the model's refusal has
ended it, or a limit has refused it, 130 if it was interrupted (143 by SIGTERM), and 141 if nobody
reads its output any more.`,
		Example: `  dragoman run 'Which TODOs are left in this project?'
  git diff | dragoman run --agent plan 'Review this change'
  dragoman run --allow 'shell_command:go test *' --allow edit_file 'Make the tests pass'
  dragoman run --session latest 'And now shorter'
  dragoman run --json 'Summarize README.md' | jq -r 'select(.k == "text") | .v.text'`,
		Args:              upTo(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				o.Prompt = args[0]
			}
			return serve.Run(ctx, a.profiled(), o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Settings.Agent, "agent", "", "the `AGENT` to prompt: code, plan, or a configured one (default: default_agent of the configuration, else code)")
	f.StringVar(&o.Settings.Model, "model", "", "the model to use, as `PROVIDER/MODEL` (default: the configuration's)")
	sessionFlag(cmd, &o.Session)
	f.StringArrayVar(&o.Allow, "allow", nil, "allow `TOOL[:PATTERN]` without asking; may be repeated")
	f.BoolVar(&o.RequireMCP, "require-mcp", false, "fail before the model is asked if an MCP server has not started")
	f.BoolVar(&o.JSON, "json", false, "print one JSON object for each event instead of the answer")
	return cmd
}
