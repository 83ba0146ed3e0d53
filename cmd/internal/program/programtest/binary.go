package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Run builds the program, with version "v0.0.0-test", and runs the tests of a package. The
// program has no tables for debuggers, like that of make build: it links faster. It writes the
// program's path to binary and returns the exit code.
func Run(m *testing.M, binary *string) int {
	dir, err := os.MkdirTemp("", "dragoman-cmd-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	*binary = filepath.Join(dir, "dragoman")
	if runtime.GOOS == "windows" {
		*binary += ".exe"
	}
	build := exec.Command(
		"go",
		"build",
		"-buildvcs=false",
		"-ldflags",
		"-s -w -X main.version=v0.0.0-test",
		"-o",
		*binary,
		"dragoman/cmd/dragoman",
	)
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, text)
		return 1
	}
	return m.Run()
}
