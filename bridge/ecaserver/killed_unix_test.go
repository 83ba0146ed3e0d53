//go:build unix

package ecaserver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dragoman/bridge/agent/launch"
	"dragoman/bridge/ecaserver"
	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/child/childtest"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// Nothing of a server is left when we are killed, also not what it has started.
func TestNothingIsLeftWhenWeAreKilled(t *testing.T) {
	for name, kill := range map[string]func(int) error{"outright": childtest.Outright, "with its group": childtest.WithItsGroup} {
		t.Run(name, func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			odd := childtest.OddSleep()
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), oddVar+"="+odd)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { childtest.Wake(t, odd) })
			childtest.Soon(t, "all of it runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
			guards := childtest.Guards(t, cmd.Process.Pid) // one, or one more for the next session
			if err := kill(cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it ended well")
			}
			childtest.Soon(t, "all is gone", func() bool {
				return len(childtest.Asleep(t, odd)) == 0 && !slices.ContainsFunc(guards, childtest.Running)
			})
		})
	}
}

func init() { holds = hold }

// hold runs a gateway whose server has started a program that sleeps for an odd time, until it is killed. Behind
// the time may be a folder for the session.
func hold(odd string) int {
	ctx := context.Background()
	odd, home, stored := strings.Cut(odd, " ")
	var store core.Store = coretest.NewMemory()
	if stored {
		store = jsonl.New(filepath.Join(home, "sessions"))
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	back := ecaserver.New(ecaserver.Options{Options: launch.Options{
		Name: "scripted",
		Program: func(context.Context, core.Host) (launch.Program, error) {
			return launch.Program{Path: "sh", Args: []string{"-c", `sleep "$1" & exec "$0"`, self, odd}, Env: map[string]string{ecatest.Variable: chatsIn(home).Value()}}, nil
		},
		Pool: launch.NewPool(), Guards: &child.Guards{}, Locks: locksIn(home), Version: "test",
	}})
	profile := &core.Profile{Agents: []core.Agent{{Name: "scripted", Rev: "1", External: true, Backend: back}}}
	g := core.New(core.Config{
		Store:    store,
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return profile, nil }),
	})
	s, err := g.Create(ctx, core.Meta{Principal: core.Local, ID: "held", Cwd: os.TempDir()})
	if err == nil {
		_, err = s.Attach(core.Client{Principal: core.Local}).Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: "wait"}}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {}
}

// chatsIn returns the options of a server that keeps its chats in a folder; "": nowhere.
func chatsIn(home string) ecatest.Options {
	if home == "" {
		return ecatest.Options{}
	}
	return ecatest.Options{Dir: filepath.Join(home, "chats"), Record: filepath.Join(home, "record")}
}

// locksIn returns the locks of sessions in a folder; "": nothing is locked.
func locksIn(home string) *launch.Locks {
	if home == "" {
		return nil
	}
	return &launch.Locks{Dir: filepath.Join(home, "locks")}
}
