//go:build unix

package ecaserver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"dragoman/bridge/agent/launch"
	"dragoman/bridge/ecaserver"
	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/child/childtest"
	"dragoman/core/coretest"
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

// hold runs a gateway whose server has started a program that sleeps for an odd time, until it is killed.
func hold(odd string) int {
	ctx := context.Background()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	back := ecaserver.New(ecaserver.Options{Options: launch.Options{
		Name: "scripted",
		Program: func(context.Context, core.Host) (launch.Program, error) {
			return launch.Program{Path: "sh", Args: []string{"-c", `sleep "$1" & exec "$0"`, self, odd}, Env: map[string]string{ecatest.Variable: ecatest.Options{}.Value()}}, nil
		},
		Pool: launch.NewPool(), Guards: &child.Guards{}, Version: "test",
	}})
	profile := &core.Profile{Agents: []core.Agent{{Name: "scripted", Rev: "1", External: true, Backend: back}}}
	g := core.New(core.Config{
		Store:    coretest.NewMemory(),
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return profile, nil }),
	})
	s, err := g.Create(ctx, core.Meta{Principal: core.Local, Cwd: os.TempDir()})
	if err == nil {
		_, err = s.Attach(core.Client{Principal: core.Local}).Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: "wait"}}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {}
}
