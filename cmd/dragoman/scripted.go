package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"dragoman/bridge/agent/agenttest"
	"dragoman/cmd/internal/program"
)

// scriptedAgent is an external agent for the demo, and for trying a configuration of one.
func (a *app) scriptedAgent() *cobra.Command {
	var login bool
	c := &cobra.Command{
		Use:   "scripted-agent",
		Short: "Be an ACP agent that does what prompts tell it (for the demo and for tests)",
		Long: `Be an external agent over ACP that follows instructions instead of asking a model: "read FILE" and
"run COMMAND" ask the client, "say TEXT" answers. It asks for approvals as other agents do. Its
capabilities come from the environment variable ` + agenttest.Variable + `.`,
		Example: "  dragoman scripted-agent",
		Hidden:  true,
		Args:    none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			var args []string
			if login {
				args = append(args, "--login")
			}
			o, ok := agenttest.FromEnv()
			if !ok {
				o = agenttest.Sample()
			}
			switch code := agenttest.Run(ctx, o, args, a.In, a.Out, a.Err); code {
			case 0:
				return nil
			case 1:
				return errors.New("the login failed")
			default:
				return program.ExitError(code)
			}
		}),
	}
	c.Flags().BoolVar(&login, "login", false, "sign in at this terminal, as its terminal method does")
	return c
}
