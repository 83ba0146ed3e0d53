package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/answers"
	"dragoman/cmd/internal/program"
)

func (a *app) policyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "policy",
		Short: "Allow calls for good, and show and forget what you have allowed",
		Long: `Allow calls for good, show and forget what you have allowed in this way, and try out the rules.

When you are asked about a call you can allow it "always", or write /allow after you have allowed
it: in the same folders, for the same agent, and for what the question says it would cover. These
answers are kept in policy.json next to the configuration, which itself is never changed. Deny and
ask rules of the configuration come first.`,
		Example: `  dragoman policy list
  dragoman policy test -- git push origin main
  dragoman policy allow -- go test ./...
  dragoman policy forget x7k2qa`,
	}, a.policyList(), a.policyTest(), a.policyAllow(), a.policyForget())
}

func (a *app) policyList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what you have allowed for good",
		Long:    "List what you have allowed for good, the oldest first. --json prints one object per line.",
		Example: "  dragoman policy list\n  dragoman policy list --json",
		Args:    exactly(0),
		RunE: a.begin(func(context.Context, []string) error {
			return answers.List(a.Environment, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func (a *app) policyTest() *cobra.Command {
	var q answers.Question
	cmd := &cobra.Command{
		Use:   "test (-- COMMAND… | --tool TOOL [--path PATH] [--url URL] [--args JSON])",
		Short: "Say what the rules decide about a call",
		Long: `Say what the rules decide about a call in the current folder, and why: allow, ask or deny. Nothing
is run. The words behind -- are a command line; one word is read as a whole line. With --tool, the
call is one of that tool: read_file, write_file or another one of dragoman's own, or SERVER/NAME of
an MCP server. Sessions differ where they are trusted or have answers of their own.

The exit code is 0 for allow, 3 for ask and deny.`,
		Example: `  dragoman policy test -- git push origin main
  dragoman policy test 'cat .env | head'
  dragoman policy test --tool write_file --path docs/a.md
  dragoman policy test --tool web_fetch --url https://go.dev
  dragoman policy test --tool files/read --args '{"path": ".env"}'`,
	}
	return a.question(cmd, &q, func(context.Context) error { return answers.Test(a.profiled(), q) })
}

func (a *app) policyAllow() *cobra.Command {
	var q answers.Question
	cmd := &cobra.Command{
		Use:   "allow (-- COMMAND… | --tool TOOL [--path PATH] [--url URL] [--args JSON])",
		Short: "Allow a call, and what is like it, for good",
		Long: `Allow a call in the current folder for good, as an answer "always" to a question about it would.
The answer covers what "dragoman policy test" says it would cover, which may be more than this
call. What always needs approval and what a deny rule forbids cannot be allowed.`,
		Example: `  dragoman policy allow -- go test ./...
  dragoman policy allow --tool write_file --path docs/a.md
  dragoman policy allow --tool files/read`,
	}
	return a.question(cmd, &q, func(ctx context.Context) error { return answers.Allow(ctx, a.profiled(), q) })
}

// question makes a command take a question about a call.
func (a *app) question(cmd *cobra.Command, q *answers.Question, do func(context.Context) error) *cobra.Command {
	cmd.RunE = a.begin(func(ctx context.Context, args []string) error {
		if (len(args) > 0) == (q.Tool != "") {
			return program.UsageError{Err: errors.New("give either a command, behind --, or --tool")}
		}
		q.Words = args
		return do(ctx)
	})
	f := cmd.Flags()
	f.StringVar(&q.Tool, "tool", "", "a `TOOL` of dragoman's own, or SERVER/NAME")
	f.StringVar(&q.Path, "path", "", "a `PATH` that the tool touches")
	f.StringVar(&q.URL, "url", "", "an address that the tool fetches")
	f.StringVar(&q.Args, "args", "", "the arguments of an MCP server's tool, as `JSON`")
	f.StringVar(&q.Agent, "agent", "", "the `AGENT` that makes the call (default: as in a session)")
	return cmd
}

func (a *app) policyForget() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "forget (ID… | --all)",
		Short: "Forget what you have allowed for good",
		Long: `Forget what you have allowed for good: you are asked again from the next call on, in running
sessions, too. "dragoman policy list" has the IDs.`,
		Example: "  dragoman policy forget x7k2qa\n  dragoman policy forget --all",
		RunE: a.begin(func(ctx context.Context, args []string) error {
			if all == (len(args) > 0) {
				return program.UsageError{Err: errors.New("give the IDs of what to forget, or --all")}
			}
			return answers.Forget(ctx, a.Environment, args...)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "forget everything")
	return cmd
}
