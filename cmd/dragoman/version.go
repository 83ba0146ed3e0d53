package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

// versioned gives a command the flag --version, which prints text instead of running it.
// It does not use cobra's own flag, because that takes a text/template, which makes the
// linker keep every exported method of the program.
func versioned(cmd *cobra.Command, text string) {
	show := cmd.Flags().BoolP("version", "v", false, "version for "+cmd.Name())
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		if *show {
			return nil
		}
		return args(cmd, list)
	}
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		if *show {
			_, err := io.WriteString(cmd.OutOrStdout(), text)
			return err
		}
		return run(cmd, list)
	}
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and the build environment",
		Long:    "Print the version on the first line, then the compiler and the system it was built for.\n\"dragoman --version\" prints the first line only.",
		Example: "  dragoman version\n  dragoman --version",
		Args:    none,
		RunE: a.begin(func(context.Context, []string) error {
			_, err := fmt.Fprintf(
				a.Out,
				"dragoman %s\n%s %s/%s\n",
				a.Version,
				runtime.Version(),
				runtime.GOOS,
				runtime.GOARCH,
			)
			return err
		}),
	}
}
