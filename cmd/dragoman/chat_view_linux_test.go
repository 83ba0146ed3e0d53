package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// Commands of the chat are carried out here: no model sees them.
func TestLocalCommands(t *testing.T) {
	p, s := served(t, part{say: "Heard."}, part{say: "Heard again."})
	c := p.atTerminal(t)
	c.types("/help" + keyEnter)
	c.until("/clear")
	c.until("/compact")
	c.until("Alt-Enter")
	c.until("> ")
	c.types("/agents" + keyEnter)
	c.until("* code")
	c.until("> ")
	c.types("/agents plan" + keyEnter)
	c.until("The agent is now plan.")
	c.until("> ")
	c.types("/agents nobody" + keyEnter)
	c.until("There is no agent nobody")
	c.until("> ")
	c.types("one" + keyEnter)
	c.until("Heard.")
	c.until("> ")
	c.types("/clear" + keyEnter)
	c.until("A new session. The last one: dragoman chat --session ")
	c.until("> ")
	c.types("/agents" + keyEnter)
	c.until("* plan")
	c.until("> ")
	c.types("/quit" + keyEnter)
	if code := c.ends(); code != program.ExitOK || len(s.asked()) != 1 {
		t.Errorf("exit code %d, %q", code, s.asked())
	}
	if got := p.well(t, "", "sessions", "list", "--json"); strings.Count(got, "\n") != 1 {
		t.Errorf("an unused session was kept: %s", got)
	}
	if o := p.run(t, "/exit\nno prompt\n", "chat"); o.code != program.ExitOK || len(s.asked()) != 1 {
		t.Errorf("over a pipe: %+v", o)
	}
}

// Tab completes commands and files. A file that is named with @ is sent along, unless a rule
// forbids to read it or the name was pasted.
func TestTabCompletes(t *testing.T) {
	p, s := served(t, part{say: "Heard."}, part{say: "Heard again."})
	p.write(t, filepath.Join(p.work, "sub", "target.txt"), "the content of the target")
	p.write(t, filepath.Join(p.work, "sub", "targets.txt"), "many")
	p.write(t, filepath.Join(p.work, ".env"), "KEY=canary")
	p.config(t, "policy: {deny: [{path: \"**/.env\"}]}\n"+s.config)
	c := p.atTerminal(t)
	c.types("/he\t")
	c.until("/help ")
	c.types("\x15/co\t")
	c.until("/compact  ")
	c.until("> /co")
	c.types("\x15look at @su\t")
	c.until("b/")
	c.types("ta\t")
	c.until("rget")
	c.types("\t")
	c.until("@sub/target.txt  @sub/targets.txt")
	c.types(".\t")
	c.until("txt ")
	c.types("and @.env, @nothing")
	c.pastes(" @sub/targets.txt")
	c.types(keyEnter)
	c.until("with sub/target.txt")
	c.until("Heard.")
	c.until("> ")
	c.leaves()
	if got := s.asked(); len(got) != 1 || !strings.Contains(got[0], "the content of the target") || strings.Contains(got[0], "many") || strings.Contains(got[0], "canary") {
		t.Errorf("%q", got)
	}
}

// The answer is shown with its Markdown set, the tokens after it, and the earlier conversation
// when a session is continued.
func TestAnswerAndEarlierConversation(t *testing.T) {
	p, _ := served(t, part{say: "# Title\n\nSome **bold** words.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"}, part{say: "Later."})
	c := p.atTerminal(t, "--model", "house/m")
	c.types("tell me" + keyEnter)
	c.until("Some **bold** words.") // without colours it is the plain text
	c.until("tokens: ")
	c.until("> ")
	c.leaves()
	id := randomID.FindString(p.well(t, "", "sessions", "list"))

	c = p.inTerminal(t, []string{"TERM=xterm"}, "--session", id)
	c.until("tell me")
	c.until("Title")
	c.until("Some \x1b[1mbold\x1b[0m words.")
	c.until("1")
	c.until("> ")
	c.types("\x04")
	if code := c.ends(); code != program.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// While the model is silent a sign says that the turn runs; where it could not be read, words do.
func TestWaitsAreShown(t *testing.T) {
	for _, where := range []struct {
		env  string
		args []string
		says []string
	}{
		{"TERM=xterm", nil, []string{"\r\x1b[2K⠙ ", "Esc stops"}},
		{"TERM=dumb", nil, []string{"Waiting for the model."}},
		{"TERM=xterm", []string{"--plain"}, []string{"Waiting for the model."}},
	} {
		first := part{begun: make(chan struct{}), release: make(chan struct{})}
		p, _ := served(t, first)
		c := p.inTerminal(t, []string{where.env, "NO_COLOR=1"}, where.args...)
		c.types("begin" + keyEnter)
		for _, s := range where.says {
			c.until(s)
		}
		close(first.release)
		c.until("> ")
		c.types("\x04")
		for more := range c.screen {
			c.seen = append(c.seen, more...)
		}
		_ = c.cmd.Wait() // only its code counts
		if plain := where.env == "TERM=dumb" || len(where.args) > 0; plain && strings.Contains(string(c.seen), "\x1b[2K") {
			t.Errorf("%v: %q", where, c.seen)
		}
	}
}

// An approval shows the change, with the characters in it that cannot be seen.
func TestApprovalShowsTheChange(t *testing.T) {
	change := part{say: "Writing. ", call: "write_file", args: map[string]string{"path": "made.txt", "content": "one 👩‍👩‍👧\ntwo \u202e\n"}}
	p, _ := served(t, change, part{say: "Not done."}, change, part{say: "Done."})
	c := p.atTerminal(t)
	c.types("write" + keyEnter)
	c.until("+one 👩‍👩‍👧")
	c.until("invisible characters: U+202E in line 2.")
	c.until("[n]o: ")
	c.types("n" + keyEnter)
	c.until("Not done.")
	c.until("> ")
	if p.has("made.txt") {
		t.Error("a rejected change was made")
	}
	c.types(keyUp + keyEnter)
	c.until("[n]o: ")
	c.types("y" + keyEnter)
	c.until("Done.")
	c.until("> ")
	c.leaves()
	if _, err := os.Stat(filepath.Join(p.work, "made.txt")); err != nil {
		t.Error(err)
	}
}
