package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/cmd/internal/program"
	"dragoman/core/child/childtest"

	"golang.org/x/sys/unix"
)

// Keys of a terminal.
const (
	keyUp    = "\x1b[A"
	keyDown  = "\x1b[B"
	keyLeft  = "\x1b[D"
	keyHome  = "\x1b[H"
	keyEsc   = "\x1b"
	keyEnter = "\r"
)

// A line can be changed anywhere before it is sent.
func TestLineIsEdited(t *testing.T) {
	p, s := served(t, part{say: "Heard."}, part{say: "Heard again."})
	c := p.atTerminal(t)
	c.types("helo wrld" + keyLeft + keyLeft + keyLeft + "o" + keyHome + "\x1b[3~H\x1b[C\x1b[Cl\x05!")
	c.types(keyEnter)
	c.until("Heard.")
	c.until("> ")
	c.types("one two three\x17\x17\x01\x0b2\x1b\r1\x7f3 👩‍👩‍👧x\x7f\x7fé" + keyEnter)
	c.until("Heard again.")
	c.until("> ")
	if code := c.leaves(); code != program.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if got := s.asked(); len(got) != 2 || !strings.Contains(got[0], "Hello world!") || !strings.Contains(got[1], `2\n3 é`) {
		t.Errorf("%q", got)
	}
}

// The prompts of earlier chats are recalled; answers are not, and secrets are nowhere.
func TestPromptsAreRecalled(t *testing.T) {
	p, s := served(t, runs("true"), part{say: "One."}, part{say: "Two."}, part{say: "Three."}, part{say: "Four."})
	c := p.atTerminal(t)
	c.types("first prompt" + keyEnter)
	c.until("[n]o: ")
	c.types(keyUp + "n" + keyEnter)
	c.until("One.")
	c.until("> ")
	c.types("second" + keyEnter)
	c.until("Two.")
	c.until("> ")
	c.types("/login groq" + keyEnter)
	c.until("your answer: ")
	c.types("sk-secret-key\x15sk-secret-key" + keyEnter)
	c.until("> ")
	c.types(" /login groq sk-secret" + "\x15" + "/login groq two words" + keyEnter)
	c.until("Write only the provider's name")
	c.until("> ")
	c.types("\x19\x15" + keyUp)
	c.until("/login groq")
	c.types("\x15")
	if code := c.leaves(); code != program.ExitOK || strings.Contains(string(c.seen), "secret") {
		t.Errorf("exit code %d, %s", code, c.seen)
	}

	c = p.atTerminal(t)
	c.types("dr" + keyUp + keyUp + keyUp + keyUp + "!" + keyEnter)
	c.until("Three.")
	c.until("> ")
	c.types("dr" + keyUp + keyUp + keyDown + keyDown + "aft" + keyEnter)
	c.until("Four.")
	c.until("> ")
	c.leaves()
	if got := s.asked(); len(got) != 5 || !strings.Contains(got[3], "first prompt!") || !strings.Contains(got[4], "draft") {
		t.Errorf("%q", got)
	}
	path := filepath.Join(p.data, "chat-history.json")
	kept, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(kept), "first prompt!") || strings.Contains(string(kept), "secret") || strings.Contains(string(kept), `"n"`) {
		t.Errorf("%s, %v", kept, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Esc stops the turn and not the chat; a key that begins with the same character does not.
func TestEscStopsTheTurn(t *testing.T) {
	first := part{say: "Writing. ", begun: make(chan struct{}), release: make(chan struct{})}
	p, s := served(t, first, runs("touch PWNED"), part{say: "Fine."})
	c := p.atTerminal(t)
	c.types("begin" + keyEnter)
	<-first.begun
	c.types(keyUp)
	c.until("Writing.")
	c.types("typed ahead and")
	c.types(keyEsc)
	c.until("The turn was cancelled.")
	c.until("> typed ahead and")
	c.types(" again" + keyEnter)
	c.until("[n]o: ")
	c.types("half an answer" + keyEsc)
	c.until("The turn was cancelled.")
	c.until("> ")
	c.types("third" + keyEnter)
	c.until("Fine.")
	c.until("> ")
	c.types("\x03")
	if code := c.ends(); code != program.ExitOK || p.has("PWNED") || len(s.asked()) != 3 ||
		!strings.Contains(s.asked()[1], "typed ahead and again") || !strings.Contains(s.asked()[2], "third") || strings.Contains(s.asked()[2], "half") {
		t.Errorf("exit code %d, %q", code, s.asked())
	}
}

// A line that is being typed is drawn anew when the window gets another size.
func TestResize(t *testing.T) {
	p, s := served(t, part{say: "Heard."})
	c := p.atTerminal(t)
	c.types("a line that is longer than the narrow window")
	c.until("narrow window")
	resize(t, c.pty, 20)
	c.until("\x1b[J> a line that is lon\r\nger than")
	c.types(keyHome + "so ")
	c.until("\x1b[J> so a line that is ")
	c.types(keyEnter)
	c.until("Heard.")
	c.until("> ")
	c.leaves()
	if got := s.asked(); len(got) != 1 || !strings.Contains(got[0], "so a line that is longer than the narrow window") {
		t.Errorf("%q", got)
	}
}

// A chat that was stopped and goes on takes the terminal again, and shows its line.
func TestStoppedChatGoesOn(t *testing.T) {
	p, s := served(t, part{say: "Heard."})
	c := p.atTerminal(t)
	cooked := func() bool {
		mode, err := unix.IoctlGetTermios(int(c.pty.Fd()), unix.TCGETS)
		return err == nil && mode.Lflag&unix.ICANON != 0
	}
	c.types("half a")
	c.until("half a")
	c.types("\x1a")
	c.until("\x1b[?2004l")
	childtest.Soon(t, "the chat is stopped, and the terminal as it was", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
		return err == nil && strings.Contains(string(state), ") T ") && cooked()
	})
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.until("> half a")
	if cooked() {
		t.Error("the terminal edits lines")
	}
	c.types(" line" + keyEnter)
	c.until("Heard.")
	c.until("> ")
	c.leaves()
	if got := s.asked(); len(got) != 1 || !strings.Contains(got[0], "half a line") {
		t.Errorf("%q", got)
	}
}
