package main

import (
	"context"
	"os"
	"sync"

	"dragoman/adapters/wire"
	_ "dragoman/cmd/internal/boot"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
)

// version is the version of the program, set by the linker: -X main.version=v1.2.3.
var version = "dev"

func main() {
	raiseHeapFloor()
	var pipes sync.WaitGroup
	pipes.Go(wire.SurviveSIGPIPE) // which waits for another thread
	_ = program.Seal()            // where /proc is not what it should be, it holds as far as it can
	env := &program.Environment{
		Version: version,
		Lookup:  os.LookupEnv,
		In:      os.Stdin,
		Out:     os.Stdout,
		Err:     os.Stderr,
		Browse:  program.OpenBrowser,
	}
	a := newApp(env, secrets.SystemRing(os.LookupEnv), os.Args[1:]...)
	pipes.Wait()
	os.Exit(a.run(context.Background()))
}
