package ecaserver_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dragoman/bridge/agent/launch"
	"dragoman/bridge/ecaserver"
	"dragoman/core"
	"dragoman/core/child/childtest"
)

// However quickly another process continues the chat of one that was killed, it starts a server only when the old
// one is gone with all that it has started.
func TestNoTwoServersForAChatWhoseOwnerIsKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, odd := t.TempDir(), childtest.OddSleep()
	if err := os.Mkdir(filepath.Join(home, "chats"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), oddVar+"="+odd+" "+home)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { childtest.Wake(t, odd) })
	childtest.Soon(t, "its turn runs", func() bool { return len(recorded(t, filepath.Join(home, "record"), "chat/prompt")) == 1 })
	guards := childtest.Guards(t, cmd.Process.Pid)
	signal := func(sig syscall.Signal) {
		for _, pid := range guards {
			_ = syscall.Kill(pid, sig)
		}
	}
	signal(syscall.SIGSTOP) // they come to nothing before they are resumed
	defer signal(syscall.SIGCONT)
	var starts, alive atomic.Int32
	r := newRoomIn(t, home, scripted(t, chatsIn(home), func(o *ecaserver.Options) {
		start := o.Program
		o.Locks = locksIn(home)
		o.Program = func(ctx context.Context, h core.Host) (launch.Program, error) {
			starts.Add(1)
			alive.Add(int32(len(childtest.Asleep(t, odd))))
			return start(ctx, h)
		}
	}))
	s, err := r.gateway.Open(r.ctx, core.Local, "held")
	if err != nil {
		t.Fatal(err)
	}
	c := r.join(s)
	if err := childtest.Outright(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	id := c.prompt("say two")
	enough := time.NewTimer(300 * time.Millisecond)
	defer enough.Stop()
	<-enough.C
	if n := starts.Load(); n != 0 {
		t.Errorf("%d servers were started while the old one lived", n)
	}
	signal(syscall.SIGCONT)
	if end := c.ended(id); end.Stop != core.StopEnd || starts.Load() != 1 || alive.Load() != 0 {
		t.Errorf("%+v; %d starts, with %d of the old processes alive", end, starts.Load(), alive.Load())
	}
}
