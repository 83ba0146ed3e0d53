//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child/childtest"
	"dragoman/core/shell"
)

// begin starts a command in the background and returns its job.
func (b *bed) begin(args m) *job {
	b.t.Helper()
	args["background"] = true
	res := b.shellRun(b.t.Context(), args, nil)
	if res.Failed {
		b.t.Fatal(said(res))
	}
	var out struct{ Job string }
	if err := json.Unmarshal(res.Structured, &out); err != nil {
		b.t.Fatal(err)
	}
	j, err := b.set.jobs.find(out.Job)
	if err != nil {
		b.t.Fatal(err)
	}
	return j
}

// posted returns the content of the board, by topic.
func (b *bed) posted() map[board.Topic]board.Item {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	list, _, _ := b.board.Next(ctx, 0)
	all := map[board.Topic]board.Item{}
	for _, p := range list {
		all[p.Topic] = p.Item
	}
	return all
}

func (j *job) await(t *testing.T) board.JobInfo {
	t.Helper()
	select {
	case <-j.done:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	return j.look()
}

func TestJob(t *testing.T) {
	b := newBed(t)
	b.meta.Principal = "me"
	fifo := filepath.Join(b.dir, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	j := b.begin(m{"command": "echo one; echo bad >&2; printf 'not yet'; read x < go; echo; exit 3", "summary": "a server"})
	topic := board.Topic{Kind: "job", Name: j.info.ID, Principal: "me"}
	item, ok := b.posted()[topic].(board.Job)
	if i := item.Info; !ok || i.Session != "s1" || i.Summary != "a server" || i.Status != board.JobRunning || i.Cwd != b.dir || i.Exit != nil || i.Started.IsZero() ||
		!strings.HasPrefix(i.Command, "echo one;") {
		t.Errorf("posted %+v", item)
	}
	read := func(args m) string {
		t.Helper()
		args["action"], args["id"] = "read_output", j.info.ID
		return b.ok("background_jobs", args)
	}
	childtest.Soon(t, "it has printed", func() bool { return len(j.Output()) == 3 })
	for _, l := range j.Output() {
		if l.Stderr != (l.Text == "bad") {
			t.Errorf("line %+v", l)
		}
	}
	if out := read(m{}); !strings.Contains(out, "[stderr] bad\n") || !strings.Contains(out, "not yet\n") || !strings.Contains(out, ": running; lines 1–3 of 3]") {
		t.Errorf("output %q", out)
	}
	if out := b.ok("background_jobs", m{"action": "list"}); !strings.HasPrefix(out, j.info.ID+": running: echo one;") || !strings.HasSuffix(out, "(a server)\n") {
		t.Errorf("list %q", out)
	}
	if err := os.WriteFile(fifo, []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	if i := j.await(t); i.Status != board.JobFailed || i.Exit == nil || *i.Exit != 3 || i.Ended.Before(i.Started) {
		t.Errorf("ended %+v", i)
	}
	item, _ = b.posted()[topic].(board.Job)
	if item.Info.Status != board.JobFailed || len(item.Control.Output()) != 3 {
		t.Errorf("posted %+v", item)
	}
	if killed, err := item.Control.Kill(t.Context()); killed || err != nil {
		t.Errorf("a job that has ended was killed: %v", err)
	}
	if out := read(m{"tail": 1}); !strings.HasPrefix(out, "not yet\n\n[") || !strings.Contains(out, "exit status 3; lines 3–3 of 3]") {
		t.Errorf("tail %q", out)
	}
	if out := read(m{"offset": 2}); strings.Count(out, "\n") != 3 || !strings.Contains(out, "lines 2–3 of 3]") {
		t.Errorf("offset %q", out)
	}
	if out := read(m{"offset": 9}); !strings.Contains(out, "it has 3 lines so far") {
		t.Errorf("offset %q", out)
	}
	if out := b.ok("background_jobs", m{"action": "kill", "id": j.info.ID}); !strings.Contains(out, "had ended already: exit status 3") {
		t.Errorf("kill %q", out)
	}
	// It stays on the board until the session's tools are closed.
	if err := b.set.Close(); err != nil {
		t.Fatal(err)
	}
	if _, gone := b.posted()[topic].(board.Gone); !gone {
		t.Errorf("it is still posted")
	}
	if _, err := b.set.jobs.start(t.Context(), board.JobInfo{}, shell.Command{}); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a job of a closed session: %v", err)
	}
}

func TestJobEndings(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		args   m
		status board.JobStatus
		exit   int // -1: none
		words  string
	}{
		{m{"command": "true"}, board.JobDone, 0, "exit status 0"},
		{m{"command": "exit 7"}, board.JobFailed, 7, "exit status 7"},
		{m{"command": "kill -KILL $$"}, board.JobFailed, -1, "ended by signal: killed"},
		{m{"command": "sleep 600", "timeout_seconds": 0.2}, board.JobFailed, -1, "timed out after"},
	} {
		j := b.begin(c.args)
		i := j.await(t)
		exit := -1
		if i.Exit != nil {
			exit = *i.Exit
		}
		if i.Status != c.status || exit != c.exit || !strings.Contains(j.words(), c.words) {
			t.Errorf("%v: %+v exit %d, %s", c.args, i, exit, j.words())
		}
	}
	_, pv, err := b.preview("shell_command", m{"command": "ls", "background": true, "summary": "x"})
	if want := (core.Access{Op: core.OpRun, Path: b.dir, Command: "ls"}); err != nil || pv.Access[0] != want || pv.Title != "Run in the background `ls`" {
		t.Errorf("%+v %v", pv, err)
	}
	b.fails("background_jobs", m{"action": "stop"}, "must be list, read_output or kill")
	b.fails("background_jobs", m{"action": "kill"}, `argument "id" is missing`)
	b.fails("background_jobs", m{"action": "kill", "id": "job-x"}, "use the action list")
	b.fails("background_jobs", m{"action": "read_output", "id": "x", "offset": 1, "tail": 1}, "exclude each other")
	_, pv, err = b.preview("background_jobs", m{"action": "kill", "id": b.set.jobs.all()[0].info.ID})
	if err != nil || pv.Kind != core.KindExecute || len(pv.Access) != 0 {
		t.Errorf("%+v %v", pv, err)
	}
	none := newBed(t)
	none.fails("background_jobs", m{"action": "kill", "id": "x"}, "no job was started here")
	if out := none.ok("background_jobs", m{"action": "list"}); !strings.Contains(out, "no job") {
		t.Errorf("list %q", out)
	}
	// On systems other than Linux, this environment stops it from waiting for its
	// guard, so that we see the error.
	_, err = none.set.jobs.start(t.Context(), board.JobInfo{}, shell.Command{Guard: none.set.guard, Argv: []string{"/absent"}, Env: []string{"a.b=c"}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if len(none.set.jobs.all()) != 0 || len(none.posted()) != 0 {
		t.Errorf("a job that could not start is kept: %+v", none.posted())
	}
}

// However a job is ended, no process that it started is left; and other sessions do
// not see the job.
func TestJobLeavesNothing(t *testing.T) {
	tree := `trap "" TERM; sh -c 'sleep %[1]s & sleep %[1]s; true' & sleep %[1]s & wait; wait`
	for _, c := range []struct {
		name string
		end  func(b *bed, j *job)
	}{
		{"killed", func(b *bed, j *job) {
			other := newBed(b.t)
			other.fails("background_jobs", m{"action": "kill", "id": j.info.ID}, "there is no job")
			if out := b.ok("background_jobs", m{"action": "kill", "id": j.info.ID}); !strings.Contains(out, "was killed") {
				b.t.Errorf("%q", out)
			}
			if i := j.look(); i.Status != board.JobKilled || i.Exit != nil || !strings.Contains(j.words(), "killed after") {
				b.t.Errorf("%+v", i)
			}
		}},
		{"from the board", func(b *bed, j *job) {
			item := b.posted()[j.topic].(board.Job)
			if killed, err := item.Control.Kill(b.t.Context()); !killed || err != nil {
				b.t.Errorf("killed %v %v", killed, err)
			}
		}},
		{"with the session", func(b *bed, _ *job) {
			if err := b.set.Close(); err != nil {
				b.t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			odd := childtest.OddSleep()
			j := b.begin(m{"command": fmt.Sprintf(tree, odd)})
			childtest.Soon(t, "all of it runs", func() bool { return len(childtest.Asleep(t, odd)) == 3 })
			c.end(b, j)
			if left := childtest.Asleep(t, odd); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if !isClosed(j.done) {
				t.Error("it is still waited for")
			}
		})
	}
}

// A turn that is stopped leaves no job that its model has not seen.
func TestJobOfStoppedTurn(t *testing.T) {
	b := newBed(t)
	inv, _, err := b.preview("shell_command", m{"command": "sleep 600", "background": true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(core.ErrCanceled)
	_, err = b.tool("shell_command").Run(ctx, inv)
	for _, j := range b.set.jobs.all() {
		if err != nil {
			t.Errorf("%s is left after %v", j.info.ID, err)
		}
	}
	// A job that is running continues when its turn ends.
	ctx, cancel = context.WithCancelCause(t.Context())
	inv, _, _ = b.preview("shell_command", m{"command": "sleep 600", "background": true})
	if _, err := b.tool("shell_command").Run(ctx, inv); err != nil {
		t.Fatal(err)
	}
	cancel(core.ErrCanceled)
	all := b.set.jobs.all()
	if j := all[len(all)-1]; isClosed(j.done) || j.look().Status != board.JobRunning {
		t.Errorf("it ended with its turn: %+v", j.look())
	}
}

func TestJobsAreBounded(t *testing.T) {
	b := newBed(t)
	var first *job
	for range maxRunning {
		j := b.begin(m{"command": "echo x; exec sleep 600"})
		if first == nil {
			first = j
		}
	}
	b.fails("shell_command", m{"command": "true", "background": true}, "32 jobs run already")
	if _, err := first.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range maxPrinted {
		b.begin(m{"command": "true"}).await(t)
	}
	if out := b.ok("background_jobs", m{"action": "read_output", "id": first.info.ID}); !strings.Contains(out, "its output is kept no more") {
		t.Errorf("output %q", out)
	}
	if len(b.posted()) != maxRunning+maxPrinted {
		t.Errorf("%d jobs are posted", len(b.posted()))
	}
	for range maxEnded - maxPrinted {
		b.begin(m{"command": "true"}).await(t)
	}
	b.fails("background_jobs", m{"action": "read_output", "id": first.info.ID}, "there is no job")
	stay := 0
	for _, item := range b.posted() {
		if _, ok := item.(board.Job); ok {
			stay++
		}
	}
	if most := maxRunning - 1 + maxEnded; stay != most || len(b.set.jobs.all()) != most {
		t.Errorf("%d jobs are posted, %d listed", stay, len(b.set.jobs.all()))
	}
}

func TestRing(t *testing.T) {
	var r ring
	for range 100 {
		r.write("ab", false)
		r.write("x", true)
		r.write("c\r\nd", false)
		r.write("y\nz", true)
		r.write("\n", false)
		r.write("\n", true)
	}
	all := r.all()
	if len(all) != 400 || all[0] != (board.JobLine{Text: "abc"}) || all[1] != (board.JobLine{Text: "xy", Stderr: true}) || all[2].Text != "d" || all[3].Text != "z" {
		t.Errorf("%d lines, %+v", len(all), all[:4])
	}
	r = ring{}
	for i := range 100_000 {
		r.write(fmt.Sprintf("line %d, with some more text behind it\n", i), false)
	}
	all = r.all()
	size := 0
	for _, l := range all {
		size += len(l.Text)
	}
	if size > ringBytes || size < ringBytes/2 || r.gone+len(all) != 100_000 || !strings.HasPrefix(all[len(all)-1].Text, "line 99999,") {
		t.Errorf("%d lines of %d bytes, %d gone", len(all), size, r.gone)
	}
	r = ring{}
	for range 300 {
		r.write(strings.Repeat("é", 5000), false) // without a line end
	}
	for _, l := range r.all() {
		if len(l.Text) > ringLine || !strings.HasPrefix(l.Text, "é") {
			t.Fatalf("a line of %d bytes", len(l.Text))
		}
	}
	if r.bytes > ringBytes || len(r.open[0]) > ringLine {
		t.Errorf("%d bytes and %d", r.bytes, len(r.open[0]))
	}
	r = ring{}
	r.write(strings.Repeat("\n", 1<<20), false)
	if len(r.lines) > ringBytes/lineCost {
		t.Errorf("%d empty lines", len(r.lines))
	}
}

// While a session rests the output of its jobs takes no memory, and can be read as
// before. It is removed when the session closes.
func TestOutputOfJobsRests(t *testing.T) {
	b := newBed(t)
	j := b.begin(m{"command": "echo one; printf 'two\\r\\n'; seq 200000; printf '\\n\\npart'; echo bad >&2"})
	j.await(t)
	read := func() string { return b.ok("background_jobs", m{"action": "read_output", "id": j.info.ID}) }
	lines, said := j.Output(), read()
	for range 2 {
		if !b.set.Rest() {
			t.Fatal("it does not rest")
		}
		if j.out.lines != nil || j.out.bytes > 0 {
			t.Errorf("%d lines of %d bytes are in memory", len(j.out.lines), j.out.bytes)
		}
		if now := j.Output(); !slices.Equal(now, lines) || read() != said {
			t.Errorf("it had %d lines, and has %d: %s\n%s", len(lines), len(now), said, read())
		}
	}
	files := func() int { return len(b.spills.Refs()) }
	if n := files(); n != 1 {
		t.Errorf("%d files", n)
	}
	for range maxPrinted {
		b.begin(m{"command": "true"}).await(t)
	}
	if out := read(); !strings.Contains(out, "its output is kept no more") || files() > 0 {
		t.Errorf("%d files; output %q", files(), out)
	}

	last := b.begin(m{"command": "echo x"})
	last.await(t)
	lost := b.begin(m{"command": "echo y"})
	lost.await(t)
	if !b.set.Rest() || files() != 2 {
		t.Fatalf("%d files", files())
	}
	if err := b.spills.Unspill(lost.stored.ref); err != nil {
		t.Fatal(err)
	}
	if out := b.ok("background_jobs", m{"action": "read_output", "id": lost.info.ID}); !strings.Contains(out, "its output is kept no more") {
		t.Errorf("output %q", out)
	}
	if err := b.set.Close(); err != nil || files() > 0 || len(last.Output()) > 0 {
		t.Errorf("%d files, %v", files(), err)
	}

	b = newBed(t) // if no file can be written it stays in memory
	b.spills.Err = errors.New("the disk is full")
	j = b.begin(m{"command": "echo z"})
	j.await(t)
	if !b.set.Rest() || len(j.Output()) != 1 {
		t.Errorf("output %v", j.Output())
	}
}

// A session does not rest while a job runs. When it rests it closes its handles of the
// workspace, and opens them again at the next call.
func TestRest(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "hello\n")
	read := func() {
		t.Helper()
		if _, err := b.run("read_file", m{"path": "a.txt"}); err != nil {
			t.Fatal(err)
		}
	}
	read()
	j := b.begin(m{"command": "sleep 60"})
	if b.set.Rest() {
		t.Error("it rests while a job runs")
	}
	if _, err := j.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := func() int { // number of open files; 0 on systems that do not report it
		list, _ := os.ReadDir("/proc/self/fd")
		return len(list)
	}
	awake := open()
	if !b.set.Rest() {
		t.Error("it does not rest")
	}
	rested := open()
	if rested > awake-2 && awake > 0 {
		t.Errorf("%d descriptors are open, %d were", rested, awake)
	}
	read()
	b.set.Rest()
	if n := open(); n != rested {
		t.Errorf("%d descriptors are open at the second rest, %d at the first", n, rested)
	}
	read()
}
