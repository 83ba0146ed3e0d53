package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// versionTemplate is the output of --version. ECA's clients run the server with --version and
// look for a line that begins with its name.
const (
	versionTemplate    = "dragoman {{.Version}}\n"
	ecaVersionTemplate = versionTemplate + "eca {{.Version}}\n"
)

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
