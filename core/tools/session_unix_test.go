//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child/childtest"
	"dragoman/core/coretest"
	"dragoman/core/ide"
	"dragoman/core/workspace"
)

// studio is a gateway whose agents call the tools in their prompts: "TOOL {…}", a line
// for each.
type studio struct {
	board   *board.Board
	t       *testing.T
	g       *core.Gateway
	att     *core.Attachment
	dir     string
	offered []string // of the last turn
	results []string
}

func newStudio(t *testing.T) *studio {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st := &studio{t: t, dir: dir, board: board.New()}
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: st.run}}},
		Subagents: []core.Agent{{Name: "writer", Backend: &coretest.Backend{Run: st.run}}},
		Toolboxes: []core.Toolbox{New(Options{Board: st.board, Subagents: func(core.ToolHost) []Subagent { return []Subagent{{Name: "writer"}} }})},
		Policy:    coretest.Always(core.Verdict{Effect: core.Allow}),
		Workspace: workspace.Contents{Files: NewFiles(FilesOptions{})},
	}
	st.g = core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	t.Cleanup(func() { _ = st.g.Close(context.Background()) })
	s, err := st.g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: dir, Roots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	st.att = s.Attach(core.Client{Name: "tester"})
	return st
}

func (st *studio) run(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
	specs, err := turn.Tools(ctx)
	if err != nil {
		return core.StopError, err
	}
	if turn.Meta().Parent == "" {
		st.offered = nil
		for _, s := range specs {
			st.offered = append(st.offered, s.Name)
		}
	}
	for line := range strings.Lines(turn.Prompt()[0].(core.Text).Text) {
		name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		res, err := turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: name, Args: json.RawMessage(args)})
		if err != nil {
			return core.StopError, err
		}
		if res.Failed {
			st.t.Errorf("%s: %s", line, said(res))
		}
		if err := turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: name + " is done"}); err != nil {
			return core.StopError, err
		}
		if turn.Meta().Parent == "" {
			st.results = append(st.results, said(res))
		}
	}
	return core.StopEnd, nil
}

// prompt runs a turn to its end.
func (st *studio) prompt(text string) {
	st.t.Helper()
	at := st.att.Head()
	id, err := st.att.Prompt(st.t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: text}}})
	if err != nil {
		st.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(st.t.Context(), time.Minute)
	defer stop()
	r := st.att.Read(at)
	defer r.Close()
	for {
		recs, err := r.Next(ctx)
		if err != nil {
			st.t.Fatal(err)
		}
		for _, rec := range recs {
			if e, ok := rec.Event.(core.TurnEnded); ok && e.Turn == id {
				if e.Stop != core.StopEnd {
					st.t.Fatalf("%s: %s", e.Stop, e.Err)
				}
				return
			}
		}
	}
}

func (st *studio) file(name string) string {
	data, err := os.ReadFile(filepath.Join(st.dir, name))
	if err != nil {
		return "-"
	}
	return string(data)
}

// In a real session, changes by calls are undone with them, including a subagent's.
func TestSessionUndo(t *testing.T) {
	st := newStudio(t)
	if err := os.WriteFile(filepath.Join(st.dir, "a.txt"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	st.prompt(`edit_file {"path": "a.txt", "old": "one", "new": "two"}`)
	at := st.att.Head()
	st.prompt(`edit_file {"path": "a.txt", "old": "two", "new": "three"}
move_file {"from": "a.txt", "to": "c.txt"}
move_file {"from": "c.txt", "to": "a.txt"}
spawn_agent {"agent": "writer", "task": "write_file {\"path\": \"b.txt\", \"content\": \"b\"}\nedit_file {\"path\": \"a.txt\", \"old\": \"three\", \"new\": \"four\"}"}`)
	if st.file("a.txt") != "four" || st.file("b.txt") != "b" || st.results[len(st.results)-1] != "edit_file is done" {
		t.Fatalf("a %s, b %s, said %v", st.file("a.txt"), st.file("b.txt"), st.results)
	}
	list, err := workspace.Rollback(t.Context(), st.g, st.att, at, true, true)
	if err != nil || len(list) != 3 || list[0].Why+list[1].Why+list[2].Why != "" { // c.txt is the temporary place of the moved file
		t.Errorf("%+v %v", list, err)
	}
	if st.file("a.txt") != "two" || st.file("b.txt") != "-" {
		t.Errorf("a %s, b %s", st.file("a.txt"), st.file("b.txt"))
	}
}

// A session's turns have the tools of the connected editor, and its jobs end with it.
func TestSessionTools(t *testing.T) {
	st := newStudio(t)
	st.prompt("directory_tree {}")
	if got := st.offered[len(st.offered)-1]; got != "spawn_agent" || strings.Contains(strings.Join(st.offered, " "), "editor_") {
		t.Errorf("offered %v", st.offered)
	}
	s, err := st.g.Open(t.Context(), core.Local, "s")
	if err != nil {
		t.Fatal(err)
	}
	w := &window{caps: ide.Caps{Diagnostics: true}, do: func(context.Context, ide.Call) (ide.Reply, error) { return ide.Diagnostics{}, nil }}
	second := s.Attach(core.Client{Name: "editor", Editor: w})
	st.prompt("editor_diagnostics {}")
	if got := strings.Join(st.offered, " "); !strings.HasSuffix(got, " editor_diagnostics spawn_agent") {
		t.Errorf("offered %s", got)
	}
	second.Close()
	odd := childtest.OddSleep()
	st.prompt(`shell_command {"command": "sleep ` + odd + `; true", "background": true}
background_jobs {"action": "list"}`)
	if got := strings.Join(st.offered, " "); strings.Contains(got, "editor_") {
		t.Errorf("offered %s", got)
	}
	if got := st.results[len(st.results)-1]; !strings.Contains(got, ": running: sleep "+odd) {
		t.Errorf("jobs %q", got)
	}
	jobs := func() (list []board.Job) {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		posts, _, _ := st.board.Next(ctx, 0)
		for _, p := range posts {
			if j, ok := p.Item.(board.Job); ok && p.Topic.Principal == core.Local {
				list = append(list, j)
			}
		}
		return list
	}
	if list := jobs(); len(list) != 1 || list[0].Info.Session != "s" || list[0].Info.Status != board.JobRunning {
		t.Errorf("posted %+v", list)
	}
	childtest.Soon(t, "the job runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
	if err := st.g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if left := childtest.Asleep(t, odd); len(left) > 0 || len(jobs()) > 0 {
		t.Errorf("left: %v, posted %+v", left, jobs())
	}
}
