package core_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// company is a session with a hanging agent and the host of its tools.
type company struct {
	g *core.Gateway
	s *core.Session
	h core.ToolHost
}

func newCompany(t *testing.T) *company {
	t.Helper()
	c := &company{}
	box := &peddler{hosts: func(h core.ToolHost) { c.h = h }}
	backend := &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		if _, err := turn.Tools(ctx); err != nil {
			return "", err
		}
		if blocks := turn.Prompt(); blocks[0] == (core.Text{Text: "hang"}) {
			<-ctx.Done()
		}
		return core.StopEnd, ctx.Err()
	}}
	c.g = core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
		return &core.Profile{
			Agents: []core.Agent{{Name: "code", Backend: backend}}, Toolboxes: []core.Toolbox{box}, Policy: coretest.Always(core.Verdict{Effect: core.Allow}),
		}, nil
	})})
	s, err := c.g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	c.s = s
	return c
}

// notices lists the notices in the log.
func (c *company) notices(t *testing.T, a *core.Attachment) (list []string) {
	t.Helper()
	for r, err := range a.Records(t.Context(), core.Pos{}, a.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := r.Event.(core.Notice); ok {
			list = append(list, n.Text)
		}
	}
	return list
}

// Files come from the editor of the client that has prompted, and when it has left from that of another
// client of the same principal, if the file is in its folders.
func TestTheEditorOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompany(t)
		defer closeGateway(t, c.g)
		zeds, emacss, others, strangers := &recorder{}, &recorder{}, &recorder{}, &recorder{}
		zed := c.s.Attach(core.Client{Name: "Zed", Editor: zeds})
		prompt(t, zed, say("go"))
		synctest.Wait()
		emacs := c.s.Attach(core.Client{Name: "Emacs", Editor: emacss})
		defer c.s.Attach(core.Client{Name: "A stranger", Principal: "other", Editor: strangers}).Close()
		defer c.s.Attach(core.Client{Name: "Another", Editor: others, Folders: func() []string { return []string{"/other"} }}).Close()
		defer c.s.Attach(core.Client{Name: "A watcher", Role: core.Observe, Editor: strangers}).Close()
		want := func(path string, want core.Editor) {
			t.Helper()
			if got := c.h.Editor(path); got != want {
				t.Errorf("%q: %p, want %p", path, got, want)
			}
		}
		want("/w/a", zeds)
		want("/elsewhere/a", zeds)
		zed.Close()
		want("/w/a", emacss)
		want("", emacss)
		want("/w", emacss)
		want("/www/a", nil)
		want("/other/a", others)
		emacs.Close()
		want("/w/a", nil)
		want("/other/a", others)
	})
}

// When the client that has prompted leaves during its turn, the others learn where files come from now.
func TestAClientThatLeavesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompany(t)
		defer closeGateway(t, c.g)
		look := c.s.Attach(core.Client{Name: "look", Role: core.Observe})
		defer look.Close()
		for _, step := range []struct{ other, want string }{
			{"", "Zed has left. Its turn goes on: files come from the disk, and commands run here."},
			{"Emacs", "Zed has left. Its turn goes on: files come from Emacs."},
			{"Zed", ""}, // it is attached anew
		} {
			before := len(c.notices(t, look))
			zed := c.s.Attach(core.Client{Name: "Zed", Editor: &recorder{}})
			id := prompt(t, zed, say("hang"))
			synctest.Wait()
			by := c.s.Attach(core.Client{Name: "no editor"})
			if step.other != "" {
				by = c.s.Attach(core.Client{Name: step.other, Editor: &recorder{}})
			}
			zed.Close()
			zed.Close()
			if got := strings.Join(c.notices(t, look)[before:], " "); got != step.want {
				t.Errorf("with %q: %q", step.other, got)
			}
			if err := by.Cancel(t.Context(), id, nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			by.Close() // no turn runs, and it has prompted none
			if got := c.notices(t, look)[before:]; len(got) > 1 {
				t.Errorf("with %q: %q", step.other, got)
			}
		}
	})
}

// The other clients' editors are asked about a file that was changed: not the one that served it, nor one
// of another principal, nor one with other folders.
func TestUnsavedChangesAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompany(t)
		defer closeGateway(t, c.g)
		zed := c.s.Attach(core.Client{Name: "Zed", Editor: &recorder{}})
		defer zed.Close()
		prompt(t, zed, say("go"))
		synctest.Wait()
		emacss := &recorder{}
		for _, client := range []core.Client{
			{Name: "Emacs", Editor: emacss},
			{Name: "A stranger", Principal: "other", Editor: &recorder{}},
			{Name: "Another", Editor: &recorder{}, Folders: func() []string { return []string{"/other"} }},
		} {
			defer c.s.Attach(client).Close()
		}
		var asked []core.Editor
		for _, unsaved := range []bool{false, true} {
			c.h.Changed(t.Context(), "/w/notes.txt", func(e core.Editor) bool { asked = append(asked, e); return unsaved })
		}
		if len(asked) != 2 || asked[0] != emacss || asked[1] != emacss {
			t.Errorf("asked %d editors", len(asked))
		}
		wantLines(t, c.notices(t, zed), "Emacs has unsaved changes in /w/notes.txt, which the agent has changed on the disk.")
	})
}

// A session is deleted only if no other client could miss it, and one may find that out before.
func TestDeletionAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompany(t)
		defer closeGateway(t, c.g)
		zed := c.s.Attach(core.Client{ID: "z", Name: "Zed", Visible: true})
		emacs := c.s.Attach(core.Client{ID: "e", Name: "Emacs", Visible: true, Role: core.Observe})
		hidden := c.s.Attach(core.Client{Name: "subscription", Role: core.Observe})
		defer hidden.Close()
		for by, want := range map[string]string{"z": "Emacs", "e": "Zed", "": "Emacs, Zed"} {
			err := c.g.Delete(t.Context(), core.Local, "s", core.Deletion{By: by})
			if err == nil || err.Error() != "session s was not deleted: others are attached to it ("+want+")" {
				t.Errorf("by %q: %v", by, err)
			}
		}
		emacs.Close()
		if err := c.g.Delete(t.Context(), core.Local, "s", core.Deletion{By: "z", Check: true}); err != nil {
			t.Error(err)
		}
		if open, err := c.g.Has(t.Context(), core.Local, "s"); err != nil || !open {
			t.Errorf("a check has deleted it: %v", err)
		}
		if err := c.g.Delete(t.Context(), core.Local, "s", core.Deletion{All: true}); err != nil {
			t.Error(err)
		}
		if err := zed.Follow(t.Context()); err == nil {
			t.Error("a deleted session can be followed")
		}
	})
}
