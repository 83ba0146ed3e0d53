//go:build unix

package tools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"dragoman/core/child/childtest"
)

const killedVar = "TOOLS_TEST_KILLED"

// TestKilledParent is the process that TestKilled kills. It runs all given commands at
// the same time.
func TestKilledParent(t *testing.T) {
	commands := os.Getenv(killedVar)
	if commands == "" {
		t.Skip("not called by TestKilled")
	}
	b := newBed(t)
	var all sync.WaitGroup
	defer all.Wait()
	for line := range strings.SplitSeq(commands, "\x1f") {
		if job, ok := strings.CutPrefix(line, "job:"); ok {
			all.Go(func() { <-b.begin(m{"command": job}).done })
			continue
		}
		all.Go(func() { b.shellRun(context.Background(), m{"command": line, "timeout_seconds": 60}, nil) })
	}
}

// However we are killed, no process that a command or a job started outlives us.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, kill := range map[string]func(pid int) error{
		"killed":          childtest.Outright,
		"terminated":      childtest.Politely,
		"the whole group": childtest.WithItsGroup,
	} {
		t.Run(name, func(t *testing.T) {
			odd := childtest.OddSleep()
			commands := fmt.Sprintf("sleep %[1]s & sleep %[1]s; true\x1fsleep %[1]s; true\x1fjob:sleep %[1]s & sleep %[1]s; true", odd)
			cmd := exec.Command(exe, "-test.run=^TestKilledParent$")
			cmd.Env = append(os.Environ(), killedVar+"="+commands, "TMPDIR="+t.TempDir())
			guards := 3
			if runtime.GOOS == "linux" {
				guards = 1 // of the session
			}
			childtest.Killed(t, cmd, odd, 5, guards, kill)
		})
	}
}
