package main

import (
	"context"
	"os"

	"dragoman/adapters/wire"
)

// version is the program's, set by the linker: -X main.version=v1.2.3.
var version = "dev"

func main() {
	wire.SurviveSIGPIPE()
	a := &app{
		env: os.LookupEnv, in: os.Stdin, out: os.Stdout, errs: os.Stderr,
		args: os.Args[1:], browse: openBrowser, ring: systemRing(os.LookupEnv),
	}
	os.Exit(a.run(context.Background()))
}
