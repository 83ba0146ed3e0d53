// Scripted is the scripted agent as a program of its own. The tests build it without the race
// detector, with which each start takes a second.
package main

import (
	"context"
	"fmt"
	"os"

	"dragoman/bridge/agent/agenttest"
)

func main() {
	o, ok := agenttest.FromEnv()
	if !ok {
		fmt.Fprintln(os.Stderr, agenttest.Variable+" is not set")
		os.Exit(2)
	}
	os.Exit(agenttest.Run(context.Background(), o, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
