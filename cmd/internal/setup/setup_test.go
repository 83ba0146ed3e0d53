package setup

import (
	"os"
	"testing"

	"dragoman/cmd/internal/program/programtest"
)

// binary is the program itself, built once: it can be an MCP server.
var binary string

func TestMain(m *testing.M) { os.Exit(programtest.Run(m, &binary)) }
