package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/ide"
)

// window is an editor with the answers of a test.
type window struct {
	caps  ide.Caps
	do    func(context.Context, ide.Call) (ide.Reply, error)
	calls []ide.Call
}

func (w *window) Lend(id core.SessionID) core.Editor { return ide.Lend(w, id) }

func (w *window) Caps() ide.Caps { return w.caps }

func (w *window) Do(ctx context.Context, c ide.Call) (ide.Reply, error) {
	w.calls = append(w.calls, c)
	return w.do(ctx, c)
}

// noAnswer never answers.
func noAnswer(ctx context.Context, _ ide.Call) (ide.Reply, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// names returns the tools that are offered in addition to those that always are.
func (b *bed) names() string {
	b.t.Helper()
	list, err := b.set.Tools(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, t := range list[len(b.set.tools):] {
		names = append(names, t.Spec().Name)
	}
	return strings.Join(names, " ")
}

func (b *bed) changed() bool { return isClosedOrReady(b.set.Changed()) }

func isClosedOrReady(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Tools are offered while the editor that makes them possible is connected.
func TestOffered(t *testing.T) {
	agents := []Subagent{{Name: "explorer", Description: "Looks."}}
	b := newBed(t, Options{Subagents: func(core.ToolHost) []Subagent { return agents }})
	check := func(want string, changed bool) {
		t.Helper()
		if got := b.changed(); got != changed {
			t.Errorf("changed: %v, want %v", got, changed)
		}
		if got := b.names(); got != want {
			t.Errorf("offered %q, want %q", got, want)
		}
		if b.changed() {
			t.Error("it was just listed")
		}
	}
	check("spawn_agent", false)
	w := &window{caps: ide.Caps{ReadFile: true}}
	b.editor = w
	check("spawn_agent", false)
	w.caps = ide.Caps{Diagnostics: true, References: true}
	check("editor_diagnostics editor_references spawn_agent", true)
	w.caps.Definition = true
	check("editor_diagnostics editor_definition editor_references spawn_agent", true)
	for _, tool := range b.set.optional {
		if tool.spec.Schema == nil || !tool.spec.ReadOnly {
			t.Errorf("%+v", tool.spec)
		}
	}
	agents = append(agents, Subagent{Name: "general", Description: "Does."})
	check("editor_diagnostics editor_definition editor_references spawn_agent", true)
	b.editor, agents = nil, nil
	check("", true)
	agents = []Subagent{{Name: "explorer"}}
	b.meta.Parent = "s0"
	check("", false)
}

func TestDiagnostics(t *testing.T) {
	b := newBed(t)
	a := b.put("a.go", "package a\n")
	out := b.put(filepath.Join(b.away, "out.go"), "")
	w := &window{caps: ide.Caps{Diagnostics: true}}
	items := []ide.Diagnostic{
		{Path: a, Severity: "warning", Line: 9, Column: 2, Message: "later"},
		{Path: a, Severity: "error", Line: 1, Column: 3, Message: "bad\nname \x1b[31m", Code: "E7", Source: "gopls"},
		{Path: out, Severity: "error", Line: 1, Column: 1, Message: "canary"},
		{Path: "relative\x00", Message: "canary"},
	}
	w.do = func(_ context.Context, c ide.Call) (ide.Reply, error) {
		return ide.Diagnostics{Items: items}, nil
	}
	b.editor = w
	got := b.ok("editor_diagnostics", m{})
	want := "a.go:1:3: error: bad⏎name ⟨U+001B⟩[31m [gopls E7]\na.go:9:2: warning: later\n\n[2 outside of the workspace are not shown]"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	b.ok("editor_diagnostics", m{"path": "a.go"})
	if len(w.calls) != 2 || w.calls[0] != (ide.Diagnose{Session: "s1"}) || w.calls[1] != (ide.Diagnose{Session: "s1", Path: a}) {
		t.Errorf("asked %+v", w.calls)
	}
	b.fails("editor_diagnostics", m{"path": out}, "outside of the workspace")
	b.fails("editor_diagnostics", m{"path": "absent.go"}, "there is no absent.go")
	items = nil
	if got := b.ok("editor_diagnostics", m{"path": "a.go"}); got != "the editor reports nothing in a.go" {
		t.Errorf("got %q", got)
	}
	for i := range 1000 {
		items = append(items, ide.Diagnostic{Path: a, Line: i + 1, Message: strings.Repeat("m", 10_000)})
	}
	if got := b.ok("editor_diagnostics", m{}); len(got) > maxBytes+2*maxMessage || !strings.Contains(got, "more]") {
		t.Errorf("%d bytes: %s", len(got), got[len(got)-60:])
	}
	w.do = func(context.Context, ide.Call) (ide.Reply, error) { return nil, errors.New("no server") }
	b.fails("editor_diagnostics", m{}, "ask the editor: no server")
	w.do = func(context.Context, ide.Call) (ide.Reply, error) { return ide.Done{}, nil }
	if got := b.ok("editor_diagnostics", m{}); got != "the editor reports nothing in the workspace" {
		t.Errorf("got %q", got)
	}
}

func TestLocate(t *testing.T) {
	b := newBed(t)
	a := b.put("a.go", "package a\n\nvar 𝔵x, föö, fo = 1, foo, fo // fo\r\n")
	out := b.put(filepath.Join(b.away, "lib.go"), "canary\n")
	w := &window{caps: ide.Caps{Definition: true, References: true}}
	var places ide.Places
	w.do = func(context.Context, ide.Call) (ide.Reply, error) { return places, nil }
	b.editor = w
	places.Items = []ide.Place{{Path: a, Line: 3, Column: 5}, {Path: out, Line: 1, Column: 1}, {Path: a, Line: 99, Column: 1}}
	got := b.ok("editor_definition", m{"path": "a.go", "line": 3, "symbol": "fo"})
	want := "a.go:3:5: var 𝔵x, föö, fo = 1, foo, fo // fo\n" + out + ":1:1 (outside of the workspace)\na.go:99:1: \n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if c := w.calls[0].(ide.Locate); c != (ide.Locate{Session: "s1", Path: a, Line: 3, Column: 15}) {
		t.Errorf("asked %+v", c)
	}
	b.ok("editor_references", m{"path": "a.go", "line": 3, "column": 7})
	if c := w.calls[1].(ide.Locate); c != (ide.Locate{Session: "s1", Path: a, Line: 3, Column: 7, References: true}) {
		t.Errorf("asked %+v", c)
	}
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"path": "a.go", "symbol": "x"}, `argument "line" is missing`},
		{m{"path": "a.go", "line": 1}, "is needed"},
		{m{"path": "a.go", "line": 1, "symbol": "a", "column": 1}, "is needed"},
		{m{"path": "a.go", "line": 4, "symbol": "nope"}, `line 4 has no "nope"`},
		{m{"path": "a.go", "line": 5, "symbol": "a"}, "has no line 5"},
		{m{"path": out, "line": 1, "column": 1}, "outside of the workspace"},
	} {
		b.fails("editor_definition", c.args, c.want)
	}
	places = ide.Places{Why: "gopls still starts"}
	if got := b.ok("editor_definition", m{"path": "a.go", "line": 1, "column": 1}); got != "the editor found nothing: gopls still starts" {
		t.Errorf("got %q", got)
	}
	places = ide.Places{}
	for range 1000 {
		places.Items = append(places.Items, ide.Place{Path: a, Line: 1, Column: 1})
	}
	if got := b.ok("editor_references", m{"path": "a.go", "line": 1, "column": 1}); !strings.HasSuffix(got, "\n\n[800 more]") || strings.Count(got, "package a") != maxItems {
		t.Errorf("got %q", got)
	}
	_, pv, err := b.preview("editor_references", m{"path": "a.go", "line": 3, "symbol": "fo"})
	if err != nil || pv.Title != "Find the references of `fo` in a.go line 3" || len(pv.Access) != 1 || pv.Access[0] != (core.Access{Op: core.OpRead, Path: a}) {
		t.Errorf("%+v %v", pv, err)
	}
}

// Editors that leave, or never answer, cost one call.
func TestEditorGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.put("a.go", "package a\n")
		w := &window{caps: ide.Caps{Diagnostics: true, Definition: true}, do: noAnswer}
		b.editor = w
		start := time.Now()
		b.fails("editor_diagnostics", m{}, "did not answer within 10s")
		if took := time.Since(start); took != ide.Wait {
			t.Errorf("it took %v", took)
		}
		tool := b.tool("editor_definition")
		inv := b.invocation(m{"path": "a.go", "line": 1, "column": 1})
		if _, err := tool.Preview(t.Context(), inv); err != nil {
			t.Fatal(err)
		}
		b.editor = nil
		res, err := tool.Run(t.Context(), inv)
		if err != nil || !res.Failed || !strings.Contains(said(res), "has left") {
			t.Errorf("%+v %v", res, err)
		}
		b.editor = w
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(core.ErrCanceled) })
		inv, _, _ = b.preview("editor_diagnostics", m{})
		if _, err := b.tool("editor_diagnostics").Run(ctx, inv); !errors.Is(err, core.ErrCanceled) {
			t.Errorf("a stopped turn: %v", err)
		}
	})
}

// screen is an editor's terminal.
type screen struct {
	window

	log  []string // the calls
	open func(context.Context) (ide.Reply, error)
	end  func(context.Context) (ide.Reply, error)
	peek ide.TerminalOutput
	last ide.OpenTerminal
}

func newScreen() *screen {
	s := &screen{}
	s.caps = ide.Caps{Terminal: true}
	s.open = func(context.Context) (ide.Reply, error) { return ide.TerminalOpened{ID: "term-1"}, nil }
	s.do = func(ctx context.Context, c ide.Call) (ide.Reply, error) {
		switch c := c.(type) {
		case ide.OpenTerminal:
			s.log, s.last = append(s.log, "open"), c
			return s.open(ctx)
		case ide.AwaitTerminal:
			s.log = append(s.log, "await "+c.ID)
			return s.end(ctx)
		case ide.PeekTerminal:
			s.log = append(s.log, "peek "+c.ID)
			return s.peek, nil
		case ide.CloseTerminal:
			s.log = append(s.log, "close "+c.ID)
			return ide.Done{}, nil
		}
		return nil, fmt.Errorf("unexpected %T", c)
	}
	return s
}

func TestTerminal(t *testing.T) {
	exit := func(n int) *int { return &n }
	for _, c := range []struct {
		name   string
		end    func(context.Context) (ide.Reply, error)
		want   string
		failed bool
		result string
		log    string
	}{
		{
			"ends well", func(context.Context) (ide.Reply, error) {
				return ide.TerminalOutput{Text: "\x1b[1;32mok\x1b[0m\r\n\x1b]0;title\x07done", Ended: true, Exit: exit(0)}, nil
			},
			"ok\ndone\nexit status 0", false, `"exit_code":0,"timed_out":false`, "open, await term-1, close term-1",
		},
		{
			"ends badly", func(context.Context) (ide.Reply, error) {
				return ide.TerminalOutput{Text: "no\n", Truncated: true, Ended: true, Exit: exit(2)}, nil
			},
			"[the beginning is missing]\nno\nexit status 2", true, `"exit_code":2`, "open, await term-1, close term-1",
		},
		{
			"by a signal", func(context.Context) (ide.Reply, error) {
				return ide.TerminalOutput{Ended: true, Signal: "SIGTERM"}, nil
			},
			"ended by signal: SIGTERM", true, `"signal":"SIGTERM"`, "open, await term-1, close term-1",
		},
		{"takes too long", unanswered, "so far\ntimed out after 30s and was stopped", true, `"timed_out":true`, "open, await term-1, peek term-1, close term-1"},
		{
			"is lost", func(context.Context) (ide.Reply, error) { return nil, errors.New("it was closed") },
			"so far\nthe editor's terminal failed: it was closed; the command may have gone on", true, "", "open, await term-1, peek term-1, close term-1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				s := newScreen()
				s.end, s.peek = c.end, ide.TerminalOutput{Text: "so far\n"}
				b.editor = s
				inv, _, err := b.preview("shell_command", m{"command": "echo $HOME", "timeout_seconds": 30})
				if err != nil {
					t.Fatal(err)
				}
				var shown []core.Showing
				inv.Show = func(sh core.Showing) { shown = append(shown, sh) }
				res, err := b.tool("shell_command").Run(t.Context(), inv)
				if err != nil || said(res) != c.want || res.Failed != c.failed || !strings.Contains(string(res.Structured), c.result) {
					t.Errorf("%q failed %v %s %v", said(res), res.Failed, res.Structured, err)
				}
				if got := strings.Join(s.log, ", "); got != c.log {
					t.Errorf("calls %s", got)
				}
				if len(shown) != 1 || len(shown[0].Content) != 1 || shown[0].Content[0] != (core.Terminal{ID: "term-1"}) {
					t.Errorf("shown %+v", shown)
				}
				if s.last.Session != "s1" || s.last.Cwd != b.dir || s.last.Command != b.set.shell.Path || s.last.Args[len(s.last.Args)-1] != "echo $HOME" ||
					s.last.Env["PAGER"] != "cat" || s.last.Limit != terminalKeeps {
					t.Errorf("opened %+v", s.last)
				}
				if term, set := s.last.Env["TERM"]; set {
					t.Errorf("TERM=%s in a terminal of the user's own", term)
				}
			})
		})
	}
}

func unanswered(ctx context.Context) (ide.Reply, error) { return noAnswer(ctx, nil) }

// A command that the editor cannot run is run here; a command that it may have run is
// not.
func TestTerminalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := newScreen()
		b.editor = s
		s.open = unanswered
		b.fails("shell_command", m{"command": "echo here > f"}, "did not say within 10s")
		b.fails("read_file", m{"path": "f"}, "there is no f")
		// It opened one, but the turn was stopped meanwhile.
		s.log, s.open = nil, func(ctx context.Context) (ide.Reply, error) {
			<-time.After(2 * time.Second) // of the bubble's clock
			return ide.TerminalOpened{ID: "late"}, nil
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(core.ErrCanceled) })
		inv, _, _ := b.preview("shell_command", m{"command": "echo here > f"})
		if _, err := b.tool("shell_command").Run(ctx, inv); !errors.Is(err, core.ErrCanceled) {
			t.Errorf("a stopped turn: %v", err)
		}
		if got := strings.Join(s.log, ", "); got != "open, close late" {
			t.Errorf("calls %s", got)
		}
		// The turn is stopped while the command runs: the terminal is closed.
		s.log, s.end, s.peek = nil, unanswered, ide.TerminalOutput{Text: "so far\n"}
		s.open = func(context.Context) (ide.Reply, error) { return ide.TerminalOpened{ID: "t"}, nil }
		ctx, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(core.ErrCanceled) })
		inv, _, _ = b.preview("shell_command", m{"command": "echo here > f"})
		if res, err := b.tool("shell_command").Run(ctx, inv); !errors.Is(err, core.ErrCanceled) || said(res) != "so far" {
			t.Errorf("a stopped turn: %q %v", said(res), err)
		}
		if got := strings.Join(s.log, ", "); got != "open, await t, peek t, close t" {
			t.Errorf("calls %s", got)
		}
		b.fails("read_file", m{"path": "f"}, "there is no f")
	})
}

func TestTerminalFallsBack(t *testing.T) {
	b := newBed(t)
	if b.set.shell.Path == "" {
		t.Skip("there is no shell")
	}
	s := newScreen()
	b.editor = s
	s.open = func(context.Context) (ide.Reply, error) {
		return nil, &ide.Lacks{Why: "does not know terminal/create"}
	}
	out := b.ok("shell_command", m{"command": "echo here"})
	if out != "here\nexit status 0\n[the editor could not open a terminal, so the command ran without one: the editor does not know terminal/create]" || len(s.log) != 1 {
		t.Errorf("%q, calls %v", out, s.log)
	}
	// A command that the editor refuses is not run here.
	for want, open := range map[string]func(context.Context) (ide.Reply, error){
		"run it: not allowed": func(context.Context) (ide.Reply, error) { return nil, errors.New("run it: not allowed") },
		"with no terminal":    func(context.Context) (ide.Reply, error) { return ide.Done{}, nil },
	} {
		s.log, s.open = nil, open
		b.fails("shell_command", m{"command": "echo here > ran"}, want)
		b.fails("read_file", m{"path": "ran"}, "there is no ran")
	}
	// Jobs run here.
	s.log = nil
	if out := b.ok("shell_command", m{"command": "true", "background": true}); !strings.Contains(out, "started in the background") || len(s.log) > 0 {
		t.Errorf("%q, calls %v", out, s.log)
	}
}
