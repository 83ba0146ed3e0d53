package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/delegate"
	"dragoman/core/fork"
	"dragoman/core/workspace"
)

// disk is a workspace whose files a test can see.
type disk struct {
	files  map[string]string
	undone []core.Diff // as Undo was given them
	editor core.Editor
	during func() // while something is undone
}

func (*disk) Find(context.Context, []string, string, int) []workspace.FileName { return nil }

func (*disk) List(context.Context, []string, string, string, int) []workspace.FileName { return nil }

func (*disk) Read(context.Context, []string, workspace.Reference) core.Block { return core.Text{} }

// Keep implements workspace.Files. Nothing is found here.
func (d *disk) Keep([]string) workspace.Finder { return nil }

// Undo implements workspace.Files in the plainest way.
func (d *disk) Undo(_ context.Context, _ core.Meta, e core.Editor, changes []core.Diff) (list []core.RevertedFile) {
	d.undone, d.editor = changes, e
	if d.during != nil {
		d.during()
	}
	for _, c := range slices.Backward(changes) {
		r := core.RevertedFile{Path: c.Path}
		if d.files[c.Path] != c.New {
			r.Why = "it has changed since"
		} else {
			d.files[c.Path] = c.Old
		}
		list = append(list, r)
	}
	return list
}

// edits is a session whose prompts change files: "PATH TEXT", "child PATH TEXT" in a
// session of its own, "fail PATH TEXT" without success.
type edits struct {
	*core.Attachment
	t     *testing.T
	g     *core.Gateway
	disk  *disk
	heads []core.Pos // in front of each prompt
	prof  *core.Profile
	store *coretest.Memory
	gate  chan struct{} // what the prompt "wait" waits for
}

func editing(t *testing.T) *edits {
	e := &edits{t: t, disk: &disk{files: map[string]string{}}, store: coretest.NewMemory(), gate: make(chan struct{})}
	e.prof = &core.Profile{
		Agents:    []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: e.run}}},
		Subagents: []core.Agent{{Name: "explorer", Backend: &coretest.Backend{Run: e.run}}},
		Toolboxes: []core.Toolbox{box(e.tools)},
		Policy:    coretest.Always(core.Verdict{Effect: core.Allow}),
		Workspace: workspace.Contents{Files: e.disk},
	}
	e.g = core.New(core.Config{Store: e.store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return e.prof, nil })})
	s, err := e.g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	e.Attachment = s.Attach(core.Client{Name: "tester", Asks: true})
	return e
}

func (e *edits) run(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
	tool, args, _ := strings.Cut(turn.Prompt()[0].(core.Text).Text, " ")
	if tool == "wait" {
		select {
		case <-e.gate:
		case <-ctx.Done():
		}
		return core.StopEnd, nil
	}
	server := core.Native
	switch tool {
	case "child", "fail", "shown":
	case "claim":
		server = "other"
	default:
		tool, args = "edit", tool+" "+args
	}
	if _, err := turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: server, Tool: tool, Args: coretest.Args(args)}); err != nil {
		return "", err
	}
	return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: "done"})
}

func (e *edits) tools(h core.ToolHost) coretest.Tools {
	text := func(inv core.Invocation) (s string) {
		if err := json.Unmarshal(inv.Args, &s); err != nil {
			e.t.Error(err)
		}
		return s
	}
	diff := func(inv core.Invocation) core.Diff {
		path, to, _ := strings.Cut(text(inv), " ")
		return core.Diff{Path: path, Old: e.disk.files[path], New: to}
	}
	previews := func(_ context.Context, inv core.Invocation) (core.Preview, error) {
		return core.Preview{Content: []core.Block{diff(inv)}}, nil
	}
	return coretest.Tools{
		coretest.Tool{Is: core.Spec{Server: core.Native, Name: "edit"}, Previews: previews, Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
			d := diff(inv)
			e.disk.files[d.Path] = d.New
			return core.Result{}, nil
		}},
		coretest.Tool{Is: core.Spec{Server: core.Native, Name: "fail"}, Previews: previews, Runs: func(context.Context, core.Invocation) (core.Result, error) {
			return core.Result{}, errors.New("it is read-only")
		}},
		coretest.Tool{Is: core.Spec{Server: "other", Name: "claim"}, Previews: previews},
		coretest.Tool{Is: core.Spec{Server: core.Native, Name: "shown"}, Previews: func(_ context.Context, inv core.Invocation) (core.Preview, error) {
			d := diff(inv)
			d.Shown = true
			return core.Preview{Content: []core.Block{d}}, nil
		}},
		coretest.Tool{Is: core.Spec{Server: core.Native, Name: "child"}, Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			_, err := delegate.Run(ctx, h, delegate.Task{Agent: "explorer", Prompt: say(text(inv)).Blocks, Started: func(id core.SessionID) { inv.Show(core.Showing{Child: id}) }})
			return core.Result{}, err
		}},
	}
}

func (e *edits) say(texts ...string) {
	e.t.Helper()
	for _, text := range texts {
		e.heads = append(e.heads, e.Head())
		prompt(e.t, e.Attachment, say(text))
		synctest.Wait()
	}
}

// log is the session's effective log, what it tells of its turns.
func (e *edits) log() (lines []string) {
	for _, r := range effective(e.t, e.Attachment, e.Head()) {
		switch ev := r.Event.(type) {
		case core.TurnStarted:
			lines = append(lines, ev.Prompt[0].(core.Text).Text)
		case core.Reverted:
			for _, f := range ev.Files {
				lines = append(lines, strings.TrimSpace(fmt.Sprint("reverted ", f.Path, " ", f.Why, " by ", ev.By)))
			}
		case core.Truncated:
			lines = append(lines, "truncated")
		}
	}
	return lines
}

// What is taken back: files, messages, or both; what stays; and what the log and the
// client are told.
func TestRollback(t *testing.T) {
	for _, test := range []struct {
		name            string
		after           int // the prompt that it goes back to
		messages, files bool
		want            []string // the log
		disk            string
		told            int
	}{
		{"files", 1, false, true, []string{"/w/a one", "/w/b two", "fail /w/a bad", "child /w/c three", "/w/a four", "reverted /w/a  by tester", "reverted /w/c  by tester", "reverted /w/b  by tester"}, "/w/a=one /w/b= /w/c=", 3},
		{"messages", 1, true, false, []string{"/w/a one"}, "/w/a=four /w/b=two /w/c=three", 0},
		{"both", 1, true, true, []string{"/w/a one", "reverted /w/a  by tester", "reverted /w/c  by tester", "reverted /w/b  by tester"}, "/w/a=one /w/b= /w/c=", 3},
		{"all of it", 0, true, true, []string{"reverted /w/a  by tester", "reverted /w/c  by tester", "reverted /w/b  by tester", "reverted /w/a  by tester"}, "/w/a= /w/b= /w/c=", 4},
		{"the sub-session's", 3, false, true, []string{"/w/a one", "/w/b two", "fail /w/a bad", "child /w/c three", "/w/a four", "reverted /w/a  by tester", "reverted /w/c  by tester"}, "/w/a=one /w/b=two /w/c=", 2},
		{"nothing", 1, false, false, []string{"/w/a one", "/w/b two", "fail /w/a bad", "child /w/c three", "/w/a four"}, "/w/a=four /w/b=two /w/c=three", 0},
		{"no change", 5, true, true, []string{"/w/a one", "/w/b two", "fail /w/a bad", "child /w/c three", "/w/a four", "truncated"}, "/w/a=four /w/b=two /w/c=three", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := editing(t)
				defer closeGateway(t, e.g)
				e.say("/w/a one", "/w/b two", "fail /w/a bad", "child /w/c three", "/w/a four")
				e.heads = append(e.heads, e.Head())
				told, err := workspace.Rollback(t.Context(), e.g, e.Attachment, e.heads[test.after], test.messages, test.files)
				if err != nil || len(told) != test.told {
					t.Errorf("%v, %v", told, err)
				}
				wantLines(t, e.log(), test.want...)
				got := fmt.Sprintf("/w/a=%s /w/b=%s /w/c=%s", e.disk.files["/w/a"], e.disk.files["/w/b"], e.disk.files["/w/c"])
				if got != test.disk {
					t.Errorf("the files are %s, want %s", got, test.disk)
				}
				e.say("/w/d five") // it goes on
				if st := e.State(); st.Turn != "" || e.disk.files["/w/d"] != "five" {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// What another server, or the file of a session, says that it changed is not undone: that would write a
// file as it likes.
func TestRollbackOthersWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := editing(t)
		defer closeGateway(t, e.g)
		e.say("/w/a one", "claim /w/a two", "shown /w/a two")
		e.disk.files["/w/a"] = "two"
		told, err := workspace.Rollback(t.Context(), e.g, e.Attachment, e.heads[1], false, true)
		if err != nil || len(told) != 0 || e.disk.files["/w/a"] != "two" {
			t.Errorf("%v, %v, the file is %q", told, err, e.disk.files["/w/a"])
		}
	})
}

// What could not be undone is told, and recorded.
func TestRollbackFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := editing(t)
		defer closeGateway(t, e.g)
		e.say("/w/a one", "/w/b two")
		e.disk.files["/w/a"] = "mine"
		told, err := workspace.Rollback(t.Context(), e.g, e.Attachment, e.heads[0], false, true)
		want := []core.RevertedFile{{Path: "/w/b"}, {Path: "/w/a", Why: "it has changed since"}}
		if err != nil || !slices.Equal(told, want) {
			t.Errorf("%v, %v", told, err)
		}
		wantLines(t, e.log(), "/w/a one", "/w/b two", "reverted /w/b  by tester", "reverted /w/a it has changed since by tester")
	})
}

// It is refused while a turn runs, to those who only watch, and where there is
// nothing that could do it; then nothing is hidden either.
func TestRollbackRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := editing(t)
		defer closeGateway(t, e.g)
		e.say("/w/a one")
		observer := e.Attach(core.Client{Name: "o", Role: core.Observe})
		defer observer.Close()
		for _, both := range [][2]bool{{true, false}, {false, true}, {true, true}, {false, false}} {
			if _, err := workspace.Rollback(t.Context(), e.g, observer, e.heads[0], both[0], both[1]); !errors.Is(err, core.ErrObserver) {
				t.Errorf("an observer: %v", err)
			}
		}
		e.say("wait")
		for _, messages := range []bool{true, false} {
			if _, err := workspace.Rollback(t.Context(), e.g, e.Attachment, e.heads[0], messages, true); !errors.As(err, new(*core.BusyError)) {
				t.Errorf("while a turn runs: %v", err)
			}
		}
		close(e.gate)
		synctest.Wait()
		without := *e.prof
		without.Workspace = nil
		e.prof = &without
		if _, err := workspace.Rollback(t.Context(), e.g, e.Attachment, e.heads[0], true, true); err == nil {
			t.Error("nobody undid anything, and that was fine")
		}
		wantLines(t, e.log(), "/w/a one", "wait")
		if e.disk.files["/w/a"] != "one" || e.disk.undone != nil {
			t.Errorf("%v", e.disk)
		}
	})
}

// A turn that begins while a truncation is on its way is never hidden by it.
func TestTruncateWhileATurnBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := editing(t)
		e.say("/w/a one")
		closeGateway(t, e.g)

		// The session is claimed by the truncation and the prompt at once: the claim is
		// where both of them wait.
		claimed, waiting := make(chan struct{}), false
		e.store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if op == "claim" {
				waiting = true
				<-claimed
			}
			return nil
		}
		g := core.New(core.Config{Store: e.store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return e.prof, nil })})
		defer closeGateway(t, g)
		s, err := g.Open(t.Context(), core.Local, "s")
		if err != nil {
			t.Fatal(err)
		}
		e.Attachment = s.Attach(core.Client{Name: "tester"})
		done := make(chan error, 2) // one for each
		go func() { done <- e.Truncate(t.Context(), e.heads[0]) }()
		go func() {
			_, err := e.Prompt(t.Context(), say("wait"))
			done <- err
		}()
		synctest.Wait()
		if !waiting {
			t.Fatal("nobody claims the session")
		}
		close(claimed)
		for range 2 {
			if err := <-done; err != nil && !errors.As(err, new(*core.BusyError)) {
				t.Error(err)
			}
		}
		if got := e.log(); !slices.Contains(got, "wait") || e.State().Turn == "" {
			t.Errorf("the turn that runs is hidden:\n%s", strings.Join(got, "\n"))
		}
		close(e.gate)
	})
}

// The editor of the one who goes back is asked, and a file that was changed in a fork
// or by a session that is no more is left alone.
func TestRollbackOfADeletedChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := editing(t)
		defer closeGateway(t, e.g)
		e.say("child /w/c three", "/w/a one")
		var child core.SessionID
		for _, r := range effective(t, e.Attachment, e.Head()) {
			if c, ok := r.Event.(core.CallChanged); ok && c.Call.Child != "" {
				child = c.Call.Child
			}
		}
		if err := e.g.Delete(t.Context(), core.Local, child, core.Deletion{All: true}); err != nil || child == "" {
			t.Fatal(child, err)
		}
		ed := &recorder{}
		other := e.Attach(core.Client{Name: "editor", Editor: ed})
		defer other.Close()
		told, err := workspace.Rollback(t.Context(), e.g, other, e.heads[0], false, true)
		if err != nil || !slices.Equal(told, []core.RevertedFile{{Path: "/w/a"}}) || e.disk.files["/w/c"] != "three" {
			t.Errorf("%v, %v", told, err)
		}
		if e.disk.editor != ed {
			t.Errorf("editor %v", e.disk.editor)
		}
	})
}

// A session that names another one's as its call's child does not reach into it.
func TestRollbackOfAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := editing(t)
		defer closeGateway(t, e.g)
		e.say("child /w/c three")
		f, err := fork.Session(t.Context(), e.g, e.Attachment, e.Head(), "f") // the child is not the fork's
		if err != nil {
			t.Fatal(err)
		}
		a := f.Attach(core.Client{Name: "tester"})
		defer a.Close()
		if told, err := workspace.Rollback(t.Context(), e.g, a, core.Pos{}, false, true); err != nil || told != nil || e.disk.files["/w/c"] != "three" {
			t.Errorf("%v, %v", told, err)
		}
	})
}
