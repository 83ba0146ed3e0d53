// Scripted is the scripted ECA server as a program of its own.
package main

import (
	"os"

	"dragoman/bridge/ecaserver/ecatest"
)

func main() { os.Exit(ecatest.Main(os.Stdin, os.Stdout)) }
