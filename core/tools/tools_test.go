package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/ide"
)

// bed is the workspace of a session under test, and the session's host.
type bed struct {
	t    testing.TB
	dir  string // the workspace root
	away string // another folder next to it
	meta core.Meta
	set  *toolset

	editor core.Editor
	other  core.Editor // another client's

	unsaved []string // files in which it has other changes
	board   *board.Board
	spills  coretest.Spills
	texts   core.Texts

	mu    sync.Mutex // guards the fields below
	calls int
	reply core.Reply // to what is asked, also after a call has ended
	asked []core.Ask
}

// answer has what is asked from now on answered so.
func (b *bed) answer(r core.Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reply = r
}

// questions returns what was asked since the last call.
func (b *bed) questions() []core.Ask {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.asked
	b.asked = nil
	return asked
}

func (b *bed) Connection() core.Profiles                      { return nil }
func (b *bed) Profile(context.Context) (*core.Profile, error) { return &core.Profile{}, nil }
func (b *bed) Meta() core.Meta                                { return b.meta }
func (b *bed) Settings() core.Settings                        { return core.Settings{} }

func (b *bed) Changed(_ context.Context, path string, unsaved func(core.Editor) bool) {
	if b.other != nil && unsaved(b.other) {
		b.unsaved = append(b.unsaved, path)
	}
}

func (b *bed) Servers() []core.ServerSpec { return nil }
func (b *bed) Delegate(context.Context, core.Caller) (*core.Attachment, core.Settings, error) {
	return nil, core.Settings{}, errors.New("there are no other sessions")
}
func (b *bed) Editor(string) core.Editor { return b.editor }
func (b *bed) Spills() core.Spills       { return &b.spills }
func (b *bed) Texts() *core.Texts        { return &b.texts }
func (b *bed) Ask(_ context.Context, a core.Ask) (core.Reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, a)
	return b.reply, nil
}

func newBed(t testing.TB, opts ...Options) *bed {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{board: board.New(), t: t, dir: filepath.Join(top, "app"), away: filepath.Join(top, "app-evil")}
	for _, d := range []string{b.dir, b.away} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.meta = core.Meta{ID: "s1", Cwd: b.dir, Roots: []string{b.dir}}
	b.open(opts...)
	return b
}

func (b *bed) open(opts ...Options) {
	b.t.Helper()
	o := append(opts, Options{})[0]
	o.Board = b.board
	box := New(o).(*toolbox)
	box.grace = 100 * time.Millisecond
	set, err := box.Open(b.t.Context(), b)
	if err != nil {
		b.t.Fatal(err)
	}
	b.set = set.(*toolset)
	b.t.Cleanup(func() {
		if err := set.Close(); err != nil {
			b.t.Error(err)
		}
	})
}

func (b *bed) tool(name string) core.Tool {
	b.t.Helper()
	tools, _ := b.set.Tools(context.Background())
	for _, t := range tools {
		if t.Spec().Name == name {
			return t
		}
	}
	b.t.Fatalf("there is no tool %s", name)
	return nil
}

type m = map[string]any

func (b *bed) invocation(args any) core.Invocation {
	b.t.Helper()
	b.mu.Lock()
	b.calls++
	id := core.CallID(fmt.Sprint("c", b.calls))
	b.mu.Unlock()
	raw, ok := args.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(args); err != nil {
			b.t.Fatal(err)
		}
	}
	return core.Invocation{Call: id, Turn: "t1", Args: raw}
}

// preview previews a call and returns it ready to run, as if it was allowed.
func (b *bed) preview(name string, args any) (core.Invocation, core.Preview, error) {
	b.t.Helper()
	inv := b.invocation(args)
	pv, err := b.tool(name).Preview(b.t.Context(), inv)
	inv.Access = pv.Access
	return inv, pv, err
}

// run makes a whole call. A failure is returned as an error.
func (b *bed) run(name string, args any) (string, error) {
	b.t.Helper()
	inv, _, err := b.preview(name, args)
	if err != nil {
		return "", err
	}
	return b.finish(name, inv)
}

func (b *bed) finish(name string, inv core.Invocation) (string, error) {
	b.t.Helper()
	res, err := b.tool(name).Run(b.t.Context(), inv)
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	if res.Failed {
		return said(res), fmt.Errorf("%s", said(res))
	}
	return said(res), nil
}

func said(res core.Result) string {
	var parts []string
	for _, blk := range res.Blocks {
		if t, ok := blk.(core.Text); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (b *bed) ok(name string, args any) string {
	b.t.Helper()
	out, err := b.run(name, args)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, args, err)
	}
	return out
}

func (b *bed) fails(name string, args any, want string) {
	b.t.Helper()
	out, err := b.run(name, args)
	if err == nil {
		b.t.Fatalf("%s %v: it did not fail but said %q", name, args, out)
	}
	if !strings.Contains(err.Error(), want) {
		b.t.Fatalf("%s %v: %q does not contain %q", name, args, err, want)
	}
}

// put writes a file below the workspace, or at an absolute path.
func (b *bed) put(path, content string) string {
	b.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.dir, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bed) get(path string) string {
	b.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.dir, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bed) link(target, path string) {
	b.t.Helper()
	if err := os.Symlink(target, filepath.Join(b.dir, path)); err != nil {
		if runtime.GOOS != "windows" {
			b.t.Fatal(err)
		}
		b.t.Skipf("no symbolic links here: %v", err)
	}
}

func TestToolsAreListedInOrder(t *testing.T) {
	b := newBed(t)
	var names []string
	tools, err := b.set.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		spec := tool.Spec()
		names = append(names, spec.Name)
		var schema struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
			More       *bool                      `json:"additionalProperties"`
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
		if schema.Type != "object" || schema.More == nil || *schema.More {
			t.Errorf("%s: the schema admits other arguments", spec.Name)
		}
		if spec.Server != core.Native || spec.Description == "" || spec.Kind == "" || spec.Title == "" {
			t.Errorf("%s: incomplete spec %+v", spec.Name, spec)
		}
		// The tool reads the arguments in its schema: the error lists them.
		_, _, err := b.preview(spec.Name, m{"nonsense": 1})
		if err == nil {
			t.Errorf("%s: an unknown argument was accepted", spec.Name)
		}
		for _, r := range schema.Required {
			if !strings.Contains(err.Error(), "missing") {
				t.Errorf("%s: %q was not missed: %v", spec.Name, r, err)
			}
		}
	}
	want := "read_file directory_tree glob grep write_file edit_file move_file shell_command background_jobs web_fetch update_plan ask_user"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("tools: %s, want %s", got, want)
	}
	select {
	case <-b.set.Changed():
		t.Error("the list has not changed")
	default:
	}
	// A caller that only lists them has no session.
	set, err := New(Options{}).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := set.Tools(t.Context()); err != nil || len(list) != len(tools) || set.Close() != nil {
		t.Errorf("without a session: %d tools %v", len(list), err)
	}
}

func TestArgumentsAreStrict(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "a\n")
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{}`, `argument "path" is missing`},
		{"read_file", ``, `argument "path" is missing`},
		{"read_file", `[]`, `must be a JSON object`},
		{"read_file", `{"path":"a.txt"} x`, `something behind`},
		{"read_file", `{"path":"a.txt"`, `not valid JSON`},
		{"read_file", `{"path":"a.txt","path":"b.txt"}`, `argument "path" was given twice`},
		{"read_file", `{"Path":"a.txt"}`, `argument "path" is missing`},
		{"read_file", `{"path":"a.txt","PATH":"b"}`, `unknown argument "PATH"; the arguments are path, offset, limit`},
		{"read_file", `{"path":7}`, `argument "path" must be a string, not a number`},
		{"read_file", `{"path":null}`, `argument "path" must be a string, not null`},
		{"read_file", `{"path":"a.txt","offset":"1"}`, `argument "offset" must be a whole number, not a string`},
		{"read_file", `{"path":"a.txt","offset":1.5}`, `argument "offset" must be a whole number`},
		{"read_file", `{"path":"a.txt","offset":0}`, `argument "offset" must be at least 1`},
		{"read_file", `{"path":"a.txt","offset":1e99}`, `argument "offset" must be at most`},
		{"read_file", `{"path":"a.txt","limit":2001}`, `argument "limit" must be at most 2000`},
		{"edit_file", `{"path":"a.txt","old":"a","new":"b","all":"yes"}`, `argument "all" must be a boolean, not a string`},
		{"edit_file", `{"path":"a.txt","old":"","new":"b"}`, `argument "old" is empty`},
		{"edit_file", `{"path":"a.txt","old":"a","new":"a"}`, `nothing to change`},
		{"shell_command", `{"command":"true","timeout_seconds":0}`, `must be above 0`},
		{"shell_command", `{"command":"true","timeout_seconds":3601}`, `must be at most 3600`},
		{"shell_command", `{"command":"a\u0000b"}`, `NUL`},
		{"shell_command", `{"command":"  "}`, `argument "command" is empty`},
		{"update_plan", `{"entries":{}}`, `argument "entries" must be a list, not an object`},
		{"update_plan", `{"entries":[{"text":"a","status":"later"}]}`, `entry 1: argument "status" must be pending`},
		{"update_plan", `{"entries":[{"text":"a","status":"pending","x":1}]}`, `entry 1: unknown argument "x"`},
		{"ask_user", `{"question":"?","freeform":false}`, `"freeform"`},
		{"grep", `{"pattern":"("}`, `argument "pattern" is not a valid regular expression`},
		{"glob", `{"pattern":"[a"}`, `argument "pattern" is not a valid pattern`},
		{"glob", `{"pattern":"../*"}`, `must not contain ..`},
		{"glob", `{"pattern":"/etc/*"}`, `must be relative`},
	} {
		inv := b.invocation(json.RawMessage(c.args))
		_, err := b.tool(c.tool).Preview(t.Context(), inv)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.tool, c.args, err, c.want)
		}
		// Run does not assume that Preview was called.
		res, err := b.tool(c.tool).Run(t.Context(), inv)
		if err != nil || !res.Failed || !strings.Contains(said(res), c.want) {
			t.Errorf("run %s %s: %+v %v, want %q", c.tool, c.args, res, err, c.want)
		}
	}
	if got := b.ok("read_file", json.RawMessage(` { "path" : "a.txt", "offset": 1.0 } `)); got != "a\n" {
		t.Errorf("got %q", got)
	}
}

func TestRunFollowsThePreview(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "a\n")
	b.put("b.txt", "b\n")
	inv, _, err := b.preview("read_file", m{"path": "a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	inv.Args = json.RawMessage(`{"path":"b.txt"}`)
	if out, err := b.finish("read_file", inv); err == nil || !strings.Contains(out, "changed after the call was previewed") {
		t.Errorf("other arguments ran: %q", out)
	}
	// A change needs its preview: without one nobody has seen the compared content.
	for _, c := range []struct {
		tool string
		args m
	}{
		{"write_file", m{"path": "a.txt", "content": "x"}},
		{"edit_file", m{"path": "a.txt", "old": "a", "new": "x"}},
	} {
		inv := b.invocation(c.args)
		if out, err := b.finish(c.tool, inv); err == nil || !strings.Contains(out, "not previewed") {
			t.Errorf("%s ran without a preview: %q", c.tool, out)
		}
	}
	// Its preview counts once.
	inv, _, _ = b.preview("edit_file", m{"path": "a.txt", "old": "a", "new": "aa"})
	if _, err := b.finish("edit_file", inv); err != nil {
		t.Fatal(err)
	}
	if out, err := b.finish("edit_file", inv); err == nil {
		t.Errorf("it ran twice: %q", out)
	}
	if got := b.get("a.txt"); got != "aa\n" {
		t.Errorf("a.txt: %q", got)
	}
	// Steps of an earlier turn are dropped.
	inv, _, _ = b.preview("write_file", m{"path": "a.txt", "content": "x"})
	next := b.invocation(m{"path": "b.txt"})
	next.Turn = "t2"
	if _, err := b.tool("read_file").Preview(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if out, err := b.finish("write_file", inv); err == nil {
		t.Errorf("a step of an earlier turn ran: %q", out)
	}
	if len(b.set.steps) != 1 {
		t.Errorf("%d steps are kept, want 1", len(b.set.steps))
	}
}

func TestClosedToolset(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "a")
	inv, _, err := b.preview("read_file", m{"path": "a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.set.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := b.finish("read_file", inv); err == nil {
		t.Errorf("it still reads: %q", out)
	}
	if _, _, err := b.preview("read_file", m{"path": "a.txt"}); err == nil {
		t.Error("it still previews")
	}
}

func TestPlan(t *testing.T) {
	b := newBed(t)
	inv, pv, err := b.preview("update_plan", m{"entries": []m{{"text": "A", "status": "completed"}, {"text": "B", "status": "pending"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(pv.Access) != 0 || pv.Kind != core.KindThink || pv.Title != "Update the plan: 1 of 2 steps done" {
		t.Errorf("preview %+v", pv)
	}
	var plan []core.PlanEntry
	inv.Plan = func(p []core.PlanEntry) { plan = p }
	if _, err := b.finish("update_plan", inv); err != nil {
		t.Fatal(err)
	}
	if len(plan) != 2 || plan[0] != (core.PlanEntry{Text: "A", Status: core.PlanDone}) {
		t.Errorf("plan %+v", plan)
	}
}

// Our own tools break no rule of a service, so they are sent as they are (inference.ToolSpec.Plain).
func TestToolsArePlain(t *testing.T) {
	b := newBed(t)
	list, err := b.set.Tools(t.Context())
	if err != nil || len(list) < 10 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	for _, tool := range list {
		s := tool.Spec()
		for _, family := range []string{"anthropic", "azure", "kimi", "openai"} {
			if faults := coretest.ToolFaults(family, s.Name, s.Description[:min(len(s.Description), 1024)], s.Schema); faults != nil {
				t.Errorf("%s for %s: %q", s.Name, family, faults)
			}
		}
	}
}

func TestAsk(t *testing.T) {
	b := newBed(t)
	args := m{"question": "Which?", "options": []m{{"label": "Red"}, {"label": "Blue", "description": "like the sky"}}}
	for _, c := range []struct {
		reply  core.Reply
		want   string
		failed bool
	}{
		{core.Reply{Outcome: core.OutcomeAnswered, Option: "2"}, "answered: Blue", false},
		{core.Reply{Outcome: core.OutcomeAnswered, Text: "green"}, "answered: green", false},
		{core.Reply{Outcome: core.OutcomeAnswered, Option: "1", Text: "dark"}, "answered: Red\ndark", false},
		{core.Reply{Outcome: core.OutcomeDeclined}, "does not want to answer", false},
		{core.Reply{Outcome: core.OutcomeExpired}, "Nobody answered in time", false},
		{core.Reply{Outcome: core.OutcomeAlone}, "Nobody can be asked here", false},
		{core.Reply{Outcome: core.OutcomeCanceled}, "withdrawn", true},
		{core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowOnce}, "withdrawn", true},
	} {
		b.answer(c.reply)
		out, err := b.run("ask_user", args)
		if !strings.Contains(out, c.want) || (err != nil) != c.failed {
			t.Errorf("%+v: %q %v, want %q", c.reply, out, err, c.want)
		}
	}
	a := b.questions()[0]
	if a.Kind != core.AskQuestion || a.Text != "Which?" || !a.Freeform || a.Turn != "t1" || a.Call == "" ||
		len(a.Options) != 2 || a.Options[1] != (core.Option{ID: "2", Label: "Blue", Description: "like the sky"}) {
		t.Errorf("asked %+v", a)
	}
}

// buffers is an editor with unsaved texts.
type buffers struct {
	caps  ide.Caps
	texts map[string]string
	err   error
	wrote []ide.WriteFile
	onAsk func()
}

// noFile is the error of an editor that has no such file.
var noFile = &ide.Lacks{Why: "has no such file"}

func (e *buffers) Lend(id core.SessionID) core.Editor { return ide.Lend(e, id) }

func (e *buffers) Caps() ide.Caps { return e.caps }

func (e *buffers) Do(_ context.Context, c ide.Call) (ide.Reply, error) {
	if e.onAsk != nil {
		e.onAsk()
	}
	switch c := c.(type) {
	case ide.ReadFile:
		text, ok := e.texts[c.Path]
		if !ok {
			return nil, noFile
		}
		if c.Line > 0 {
			lines := strings.SplitAfter(text, "\n")
			lines = lines[min(c.Line-1, len(lines)):]
			text = strings.Join(lines[:min(c.Limit, len(lines))], "")
		}
		return ide.FileText{Text: text}, nil
	case ide.WriteFile:
		if e.err != nil {
			return nil, e.err
		}
		e.wrote = append(e.wrote, c)
		e.texts[c.Path] = c.Text
		return ide.Done{}, nil
	}
	return ide.Done{}, nil
}

// The alternatives of a pattern are not tried one after the other.
func TestManyAlternatives(t *testing.T) {
	b := newBed(t, Options{})
	b.put("a.go", "x\n")
	b.put("b.go", "x\n")                                                   // no alternative matches it
	pattern := strings.Repeat("{"+strings.Repeat(",", 29)+"}", 8) + "a.go" // 30 to the power of 8 alternatives
	if got := b.ok("glob", m{"pattern": pattern}); got != "a.go\n" {
		t.Error(got)
	}
	if got := b.ok("grep", m{"pattern": "x", "include": pattern}); !strings.Contains(got, "a.go") || strings.Contains(got, "b.go") {
		t.Error(got)
	}
	for pattern, why := range map[string]string{
		strings.Repeat("{"+strings.Repeat(",", 90)+"}", 10) + "a.go": "longer than 256 bytes",
		strings.Repeat("{,}", 9) + "a.go":                            "more than 8 groups of braces",
	} {
		b.fails("glob", m{"pattern": pattern}, why)
	}
}
