package main

import (
	"context"
	"os"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
)

// version is the program's, set by the linker: -X main.version=v1.2.3.
var version = "dev"

func main() {
	wire.SurviveSIGPIPE()
	a := &app{
		Environment: &program.Environment{
			Version: version, Lookup: os.LookupEnv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Browse: openBrowser,
		},
		args: os.Args[1:], ring: systemRing(os.LookupEnv),
	}
	os.Exit(a.run(context.Background()))
}
