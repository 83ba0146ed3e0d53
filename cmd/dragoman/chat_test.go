package main

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
)

func TestChatOverPipes(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	out := p.well(t, strings.Join([]string{
		"read notes.txt then run ls -1",
		"y",
		"", // an empty line is not a prompt
		"run ls -a",
		"perhaps", // the question is repeated
		"s",
		"run ls", // covered by the earlier answer
		"write x.txt: hello",
		"n",
		"ask which one?",
		"the second",
		"plan look; leap",
		"run false",
		"y",
		"write y.txt: hello", // the input ends here
	}, "\n")+"\n", "chat")
	p.golden(t, "chat.txt", out)
}

func TestChatContinuesASession(t *testing.T) {
	p := newPlace(t)
	p.well(t, "read notes.txt\n", "chat", "--agent", "plan")
	id := randomID.FindString(p.well(t, "", "sessions", "list"))
	out := p.well(t, "write a.txt: x\n", "chat", "--session", id[:8])
	if !strings.Contains(out, "no tool named write_file") || strings.Contains(out, "? Create") {
		t.Errorf("the agent of the session was forgotten: %s", out)
	}
	if got := p.well(t, "", "sessions", "list", "--json"); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"messages":4`) {
		t.Errorf("%s", got)
	}
}

func TestChatReportsErrorsInTheConfiguration(t *testing.T) {
	p := newPlace(t)
	path := p.config(t, "modle: x\n")
	o := p.run(t, "hello\n", "chat")
	if o.code != program.ExitFailed || o.out != "" || !strings.Contains(o.errs, path+`:1:1: modle: unknown key; did you mean "model"?`) {
		t.Errorf("%+v", o)
	}
}

// chatProcess is a chat that a test drives step by step.
type chatProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	got strings.Builder
}

func (p *place) talk(t *testing.T, args ...string) *chatProcess {
	t.Helper()
	c := &chatProcess{t: t, cmd: p.command(t.Context(), args...)}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { c.cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	t.Cleanup(func() { stuck.Stop() })
	return c
}

func (c *chatProcess) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// until reads lines until one contains the text.
func (c *chatProcess) until(text string) {
	c.t.Helper()
	for {
		line, err := c.out.ReadString('\n')
		c.got.WriteString(line)
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			c.t.Fatalf("%q never came: %v\n%s", text, err, &c.got)
		}
	}
}

// ends reads to the end and returns the exit code.
func (c *chatProcess) ends() int {
	c.t.Helper()
	rest, err := io.ReadAll(c.out)
	if err != nil {
		c.t.Fatal(err)
	}
	c.got.Write(rest)
	_ = c.cmd.Wait() // only its code counts
	return c.cmd.ProcessState.ExitCode()
}

func (c *chatProcess) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// Ctrl-C stops the running turn, and the conversation continues; at the prompt it leaves.
func TestInterruptStopsTheTurnAndThenLeaves(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	c := p.talk(t, "chat")
	c.say("run echo begun; sleep 60")
	c.say("y")
	c.until("│ begun")
	c.signal(syscall.SIGINT)
	c.until("The turn was cancelled.")
	c.say("read notes.txt")
	c.until("second note")
	// If the turn has not ended yet, the first one only stops it.
	over := make(chan struct{})
	var pressing sync.WaitGroup
	pressing.Go(func() {
		for again := time.NewTicker(100 * time.Millisecond); ; {
			_ = c.cmd.Process.Signal(syscall.SIGINT) // it may have ended
			select {
			case <-again.C:
			case <-over:
				again.Stop()
				return
			}
		}
	})
	code := c.ends()
	close(over)
	pressing.Wait()
	if code != program.ExitOK {
		t.Errorf("exit code %d\n%s", code, &c.got)
	}
	if got := p.well(t, "", "sessions", "list", "--json"); !strings.Contains(got, `"messages":`) {
		t.Errorf("%s", got)
	}
}

// An approval that is open when the turn is stopped is not waited for.
func TestInterruptWhileAsked(t *testing.T) {
	unixOnly(t)
	c := newPlace(t).talk(t, "chat")
	c.say("run ls")
	c.until("? Run `ls`")
	c.signal(syscall.SIGINT)
	c.until("The turn was cancelled.")
	c.in.Close()
	if code := c.ends(); code != program.ExitOK {
		t.Errorf("exit code %d\n%s", code, &c.got)
	}
}

// Over a pipe failures are written to standard error, and the exit code is 1; answers are on
// standard output as before.
func TestChatThatFails(t *testing.T) {
	p, s := served(t, part{say: "Fine."})
	o := p.run(t, "one\n", "chat", "--model", "house/m")
	if o.code != program.ExitOK || !strings.Contains(o.out, "Fine.") || o.errs != "" {
		t.Errorf("well: %+v", o)
	}
	s.fail(http.StatusUnauthorized)
	if o = p.run(t, "two\n", "chat"); o.code != program.ExitFailed || strings.Contains(o.out, "failed") || !strings.Contains(o.errs, "dragoman: The turn failed: model house/m: auth (HTTP 401)") {
		t.Errorf("a key that is refused: %+v", o)
	}
	if o = p.run(t, "three\n", "chat", "--model", "nobody/x"); o.code != program.ExitUsage || !strings.Contains(o.errs, "nobody") {
		t.Errorf("a model that is not there: %+v", o)
	}
}
