package child

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"dragoman/core/child/childtest"
)

// A program has no terminal, and leads its session and its group; what else was
// asked for is kept.
func TestSession(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("cat", "/proc/self/stat")
	cmd.Stdout = &out
	DieWithThread(cmd)
	g, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	g.Await()
	g.Close()
	f := strings.Fields(out.String())
	if len(f) < 8 || f[4] != f[0] || f[5] != f[0] || f[6] != "0" || cmd.SysProcAttr.Pdeathsig != syscall.SIGKILL {
		t.Errorf("%.100s", &out)
	}
}

// A program dies with the thread that started it, where that was asked for.
func TestDieWithThread(t *testing.T) {
	cmd := exec.Command("sleep", childtest.OddSleep())
	DieWithThread(cmd)
	started := make(chan *Group, 1)
	var onThread func()
	onThread = func() {
		runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			// The first thread ends with the process only: while we hold it, on another.
			defer runtime.UnlockOSThread()
			done := make(chan struct{})
			go func() { defer close(done); onThread() }()
			<-done
			return
		}
		g, err := Start(cmd)
		if err != nil {
			t.Error(err)
		}
		started <- g
	}
	go onThread()
	g := <-started
	if g == nil {
		return
	}
	g.Await()
	g.Close()
	if got := SignalOf(cmd.ProcessState); got != "killed" {
		t.Errorf("ended by %q", got)
	}
}
