package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/codec"
)

// The answer is on standard output, everything else on standard error, and the exit code says how
// the turn has ended.
func TestRunSeparatesTheAnswerAndHasAnExitCode(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.config(t, "limits: {max_turn_requests: 3}\npolicy:\n  ask: [{path: secret.txt}]\n  deny: [{command: \"rm *\"}]\n")
	for _, c := range []struct {
		args      []string
		code      int
		out, errs string // expected contents; empty: none
	}{
		{[]string{"read notes.txt"}, 0, "`read notes.txt` returned:\n\n```\nfirst note\nsecond note\n```\n", "→ Read notes.txt\n"},
		{[]string{"run ls -1"}, program.ExitRefused, "did not succeed", "✗ rejected: Run `ls -1` (rejected: running a command in the sandbox (full) needs an approval, and dragoman run can ask nobody)\n"},
		{[]string{"run ls -1"}, program.ExitRefused, "did not succeed", "Nobody could be asked, so the answer to 1 question was no. --allow TOOL[:PATTERN]"},
		{[]string{"ask which one?"}, program.ExitRefused, "Nobody can be asked here", "✗ nobody can be asked: which one?\n"},
		{[]string{"run ls -1", "--allow", "shell_command:ls *"}, 0, "notes.txt", "→ Run `ls -1`\n"},
		{[]string{"run ls -1", "--allow", "shell_command:cat *", "--allow", "shell_command:ls"}, program.ExitRefused, "did not succeed", "✗ rejected: "},
		{[]string{"write a/b.txt: x", "--allow", "write_file:a/**"}, 0, "returned", "→ Create a/b.txt (+1)\n"},
		{[]string{"write b/c.txt: x", "--allow", "write_file:a/**"}, program.ExitRefused, "did not succeed", "changing files needs an approval"},
		{[]string{"run rm notes.txt", "--allow", "shell_command:rm *", "--allow", "*"}, 0, "did not succeed", "denied by rule"},
		{[]string{"write secret.txt: x", "--allow", "write_file"}, program.ExitRefused, "did not succeed", "must be asked by rule"},
		{[]string{"write AGENTS.md: x", "--allow", "*"}, program.ExitRefused, "did not succeed", "Only a person can give another one, in dragoman chat.\n"},
		{[]string{"read notes.txt then read notes.txt then read notes.txt then read notes.txt"}, program.ExitLimit, "", "as often as it may"},
		{[]string{"read notes.txt", "--agent", "plan", "--model", "offline/demo"}, 0, "first note", "continue with: dragoman chat --session "},
	} {
		o := p.run(t, "", append([]string{"run"}, c.args...)...)
		if o.code != c.code || !holds(o.out, c.out) || !holds(o.errs, c.errs) || strings.ContainsRune(o.errs, 0x1b) {
			t.Errorf("run %q: exit code %d\nstdout: %s\nstderr: %s", c.args, o.code, o.out, o.errs)
		}
	}
	if !p.has("notes.txt") || p.has("AGENTS.md") || p.has("secret.txt") || p.has("b/c.txt") {
		t.Error("a rule of --allow has allowed too much")
	}
}

// Mistakes in the command line are found before anything is sent or stored.
func TestRunChecksTheCommandLineFirst(t *testing.T) {
	p, s := served(t)
	for _, c := range []struct {
		args []string
		code int
		errs string
	}{
		{nil, 2, "there is no prompt: write one as an argument or on standard input"},
		{[]string{"  "}, 2, "there is no prompt"},
		{[]string{"hi", "--model", "xx"}, 2, `model must be PROVIDER/MODEL, got "xx"`},
		{[]string{"hi", "--model", "grok/x"}, 2, `did you mean "groq"?`},
		{[]string{"hi", "--agent", "nobody"}, 2, `there is no agent "nobody"; there are code, plan`},
		{[]string{"hi", "--allow", "shel_command"}, 2, `did you mean "shell_command"?`},
		{[]string{"hi", "--allow", "shell_command:"}, 2, "the pattern after the colon is missing"},
		{[]string{"hi", "--allow", "update_plan:x"}, 2, "takes no pattern"},
		{[]string{"hi", "--allow", "files__read:x"}, 2, "takes no pattern"},
		{[]string{"hi", "--allow", "read_file:../x"}, 2, `must not contain ".."`},
		{[]string{"hi", "--allow", ":ls"}, 2, "the name of the tool is missing"},
		{[]string{"hi", "--session", "zzz"}, 1, `there is no session "zzz"`},
		{[]string{"hi", "--session", "latest"}, 1, "leave out --session to begin a new one"},
		{[]string{"fix", "it"}, 2, `unexpected argument "it"; put text with blanks in quotes`},
	} {
		o := p.run(t, "", append([]string{"run"}, c.args...)...)
		if o.code != c.code || o.out != "" || !strings.Contains(o.errs, c.errs) {
			t.Errorf("run %q: %+v", c.args, o)
		}
	}
	if o := p.run(t, strings.Repeat("x", 1<<20+1), "run"); o.code != 2 || !strings.Contains(o.errs, "longer than 1 MiB") {
		t.Errorf("a long input: %+v", o)
	}
	if got := p.well(t, "", "sessions", "list", "--json"); got != "" || len(s.asked()) > 0 {
		t.Errorf("stored: %s, asked: %q", got, s.asked())
	}
}

func TestRunFails(t *testing.T) {
	p, s := served(t)
	s.fail(http.StatusUnauthorized)
	if o := p.run(t, "", "run", "hello"); o.code != program.ExitFailed || o.out != "" || !strings.Contains(o.errs, "dragoman: The turn failed: model house/m: auth (HTTP 401)") {
		t.Errorf("%+v", o)
	}
	path := p.config(t, "modle: x\n")
	if o := p.run(t, "", "run", "hello"); o.code != program.ExitFailed || o.out != "" || !strings.Contains(o.errs, path+":1:1: modle: unknown key") {
		t.Errorf("%+v", o)
	}
}

// A model that refuses, or may say no more at once, is no failure.
func TestRunEndsAtALimit(t *testing.T) {
	for finish, note := range map[string]string{"length": "The answer stops here", "content_filter": "The model refused to answer."} {
		p, _ := served(t, part{say: "Half", finish: finish})
		if o := p.run(t, "", "run", "hello"); o.code != program.ExitLimit || !strings.Contains(o.errs, note) {
			t.Errorf("%s: %+v", finish, o)
		}
	}
}

// Standard input comes after the argument; a session goes on with "latest", which is the one of
// this folder that a person has used last, and no delegated task.
func TestRunReadsItsInputAndContinues(t *testing.T) {
	task := map[string]string{"agent": "explorer", "task": "look around"}
	p, s := served(t, part{say: "One."}, part{call: "spawn_agent", args: task}, part{say: "Seen."}, part{say: "Two."}, part{say: "Elsewhere."}, part{say: "Three."})
	if out := p.well(t, "line 1\nline 2\n", "run", "Summarize"); out != "One.\n" {
		t.Errorf("%q", out)
	}
	if got := s.asked(); len(got) != 1 || got[0] != `"Summarize\n\nline 1\nline 2"` {
		t.Errorf("%q", got)
	}
	if out := p.well(t, "delegate\n", "run", "--session", "latest"); out != "Two.\n" {
		t.Errorf("%q", out)
	}
	work := p.work
	p.work = t.TempDir()
	p.well(t, "", "run", "hello")
	first := randomID.FindString(p.well(t, "", "sessions", "list", "--json"))
	p.work = work
	if o := p.run(t, "", "run", "--session", first, "/costs"); o.code != program.ExitOK || !strings.Contains(o.errs, "The session works in ") {
		t.Errorf("from elsewhere: %+v", o)
	}
	if out := p.well(t, "", "run", "--session", "latest", "three"); out != "Three.\n" {
		t.Errorf("%q", out)
	}
	list := p.well(t, "", "sessions", "list", "--json")
	if n := strings.Count(list, "\n"); n != 3 || !strings.Contains(list, `"messages":6`) || !strings.Contains(list, `"parent":`) {
		t.Errorf("%s", list)
	}
	if out := p.well(t, "four\n", "chat", "--session", "latest"); !strings.Contains(out, "nothing left to say") {
		t.Errorf("chat: %s", out)
	}
}

// Each line of --json is a record as /export writes it.
func TestRunPrintsEventsAsExportWritesThem(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	o := p.run(t, "", "run", "--json", "--allow", "shell_command:seq *", "run seq 100 then write x.txt: y then stream 50 of 20")
	if o.code != program.ExitRefused {
		t.Fatalf("%+v", o)
	}
	p.well(t, "", "run", "--session", "latest", "/export out.jsonl")
	exported, err := os.ReadFile(filepath.Join(p.work, "out.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	printed, stored := recordsOf(t, []byte(o.out)), recordsOf(t, exported)
	if len(stored) < len(printed) || len(printed) < 20 {
		t.Fatalf("%d records were printed, %d exported", len(printed), len(stored))
	}
	if _, ok := printed[len(printed)-1].Event.(core.TurnEnded); !ok {
		t.Errorf("the last one: %#v", printed[len(printed)-1])
	}
	for i, r := range printed {
		if !reflect.DeepEqual(r.Event, stored[i].Event) || r.Seq != stored[i].Seq {
			t.Errorf("printed %#v\nexported %#v", r, stored[i])
		}
	}
}

// recordsOf reads records, one a line, and joins the pieces of texts.
func recordsOf(t *testing.T, lines []byte) (list []core.Record) {
	t.Helper()
	var dec codec.Decoder
	for line := range bytes.Lines(lines) {
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
		r, err := dec.Decode(bytes.TrimSpace(line))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Off == 0 {
			list = append(list, r)
			continue
		}
		last := &list[len(list)-1]
		switch e := r.Event.(type) {
		case core.TextDelta:
			e.Text = last.Event.(core.TextDelta).Text + e.Text
			last.Event = e
		case core.CallOutput:
			e.Text = last.Event.(core.CallOutput).Text + e.Text
			last.Event = e
		case core.CallArgs:
			e.Text = last.Event.(core.CallArgs).Text + e.Text
			last.Event = e
		default:
			t.Fatalf("pieces of %T", e)
		}
	}
	return list
}

// running is a run that a test watches.
type running struct {
	*chatProcess
	errs *bytes.Buffer
}

func (p *place) running(t *testing.T, args ...string) running {
	t.Helper()
	r := running{&chatProcess{t: t, cmd: p.command(t.Context(), append([]string{"run"}, args...)...)}, new(bytes.Buffer)}
	r.cmd.Stderr = r.errs
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// The answer is printed while it is written. A signal cancels the turn, and the log is whole.
func TestRunIsInterruptedDuringAnAnswer(t *testing.T) {
	unixOnly(t)
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		p, _ := served(t, part{say: "Half of it\n", begun: make(chan struct{}), release: make(chan struct{})})
		r := p.running(t, "hello")
		r.until("Half of it") // while the model still speaks
		r.signal(sig)
		if got := r.ends(); got != code || r.got.String() != "Half of it\n" || !strings.Contains(r.errs.String(), "The turn was cancelled.\n") {
			t.Errorf("%v: exit code %d\n%s\n%s", sig, got, &r.got, r.errs)
		}
		id := randomID.FindString(p.well(t, "", "sessions", "list"))
		if got := p.well(t, "", "sessions", "show", id); !strings.Contains(got, "Half of it") || !strings.Contains(got, "The turn was cancelled.") {
			t.Errorf("%v: %s", sig, got)
		}
	}
}

// A signal ends the commands of the turn with their children before the program ends.
func TestRunIsInterruptedDuringACommand(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	pipe := filepath.Join(p.work, "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}
	r := p.running(t, "--allow", "shell_command", "run exec 3>pipe; echo begun >&3; sleep 600 & sleep 600")
	f, err := os.Open(pipe) // waits for the command
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	alive := bufio.NewReader(f)
	if line, err := alive.ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	r.signal(syscall.SIGINT)
	code := r.ends()
	if rest, err := io.ReadAll(alive); len(rest) > 0 || err != nil { // it ends when nobody holds the pipe any more
		t.Errorf("%q, %v", rest, err)
	}
	if code != 130 || !strings.Contains(r.errs.String(), "✗ cancelled: Run `exec 3>pipe;") {
		t.Errorf("exit code %d\n%s\n%s", code, &r.got, r.errs)
	}
}

// A signal while standard input is read ends the program, and nothing is stored.
func TestRunIsInterruptedWhileItReads(t *testing.T) {
	unixOnly(t)
	t.Parallel() // it takes seconds until the program says that it reads
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := p.command(ctx, "run", "hello")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "one line\n"); err != nil { // and the pipe stays open
		t.Fatal(err)
	}
	said := bufio.NewReader(errs)
	if line, err := said.ReadString('\n'); !strings.HasPrefix(line, "Waiting for the end of standard input") {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	_ = cmd.Wait() // only its code counts
	if code := cmd.ProcessState.ExitCode(); code != 130 || len(rest) > 0 {
		t.Errorf("exit code %d, %s", code, rest)
	}
	if got := p.well(t, "", "sessions", "list", "--json"); got != "" {
		t.Errorf("%s", got)
	}
}

// If nobody reads the answer any more, the turn is stopped without a message.
func TestRunEndsWithItsReader(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	r := p.command(t.Context(), "run", "stream 100000 of 100")
	var errs bytes.Buffer
	r.Stderr = &errs
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	_ = r.Wait() // only the code counts
	if code := r.ProcessState.ExitCode(); code != program.ExitUnread || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

// What a delegated task needs a person for is refused as well, and shown.
func TestRunRefusesWhatATaskNeedsAPersonFor(t *testing.T) {
	task := map[string]string{"agent": "general", "task": "Run ls."}
	p, _ := served(t, part{call: "spawn_agent", args: task}, part{call: "shell_command", args: map[string]string{"command": "touch made.txt"}}, part{say: "I could not."}, part{say: "It was refused."})
	o := p.run(t, "", "run", "go")
	if o.code != program.ExitRefused || o.out != "It was refused.\n" || !strings.Contains(o.errs, "✗ rejected: general: Run `touch made.txt` (running a command in the sandbox (full) needs an approval)") || p.has("made.txt") {
		t.Errorf("%+v", o)
	}
}

// A rule of --allow covers the calls of MCP servers, but gives no consent to a tool that has
// changed: nobody can be asked for that.
func TestRunAllowsCallsOfServersButNoChangedTools(t *testing.T) {
	p, s := served(t, part{call: "self__session_list", args: struct{}{}}, part{say: "Listed."}, part{call: "self__session_list", args: struct{}{}}, part{say: "Not listed."})
	env := `{"DRAGOMAN_DATA": ` + strconv.Quote(t.TempDir()) + `, "XDG_CONFIG_HOME": ` + strconv.Quote(t.TempDir()) + `}` // not ours, in which it is itself
	p.servers(t, `{"mcpServers": {"self": {"command": `+strconv.Quote(binary)+`, "args": ["mcp"], "start": "session", "env": `+env+`}}}`)
	p.well(t, "", "mcp-servers", "approve", "self") // a turn does not wait for ever for the tools of a server that starts
	if o := p.run(t, "", "run", "--allow", "self__session_*", "list them"); o.code != program.ExitOK || o.out != "Listed.\n" || !strings.Contains(o.errs, "→ ") {
		t.Fatalf("%+v\n%q", o, s.asked())
	}
	pins := filepath.Join(p.data, "mcp-tools.json")
	b, err := os.ReadFile(pins)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, pins, strings.ReplaceAll(string(b), "List sessions", "List all sessions"))
	o := p.run(t, "", "run", "--allow", "*", "list them")
	if o.code != program.ExitRefused || o.out != "Not listed.\n" || !strings.Contains(o.errs, "✗ nobody can be asked: The MCP server self has changed the description of its tool session_list") {
		t.Errorf("%+v", o)
	}
}

// A run waits for the whole start of the MCP servers, for nobody prompts again for their tools, and says so. With
// --require-mcp it fails before the model is asked if one has not started; without, it goes on.
func TestRunWaitsForServers(t *testing.T) {
	unixOnly(t)
	t.Parallel() // the server takes its time
	p, s := served(t, part{call: "slow__session_list", args: map[string]string{}}, part{say: "Listed."}, part{say: "Without it."})
	slow := "mcp_servers: {slow: {command: sh, args: [-c, \"sleep 3; exec " + binary + " mcp\"], env: {DRAGOMAN_DATA: " + strconv.Quote(t.TempDir()) + "}}}\npolicy: {allow: [{server: slow}]}\n"
	p.config(t, s.config+slow)
	o := p.run(t, "", "run", "--require-mcp", "list them")
	if o.code != 0 || o.out != "Listed.\n" || !strings.Contains(o.errs, "Waiting for MCP servers to start: slow\n") || !strings.Contains(o.errs, "→ ") || strings.Contains(o.errs, "✗") {
		t.Errorf("%+v", o)
	}
	p.config(t, s.config+"mcp_servers: {down: {command: sh, args: [-c, \"exit 7\"]}}\n")
	if o := p.run(t, "", "run", "--require-mcp", "go on"); o.code != program.ExitFailed || !strings.Contains(o.errs, "have not started: down (") || len(s.asked()) != 2 {
		t.Errorf("a server that is down: %+v", o)
	}
	if o := p.run(t, "", "run", "go on"); o.code != 0 || o.out != "Without it.\n" {
		t.Errorf("one that is not required: %+v", o)
	}
}
