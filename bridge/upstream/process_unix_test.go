//go:build unix

package upstream

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dragoman/bridge/bridgetest"
	"dragoman/core/child"
	"dragoman/core/child/childtest"
)

// guarding returns a guard for one test.
func guarding(t *testing.T) *child.Guard {
	g := &child.Guard{}
	t.Cleanup(g.Close)
	return g
}

// startStubborn starts a server that refuses to end, and returns its pid and its child's.
func startStubborn(t *testing.T) (*process, []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := command{path: self, env: childEnv(os.Environ(), map[string]string{bridgetest.PlayVar: "stubborn"}), guard: guarding(t)}.start()
	if err != nil {
		t.Fatal(err)
	}
	return p, readPids(t, bufio.NewReader(p.stdout))
}

func readPids(t *testing.T, r *bufio.Reader) (pids []int) {
	t.Helper()
	for range 2 {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func awaitGone(t *testing.T, pids []int) {
	t.Helper()
	childtest.Soon(t, fmt.Sprintf("processes %v are gone", pids), func() bool { return !slices.ContainsFunc(pids, childtest.Running) })
}

func TestCloseEndsTheWholeGroup(t *testing.T) {
	t.Parallel() // closing waits until the server has ignored two requests to end
	p, pids := startStubborn(t)
	p.close()
	p.close()
	awaitGone(t, pids)
	if !strings.Contains(p.why(), "killed") {
		t.Errorf("why: %s", p.why())
	}
}

// When the owner is killed, its servers end.
func TestNoOrphanAfterSIGKILL(t *testing.T) {
	if os.Getenv("BRIDGE_TEST_OWNER") != "" { // the owner, in a process of its own
		p, pids := startStubborn(t)
		for _, pid := range pids {
			os.Stdout.WriteString(strconv.Itoa(pid) + "\n")
		}
		<-p.done
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestNoOrphanAfterSIGKILL$")
	cmd.Env = append(os.Environ(), "BRIDGE_TEST_OWNER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, bufio.NewReader(out))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitGone(t, pids)
}

// A browser, for example, that a server has started in a session of its own, and leaves behind.
func TestCloseEndsSessionsOfItsOwn(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("only Linux tells us the processes of a session")
	}
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	p, err := command{path: "sh", args: []string{"-c", "setsid sleep " + odd + " & cat"}, env: os.Environ(), guard: guarding(t)}.start()
	if err != nil {
		t.Fatal(err)
	}
	childtest.Soon(t, "the browser runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
	p.close()
	childtest.Soon(t, "the browser is gone", func() bool { return len(childtest.Asleep(t, odd)) == 0 })
	if p.why() != "the program ended with exit code 0" {
		t.Errorf("why: %s", p.why())
	}
}

func TestProgramOfAnEmptyFolderInPATH(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/prog", []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := (command{path: "prog", env: []string{"PATH=:."}, dir: dir, guard: guarding(t)}).start(); err == nil {
		t.Error("a program of the session's folder was started by its name alone")
	}
	p, err := command{path: "./prog", env: []string{"PATH="}, dir: dir, guard: guarding(t)}.start()
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	p.close()
	if p.why() != "the program ended with exit code 0" {
		t.Errorf("why: %s", p.why())
	}
}
