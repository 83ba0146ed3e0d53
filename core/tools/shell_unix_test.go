//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/child/childtest"
	"dragoman/core/coretest"
	"dragoman/core/shell"
)

// shellRun runs a command and returns the whole result.
func (b *bed) shellRun(ctx context.Context, args m, output func(string)) core.Result {
	b.t.Helper()
	inv, _, err := b.preview("shell_command", args)
	if err != nil {
		b.t.Fatal(err)
	}
	inv.Output = output
	res, err := b.tool("shell_command").Run(ctx, inv)
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

func TestShell(t *testing.T) {
	b := newBed(t)
	b.put("sub/f", "")
	for _, c := range []struct {
		args   m
		want   string
		failed bool
		end    string
	}{
		{m{"command": "echo out; echo err >&2; echo more"}, "out\nerr\nmore\nexit status 0", false, `"exit_code":0,"timed_out":false`},
		{m{"command": "echo bad; exit 3"}, "bad\nexit status 3", true, `"exit_code":3,`},
		{m{"command": "true"}, "exit status 0", false, `"exit_code":0,`},
		{m{"command": "kill -KILL $$"}, "ended by signal: killed", true, `"exit_code":-1,"signal":"killed","timed_out":false`},
		{m{"command": "pwd; echo $PWD", "cwd": "sub"}, b.dir + "/sub\n" + b.dir + "/sub\nexit status 0", false, `"exit_code":0`},
		{m{"command": "cat; read x; echo $?"}, "1\nexit status 0", false, ""},
		{m{"command": "echo $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT"}, "dumb cat cat 0\nexit status 0", false, ""},
		{m{"command": "printf 'a\\377b\\0c'"}, "a\ufffdb\ufffdc\nexit status 0", false, ""},
		{m{"command": "-x"}, "127", true, `"exit_code":127`},
		{m{"command": "exec 2>&1; : < /dev/tty"}, "/dev/tty", true, ""}, // it has no terminal
	} {
		res := b.shellRun(t.Context(), c.args, nil)
		if got := said(res); got != c.want && !(c.failed && strings.Contains(got, c.want)) || res.Failed != c.failed {
			t.Errorf("%v: %q failed %v, want %q", c.args, got, res.Failed, c.want)
		}
		if !strings.Contains(string(res.Structured), c.end) || !json.Valid(res.Structured) {
			t.Errorf("%v: %s, want %s", c.args, res.Structured, c.end)
		}
	}
	_, pv, err := b.preview("shell_command", m{"command": "ls", "cwd": "sub"})
	if want := (core.Access{Op: core.OpRun, Path: b.dir + "/sub", Command: "ls"}); err != nil || len(pv.Access) != 1 || pv.Access[0] != want || pv.Kind != core.KindExecute {
		t.Errorf("%+v %v", pv, err)
	}
	b.fails("shell_command", m{"command": "ls", "cwd": "absent"}, "there is no absent")
	b.fails("shell_command", m{"command": "ls", "cwd": "sub/f"}, "not a folder")
	b.fails("shell_command", m{"command": strings.Repeat("x", maxCommand+1)}, "write it to a file")
}

func TestShellFound(t *testing.T) {
	b := newBed(t, Options{Shell: "sh"})
	if b.set.shell.Name != "sh" || !strings.Contains(b.tool("shell_command").Spec().Description, "with sh,") {
		t.Errorf("shell %+v", b.set.shell)
	}
	b.open(Options{Shell: "no-such-shell"})
	b.fails("shell_command", m{"command": "ls"}, "there is no shell")
	// A shell in the workspace is not used in place of the system's.
	evil := filepath.Dir(b.put("bash", "#!/bin/sh\necho evil\n"))
	if err := os.Chmod(filepath.Join(evil, "bash"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(evil)
	t.Setenv("PATH", "."+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if sh := shell.Find(""); sh.Path == "" || strings.HasPrefix(sh.Path, evil) || !filepath.IsAbs(sh.Path) {
		t.Logf("found %+v", sh) // bash may be missing; it must not be ours
		if strings.HasPrefix(sh.Path, evil) {
			t.Error("the workspace's own bash was taken")
		}
	}
}

// Commands do not get our secrets.
func TestShellEnvironment(t *testing.T) {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/home/u", "LANG=C.UTF-8", "GOFLAGS=-mod=mod", "HTTP_PROXY=http://u:canary@proxy:1", "VIRTUAL_ENV=/v",
		"LINEAR_API=canary", "SLACK_WEBHOOK_URL=https://canary", "ANTHROPIC_CUSTOM_HEADERS=canary", "GIT_CONFIG_PARAMETERS=canary", "LD_LIBRARY_PATH=/canary",
		"OPENAI_API_KEY=canary", "ANTHROPIC_API_KEY=canary", "GITHUB_TOKEN=canary", "AWS_SECRET_ACCESS_KEY=canary", "AWS_ACCESS_KEY_ID=canary",
		"my_api_key=canary", "DB_PASSWORD=canary", "PGPASSWORD=canary", "MYSQL_PWD=canary", "SSH_AUTH_SOCK=canary", "DRAGOMAN_DATA=canary", "DRAGOMAN_X=canary",
		"GOOGLE_APPLICATION_CREDENTIALS=canary", "GITLAB_PAT=canary", "DATABASE_URL=postgres://u:canary@host/db", "NPM_CONFIG__AUTH=canary", "SENTRY_DSN=canary",
		"BASH_ENV=canary", "ENV=canary", "BASH_FUNC_ls%%=() { echo canary; }", "PROMPT_COMMAND=canary", "SECRET_BUT_WANTED=kept", "PAGER=less", "PWD=/canary",
	}
	b := newBed(t, Options{Env: func() []string { return env }, Keep: func(core.ToolHost) []string { return []string{"SECRET_BUT_*"} }})
	out := b.ok("shell_command", m{"command": "env"})
	if strings.Contains(out, "canary") {
		t.Errorf("a secret got through:\n%s", out)
	}
	for _, want := range []string{"HOME=/home/u", "LANG=C.UTF-8", "GOFLAGS=-mod=mod", "HTTP_PROXY=http://proxy:1", "VIRTUAL_ENV=/v", "SECRET_BUT_WANTED=kept", "PAGER=cat", "PWD=" + b.dir} {
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("%s is missing:\n%s", want, out)
		}
	}
}

// pids collects the process ids that a command prints, and reports when there are
// enough of them.
type pids struct {
	mu    sync.Mutex
	text  string
	want  int
	ready chan struct{}
}

func newPids(want int) *pids { return &pids{want: want, ready: make(chan struct{})} }

func (p *pids) output(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text += s
	if p.want > 0 && len(p.found()) >= p.want {
		p.want = 0
		close(p.ready)
	}
}

func (p *pids) found() (list []int) {
	for _, line := range regexp.MustCompile(`pid (\d+)\n`).FindAllStringSubmatch(p.text, -1) {
		n, _ := strconv.Atoi(line[1])
		list = append(list, n)
	}
	return list
}

// However a command ends, no process that it started is left.
func TestShellLeavesNothing(t *testing.T) {
	tree := `sh -c 'sleep 600 & echo pid $!; echo pid $$; wait' & echo pid $$; wait`
	stubborn := `trap "" TERM; sh -c 'trap "" TERM; echo pid $$; while :; do sleep 0.05; done' & echo pid $$; while :; do sleep 0.05; done`
	for _, c := range []struct {
		name, command string
		pids          int
		limit         float64
		cancel        bool
		want          string
	}{
		{"cancelled", tree, 3, 60, true, "canceled after"},
		{"timed out", tree, 3, 5, false, "timed out after 5s"}, // all of it has begun by then
		{"ended", `sleep 600 & echo pid $!; exit 0`, 1, 60, false, "exit status 0"},
		{"ended, output closed", `sleep 600 >/dev/null 2>&1 & echo pid $!; exit 4`, 1, 60, false, "exit status 4"},
		{"ignores the signal", stubborn, 2, 60, true, "canceled after"},
		{"ignores it, in the background", `mkfifo go; (trap "" TERM; echo pid $BASHPID; echo >go; while :; do sleep 0.05; done) & read x <go; exit 0`, 1, 60, false, "exit status 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			if strings.Contains(c.command, "BASHPID") && b.set.shell.Name != "bash" {
				t.Skip("bash is not installed")
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			p := newPids(c.pids)
			done := make(chan core.Result, 1)
			go func() {
				done <- b.shellRun(ctx, m{"command": c.command, "timeout_seconds": c.limit}, p.output)
			}()
			var res core.Result
			select {
			case <-p.ready:
				if c.cancel {
					for _, pid := range p.found() {
						if !childtest.Running(pid) {
							t.Errorf("process %d did not even run", pid)
						}
					}
					cancel(core.ErrCanceled)
				}
				res = <-done
			case res = <-done:
				if n := len(p.found()); n < c.pids {
					t.Fatalf("it ended after it printed %d process ids of %d: %q", n, c.pids, said(res))
				}
			}
			if got := said(res); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, pid := range p.found() {
				if childtest.Running(pid) {
					t.Errorf("process %d is left", pid)
				}
			}
			if strings.Contains(string(res.Structured), `"timed_out":true`) != (c.name == "timed out") {
				t.Errorf("structured %s", res.Structured)
			}
		})
	}
}

// A shell with job control puts its jobs into groups of their own.
func TestShellEndsOtherGroups(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells us the processes of a session")
	}
	b := newBed(t)
	p := newPids(1)
	b.shellRun(t.Context(), m{"command": "set -m; sleep 600 & echo pid $!; exit 0"}, p.output)
	if list := p.found(); len(list) != 1 || childtest.Running(list[0]) {
		t.Errorf("left: %v", list)
	}
}

// A process that left its session when the command ended by itself lives on, but
// cannot hold up the call.
func TestShellEscaped(t *testing.T) {
	b := newBed(t)
	if _, err := b.run("shell_command", m{"command": "command -v setsid"}); err != nil {
		t.Skip("setsid is not installed")
	}
	p := newPids(1)
	start := time.Now()
	res := b.shellRun(t.Context(), m{"command": "setsid sh -c 'echo pid $$; exec sleep 60' & read x < <(sleep 0.2); echo end; exit 0"}, p.output)
	if took := time.Since(start); took > 40*time.Second {
		t.Errorf("it took %v", took)
	}
	if got := said(res); !strings.Contains(got, "end") {
		t.Errorf("got %q", got)
	}
	for _, pid := range p.found() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Output arrives while the command runs, in pieces, complete and in order.
func TestShellStreams(t *testing.T) {
	b := newBed(t)
	fifo := filepath.Join(b.dir, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	first := make(chan struct{})
	var once sync.Once
	var all strings.Builder
	pieces := 0
	go func() {
		<-first // the command waits for this, so its first line came before its end
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err == nil {
			f.Close()
		}
	}()
	res := b.shellRun(t.Context(), m{"command": "echo first; cat go; for i in $(seq 20000); do echo é line $i; done"}, func(s string) {
		if !utf8.ValidString(s) || strings.Contains(s, "\ufffd") {
			t.Errorf("a piece is not whole: %q", s)
		}
		all.WriteString(s)
		pieces++
		once.Do(func() { close(first) })
	})
	var want strings.Builder
	want.WriteString("first\n")
	for i := range 20000 {
		fmt.Fprintf(&want, "é line %d\n", i+1)
	}
	if all.String() != want.String() {
		t.Errorf("%d bytes were streamed, want %d", all.Len(), want.Len())
	}
	if pieces > want.Len()/(4<<10)+200 { // pieces of 4 KiB where output comes fast
		t.Errorf("%d pieces for %d bytes", pieces, want.Len())
	}
	got := said(res)
	if !strings.HasPrefix(got, "first\né line 1\n") || !strings.HasSuffix(got, "é line 20000\nexit status 0") || strings.Count(got, "\n") > maxLines+2 || len(got) > maxBytes+500 {
		t.Errorf("%d lines, %d bytes: %.100q", strings.Count(got, "\n"), len(got), got)
	}
	path := regexp.MustCompile(`lines, \d+ bytes left out; whole output: (spill:.*), for read_file and grep\]`).FindStringSubmatch(got)
	if path == nil {
		t.Fatalf("no file: %.9000s", got)
	}
	if b.spills.Text(path[1]) != want.String() {
		t.Error("the file is not the whole output")
	}
	// read_file reads it without asking.
	inv, pv, err := b.preview("read_file", m{"path": path[1], "offset": 20001})
	if err != nil || pv.Access[0].Outside || !pv.Access[0].Spilled || len(pv.Locations) > 0 {
		t.Fatalf("%+v %v", pv, err)
	}
	if out, err := b.finish("read_file", inv); err != nil || out != "é line 20000\n" {
		t.Errorf("%q %v", out, err)
	}
}

// A client that reads nothing slows the command down; the command can still be
// stopped.
func TestShellBlockedOutput(t *testing.T) {
	b := newBed(t)
	blocked, release := make(chan int, 1), make(chan struct{})
	var once sync.Once
	done := make(chan core.Result, 1)
	go func() { // it has printed long before the limit
		done <- b.shellRun(t.Context(), m{"command": "echo pid $$; exec cat /dev/zero", "timeout_seconds": 5}, func(s string) {
			once.Do(func() {
				pid, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(strings.SplitN(s, "\n", 2)[0], "pid ")))
				blocked <- pid
				<-release
			})
		})
	}()
	var pid int
	select {
	case pid = <-blocked:
	case res := <-done:
		t.Fatalf("it ended before it printed anything: %q", said(res))
	}
	childtest.Soon(t, "it is stopped while the output is still blocked", func() bool { return !childtest.Running(pid) })
	close(release)
	if got := said(<-done); !strings.Contains(got, "timed out after 5s") {
		t.Errorf("got %.300q", got)
	}
}

func TestShellHugeOutput(t *testing.T) {
	b := newBed(t)
	b.set.most = 1 << 20
	got := said(b.shellRun(t.Context(), m{"command": "head -c 3000001 /dev/zero | tr '\\0' x"}, nil))
	path := regexp.MustCompile(`its beginning: (spill:.*), for read_file and grep\]`).FindStringSubmatch(got)
	if path == nil || len(got) > maxBytes+500 || !strings.Contains(got, "larger than 1 MB") {
		t.Fatalf("%d bytes: %.200q … %.200q", len(got), got, got[max(0, len(got)-200):])
	}
	if n := len(b.spills.Text(path[1])); n != 1<<20 {
		t.Errorf("%d bytes were kept", n)
	}
	b.spills.Err = errors.New("the disk is full")
	if got := said(b.shellRun(t.Context(), m{"command": "seq 5000"}, nil)); !strings.Contains(got, "could not be kept: the disk is full") {
		t.Errorf("got %.100q", got)
	}
}

// Files and goroutines are released.
func TestShellLeaksNothing(t *testing.T) {
	b := newBed(t)
	fds := func() int {
		list, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	b.ok("shell_command", m{"command": "true"})
	before, routines := fds(), runtime.NumGoroutine()
	for range 50 {
		b.ok("shell_command", m{"command": "true"})
		b.ok("glob", m{"pattern": "*"})
		b.ok("grep", m{"pattern": "x"})
		b.ok("write_file", m{"path": "d/f", "content": "x"})
		b.ok("read_file", m{"path": "d/f"})
	}
	if now := fds(); now > before+1 {
		t.Errorf("%d files are open, there were %d", now, before)
	}
	// Goroutines that end by themselves may need a moment.
	for left := time.After(30 * time.Second); runtime.NumGoroutine() > routines; runtime.Gosched() {
		select {
		case <-left:
			t.Fatalf("%d goroutines, there were %d", runtime.NumGoroutine(), routines)
		default:
		}
	}
}

func TestCapture(t *testing.T) {
	for _, c := range []struct {
		name, text string
		lines      int
	}{
		{"one long line", strings.Repeat("é", 100<<10), 0},
		{"short lines", strings.Repeat("x\n", 100<<10), 0},
		{"2001 lines", strings.Repeat("x\n", 2001), 0},
		{"just too long", strings.Repeat(strings.Repeat("y", 99)+"\n", 513), 0},
		{"a long line at the end", strings.Repeat("x\n", 10) + strings.Repeat("é", 100<<10), 0},
		{"a long line first", strings.Repeat("é", 100<<10) + "\n" + strings.Repeat("x\n", 3000), 0},
	} {
		var spills coretest.Spills
		for _, chunk := range []int{1 << 20, 16 << 10, 1000} {
			out := newCapture(&spills, maxSpill)
			for rest := c.text; rest != ""; {
				n := min(chunk/2*2, len(rest))
				out.write(rest[:n])
				rest = rest[n:]
			}
			got, err := out.result()
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.ValidString(got) || len(got) > maxBytes+300 || strings.Count(got, "\n") > maxLines+1 {
				t.Errorf("%s in %d: %d bytes, %d lines", c.name, chunk, len(got), strings.Count(got, "\n"))
			}
			head, tail, ok := strings.Cut(got, "[… ")
			_, tail, _ = strings.Cut(tail, "]\n")
			if !ok || !strings.HasPrefix(c.text, strings.TrimSuffix(head, "\n")) || !strings.HasSuffix(c.text, tail) && !strings.HasSuffix(c.text, tail+"\n") || head == "" || tail == "" {
				t.Errorf("%s in %d: %.60q … %.60q", c.name, chunk, head, tail)
			}
			if data := spills.Text(out.ref); data != c.text {
				t.Errorf("%s in %d: the file has %d bytes", c.name, chunk, len(data))
			}
		}
	}
	exact := strings.Repeat("x\n", 2000)
	out := newCapture(nil, maxSpill)
	out.write(exact)
	if got, err := out.result(); err != nil || got+"\n" != exact {
		t.Errorf("2000 lines: %v", err)
	}
	failed := newCapture(&coretest.Spills{Err: errors.New("the disk is full")}, maxSpill)
	failed.write(strings.Repeat("x\n", 3000))
	if got, err := failed.result(); err == nil || errors.Is(err, os.ErrExist) || !strings.Contains(got, "lines") {
		t.Errorf("a file that cannot be made: %v", err)
	}
}
