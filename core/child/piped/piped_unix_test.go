//go:build unix

package piped

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/core/child"
	"dragoman/core/child/childtest"
)

// stubbornVar makes this test's program a stubborn one.
const stubbornVar = "PIPED_TEST_STUBBORN"

// polite is the time that programs get to end, by themselves and when they are asked.
const polite = time.Second

func TestMain(m *testing.M) {
	if os.Getenv(stubbornVar) != "" {
		stubborn()
	}
	os.Exit(m.Run())
}

// stubborn ignores the end of its input and polite signals, and has a child that does too.
func stubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if os.Getenv("DEPTH") == "" {
		other := exec.Command(os.Args[0])
		other.Env = append(os.Environ(), "DEPTH=1")
		other.Stdout, other.Stderr = os.Stdout, os.Stderr
		if err := other.Start(); err != nil {
			panic(err)
		}
	}
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	fmt.Printf("%d\n", os.Getpid())
	<-never
}

// guarding returns a guard for one test.
func guarding(t *testing.T) *child.Guard {
	g := &child.Guard{}
	t.Cleanup(g.Close)
	return g
}

// startStubborn starts a program that refuses to end, and returns its pid and its child's.
func startStubborn(t *testing.T) (*Process, []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Command{Path: self, Env: Env(os.Environ(), nil, map[string]string{stubbornVar: "1"}), Guard: guarding(t)}.Start()
	if err != nil {
		t.Fatal(err)
	}
	return p, readPids(t, bufio.NewReader(p.Stdout))
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
	p.Close(polite, polite)
	p.Close(polite, polite)
	awaitGone(t, pids)
	if !strings.Contains(p.Why(), "killed") {
		t.Errorf("why: %s", p.Why())
	}
}

// When the owner is killed, its servers end.
func TestNoOrphanAfterSIGKILL(t *testing.T) {
	if os.Getenv("PIPED_TEST_OWNER") != "" { // the owner, in a process of its own
		p, pids := startStubborn(t)
		for _, pid := range pids {
			os.Stdout.WriteString(strconv.Itoa(pid) + "\n")
		}
		<-p.Done
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestNoOrphanAfterSIGKILL$")
	cmd.Env = append(os.Environ(), "PIPED_TEST_OWNER=1")
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
	p, err := Command{Path: "sh", Args: []string{"-c", "setsid sleep " + odd + " & cat"}, Env: os.Environ(), Guard: guarding(t)}.Start()
	if err != nil {
		t.Fatal(err)
	}
	childtest.Soon(t, "the browser runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
	p.Close(polite, polite)
	childtest.Soon(t, "the browser is gone", func() bool { return len(childtest.Asleep(t, odd)) == 0 })
	if p.Why() != "the program ended with exit code 0" {
		t.Errorf("why: %s", p.Why())
	}
}

func TestProgramOfAnEmptyFolderInPATH(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/prog", []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := (Command{Path: "prog", Env: []string{"PATH=:."}, Dir: dir, Guard: guarding(t)}).Start(); err == nil {
		t.Error("a program of the session's folder was started by its name alone")
	}
	p, err := Command{Path: "./prog", Env: []string{"PATH="}, Dir: dir, Guard: guarding(t)}.Start()
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done
	p.Close(polite, polite)
	if p.Why() != "the program ended with exit code 0" {
		t.Errorf("why: %s", p.Why())
	}
}

// A program may need time after the end of its input, and another one ends only when it is asked.
func TestTimesToEnd(t *testing.T) {
	t.Parallel()
	const enough = time.Minute // more than any of them takes
	for _, c := range []struct {
		line         string
		alone, asked time.Duration
		want         string
	}{
		{`cat >/dev/null; sleep 0.3; echo saved >&2; exit 5`, enough, 0, "the program ended with exit code 5; it said: saved"},
		{`exec 2>/dev/null; trap "exit 7" TERM; echo; while :; do sleep 0.05; done`, 0, enough, "the program ended with exit code 7"},
		{`trap "" TERM; echo; while :; do sleep 0.05; done`, 0, 0, "the program was ended by signal: killed"},
	} {
		p, err := Command{Path: "sh", Args: []string{"-c", c.line}, Env: os.Environ(), Guard: guarding(t)}.Start()
		if err != nil {
			t.Fatal(err)
		}
		if c.alone == 0 {
			if _, err := p.Stdout.Read(make([]byte, 1)); err != nil { // its trap is set
				t.Fatal(err)
			}
		}
		p.Close(c.alone, c.asked)
		if p.Why() != c.want {
			t.Errorf("%s: %s, want %s", c.line, p.Why(), c.want)
		}
	}
}
