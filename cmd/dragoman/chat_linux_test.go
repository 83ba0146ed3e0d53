package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/core/child/childtest"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// typist is a person at a real terminal in which the chat runs.
type typist struct {
	t      *testing.T
	cmd    *exec.Cmd
	pty    *os.File
	screen chan []byte
	seen   []byte // everything that the terminal has shown
	mark   int    // end of the part that until has read
}

// openPTY returns both ends of a pseudo-terminal.
func openPTY(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	return ours, theirs
}

// resize gives a terminal a width.
func resize(t *testing.T, terminal *os.File, columns uint16) {
	t.Helper()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		t.Fatal(err)
	}
}

// atTerminal starts the chat in a terminal.
func (p *place) atTerminal(t *testing.T, args ...string) *typist {
	t.Helper()
	c := p.inTerminal(t, []string{"TERM=xterm", "NO_COLOR=1"}, args...)
	c.until("> ")
	return c
}

// inTerminal is atTerminal with other variables. It does not wait for the prompt.
func (p *place) inTerminal(t *testing.T, env []string, args ...string) *typist {
	t.Helper()
	return p.onTerminal(t, env, append([]string{"chat"}, args...)...)
}

// onTerminal starts the program in a terminal.
func (p *place) onTerminal(t *testing.T, env []string, args ...string) *typist {
	t.Helper()
	ours, theirs := openPTY(t)
	resize(t, ours, 200)
	c := &typist{t: t, cmd: p.command(t.Context(), args...), pty: ours, screen: make(chan []byte)}
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs, theirs, theirs
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	stuck := time.AfterFunc(2*time.Minute, func() { c.cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	t.Cleanup(func() { stuck.Stop() })
	go c.watch()
	return c
}

// watch reads the terminal's output until the program has ended.
func (c *typist) watch() {
	defer close(c.screen)
	for {
		buf := make([]byte, 4096)
		n, err := c.pty.Read(buf)
		if n > 0 {
			c.screen <- buf[:n]
		}
		if err != nil {
			return
		}
	}
}

func (c *typist) types(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.pty, text); err != nil {
		c.t.Fatal(err)
	}
}

// pastes sends a text like a terminal that was asked to mark pastes.
func (c *typist) pastes(text string) {
	c.t.Helper()
	if !bytes.Contains(c.seen, []byte("\x1b[?2004h")) {
		c.t.Error("the terminal was not asked to mark what is pasted")
	}
	c.types("\x1b[200~" + strings.ReplaceAll(text, "\n", "\r") + "\x1b[201~")
}

// until waits until the terminal shows a text after the one it waited for last.
func (c *typist) until(text string) {
	c.t.Helper()
	for {
		if i := bytes.Index(c.seen[c.mark:], []byte(text)); i >= 0 {
			c.mark += i + len(text)
			return
		}
		more, ok := <-c.screen
		if !ok {
			c.t.Fatalf("%q was never shown:\n%s", text, c.seen)
		}
		c.seen = append(c.seen, more...)
	}
}

// leaves ends the conversation at its prompt and returns the exit code.
func (c *typist) leaves() int {
	c.t.Helper()
	c.types("\x04")
	return c.ends()
}

func (c *typist) ends() int {
	c.t.Helper()
	for more := range c.screen {
		c.seen = append(c.seen, more...)
	}
	_ = c.cmd.Wait() // only its code counts
	if !bytes.HasSuffix(bytes.TrimRight(c.seen, "\r\n"), []byte("\x1b[?2004l")) {
		c.t.Errorf("the terminal was not left as it was: %q", c.seen)
	}
	return c.cmd.ProcessState.ExitCode()
}

func runs(line string) part {
	return part{say: "Working. ", call: "shell_command", args: map[string]string{"command": line}}
}

// A line that was typed while the model wrote does not answer the question that follows. A line
// that could be an answer is dropped; a prompt is kept, even a half-typed one.
func TestEarlierInputAnswersNoQuestion(t *testing.T) {
	first := runs("touch PWNED")
	first.begun, first.release = make(chan struct{}), make(chan struct{})
	p, s := served(t, first, part{say: "It was refused."}, part{say: "Explained."}, part{say: "Done."})
	c := p.atTerminal(t)
	c.types("begin\n")
	<-first.begun
	c.types("y\n")
	c.types("explain it\n")
	c.types("and then s")
	close(first.release)
	c.until("Run `touch PWNED`")
	c.until(`so it is not the answer and was dropped: "y"`)
	c.until(`it becomes the next prompt when this turn has ended: "explain it"`)
	c.until("[n]o: ")
	if p.has("PWNED") {
		t.Error("the command ran")
	}
	c.types("n\n")
	c.until("It was refused.")
	c.until("> explain it")
	c.until("Explained.")
	c.until("> and then s")
	c.types("top\n")
	c.until("Done.")
	c.until("> ")
	if code := c.leaves(); code != program.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if got := s.asked(); p.has("PWNED") || len(got) != 4 || !strings.Contains(got[2], "explain it") || !strings.Contains(got[3], "and then stop") {
		t.Errorf("ran: %v; prompts: %q", p.has("PWNED"), got)
	}
}

// An answer that is typed once the question is shown counts.
func TestTypedAnswerCounts(t *testing.T) {
	p, _ := served(t, runs("touch made"), part{say: "Fine."})
	c := p.atTerminal(t)
	c.types("begin\n")
	c.until("[n]o: ")
	c.types("x\x7fy\n") // erasing works
	c.until("Fine.")
	c.until("> ")
	if c.leaves(); !p.has("made") {
		t.Errorf("the command did not run: %s", c.seen)
	}
}

// A paste of several lines is one prompt, whatever its lines contain, and is sent when Enter is
// pressed after it.
func TestPasteIsOnePrompt(t *testing.T) {
	p, s := served(t, runs("touch PWNED"), part{say: "It was refused."})
	c := p.atTerminal(t)
	long := strings.Repeat("long ", 2000)
	c.pastes("Please answer\ny\n" + long + "\nthe end")
	c.until("[pasted: 4 lines")
	c.types("\n")
	c.until("[n]o: ")
	c.types("n\n")
	c.until("It was refused.")
	c.until("> ")
	c.leaves()
	if got := s.asked(); p.has("PWNED") || len(got) != 2 || !strings.Contains(got[0], `Please answer\ny\n`+long+`\nthe end`) {
		t.Errorf("ran: %v; %d prompts: %.200q", p.has("PWNED"), len(got), got)
	}
}

// A paste is never an approval: neither while the question is open, nor one that began
// before it was shown; it is kept as a prompt.
func TestPasteIsNoApproval(t *testing.T) {
	first := runs("touch PWNED")
	first.begun, first.release = make(chan struct{}), make(chan struct{})
	p, s := served(t, first, part{say: "It was refused."}, part{say: "Read one."}, part{say: "Read two."})
	c := p.atTerminal(t)
	c.types("begin\n")
	<-first.begun
	c.types("\x1b[200~half\ry\r") // the rest of it comes after the question
	close(first.release)
	c.until("[n]o: ")
	c.types("y\rs\x1b[201~")
	c.pastes("y")
	c.until("y")
	c.types("\n")
	c.until(`A paste decides nothing; it becomes the next prompt when this turn has ended: "y"`)
	c.until("[n]o: ")
	c.pastes("text\ny\n")
	c.types("\n")
	c.until("A paste decides nothing")
	c.until("[n]o: ")
	c.types("\x1b[201~") // a mark without a paste
	c.types("y\x7fn\n")
	c.until("It was refused.")
	c.until("> y")
	c.until("Read one.")
	c.until("> [pasted: 2 lines")
	c.until("Read two.")
	c.until("> [pasted: 4 lines")
	c.types("\x15") // erases it
	if c.leaves(); p.has("PWNED") {
		t.Error("the command ran")
	}
	if got := s.asked(); len(got) != 4 || !strings.Contains(got[2], `"y"`) && !strings.Contains(got[2], `y`) || !strings.Contains(got[3], `text\ny`) {
		t.Errorf("prompts: %q", got)
	}
}

// Lines that come at once were not typed, even if the terminal puts no marks around a paste.
func TestUnmarkedPasteIsNoApproval(t *testing.T) {
	p, _ := served(t, runs("touch PWNED"), part{say: "It was refused."})
	c := p.atTerminal(t)
	c.types("begin\n")
	c.until("[n]o: ")
	c.types("some text\ny\nmore\n")
	c.until("A paste decides nothing")
	c.types("\x03")
	c.until("The turn was cancelled.")
	c.until("not sent: ")
	c.until("> ")
	if c.leaves(); p.has("PWNED") {
		t.Error("the command ran")
	}
}

// A question that takes any text is not answered by earlier input either; a paste may be its
// answer, but never a choice.
func TestFreeQuestions(t *testing.T) {
	asks := func(options ...string) part {
		args := map[string]any{"question": "Which one?"}
		for _, o := range options {
			list, _ := args["options"].([]any)
			args["options"] = append(list, map[string]string{"label": o})
		}
		return part{say: "One question. ", call: "ask_user", args: args}
	}
	first := asks()
	first.begun, first.release = make(chan struct{}), make(chan struct{})
	p, s := served(t, first, asks("red", "blue"), part{say: "Thanks."}, part{say: "Explained."})
	c := p.atTerminal(t)
	c.types("begin\n")
	<-first.begun
	c.types("and then explain\n")
	close(first.release)
	c.until(`it becomes the next prompt when this turn has ended: "and then explain"`)
	c.until("your answer: ")
	c.pastes("two\nlines")
	c.types("\n")
	c.until("blue")
	c.until("a number")
	c.types("2\n")
	c.until("Thanks.")
	c.until("> and then explain")
	c.until("Explained.")
	c.until("> ")
	c.leaves()
	got := p.well(t, "", "sessions", "show", randomID.FindString(p.well(t, "", "sessions", "list")))
	if len(s.asked()) != 4 || !strings.Contains(got, "two\\nlines") && !strings.Contains(got, "two\nlines") && !strings.Contains(got, "two lines") || !strings.Contains(got, "blue") {
		t.Errorf("%q\n%s", s.asked(), got)
	}
}

// The terminal is restored after every end of the program, even an unexpected one.
func TestTerminalIsLeftAsItWas(t *testing.T) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // under nohup the program would ignore it as well
	defer signal.Stop(hup)
	for _, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		ours, theirs := openPTY(t)
		before, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		cmd := newPlace(t).command(t.Context(), "chat")
		cmd.Env = append(cmd.Env, "TERM=xterm")
		cmd.Stdin, cmd.Stdout = theirs, theirs
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c := &typist{t: t, cmd: cmd, pty: ours, screen: make(chan []byte)}
		go func() {
			for {
				buf := make([]byte, 4096)
				n, err := ours.Read(buf)
				if err != nil {
					close(c.screen)
					return
				}
				c.screen <- buf[:n]
			}
		}()
		c.until("> ")
		if now, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS); err != nil || now.Lflag == before.Lflag {
			t.Errorf("the terminal edits lines: %v", err)
		}
		if err := cmd.Process.Signal(how); err != nil {
			t.Fatal(err)
		}
		c.until("\x1b[?2004l")
		_ = cmd.Wait() // only the signal matters
		if after, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS); err != nil || *after != *before {
			t.Errorf("%v: %+v, before %+v, %v", how, after, before, err)
		}
		theirs.Close()
	}
}

// A key that is typed at a terminal is invisible, and later input is visible again, even if the
// input was interrupted.
func TestTypedKeyDoesNotShow(t *testing.T) {
	for _, c := range []struct {
		args  []string
		typed string
		code  int
		says  string
	}{
		{[]string{"login", "groq"}, "sk-secrex\x7ft \n", program.ExitOK, "The key of Groq is kept"},
		{[]string{"login", "groq"}, "sk-secret\x03", program.ExitFailed, "interrupted; nothing was changed"},
		{[]string{"login", "groq"}, "\x04", program.ExitFailed, "key"},
		{[]string{"acp", "login", "groq"}, "sk-secret\n", program.ExitOK, "The key of Groq is kept"}, // as editors start it
	} {
		p := newPlace(t)
		ours, theirs := openPTY(t)
		before, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		k := &typist{t: t, cmd: p.command(t.Context(), c.args...), pty: ours, screen: make(chan []byte)}
		k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = theirs, theirs, theirs
		k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
		if err := k.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stuck := time.AfterFunc(2*time.Minute, func() {
			k.cmd.Process.Kill() //nolint:errcheck // it may have ended
			theirs.Close()
		})
		go k.watch()
		k.until("API key of Groq: ")
		hidden := func() bool {
			now, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS)
			return err == nil && now.Lflag&unix.ECHO == 0
		}
		childtest.Soon(t, "the terminal hides what is typed", hidden)
		k.types(c.typed)
		_ = k.cmd.Wait() // only its code counts
		stuck.Stop()
		after, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS)
		if err != nil || *after != *before {
			t.Errorf("%q: the terminal is left as %+v, before %+v, %v", c.typed, after, before, err)
		}
		theirs.Close()
		for more := range k.screen {
			k.seen = append(k.seen, more...)
		}
		if code := k.cmd.ProcessState.ExitCode(); code != c.code || !bytes.Contains(k.seen, []byte(c.says)) || bytes.Contains(k.seen, []byte("secre")) {
			t.Errorf("%q: exit code %d, %s", c.typed, code, k.seen)
		}
		if kept := !strings.Contains(p.run(t, "", "logout", "groq").out, "No key is stored"); kept != (c.code == program.ExitOK) {
			t.Errorf("%v, %q: a key is stored: %v", c.args, c.typed, kept)
		}
	}
}
