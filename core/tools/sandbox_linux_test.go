package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/child/childtest"
	"dragoman/core/sandbox"
)

// boxed is a bed whose commands are confined at a level.
func boxed(t testing.TB, level child.Level) *bed {
	t.Helper()
	data := t.TempDir()
	var b *bed
	b = newBed(t, Options{
		Sandboxes: sandbox.NewSessions(sandbox.New(), filepath.Join(data, "sandbox")),
		Workspace: func(core.ToolHost) sandbox.Workspace {
			return sandbox.Workspace{Roots: b.meta.Roots, Home: b.away, Env: func(string) string { return "" }, Hidden: []string{data}, Most: level}
		},
	})
	return b
}

// The file tools see the /tmp of the commands.
func TestTmpOfTheSandbox(t *testing.T) {
	b := boxed(t, child.Full)
	said := func(name string, args m) string {
		t.Helper()
		out, err := b.run(name, args)
		if err != nil {
			t.Fatalf("%s %v: %v", name, args, err)
		}
		return out
	}
	said("shell_command", m{"command": "mkdir /tmp/dir && echo made inside > /tmp/dir/file && ln -s /etc/hostname /tmp/link"})
	if got := said("read_file", m{"path": "/tmp/dir/file"}); !strings.Contains(got, "made inside") {
		t.Errorf("read: %s", got)
	}
	if got := said("grep", m{"pattern": "made", "path": "/tmp"}); !strings.Contains(got, "/tmp/dir/file") {
		t.Errorf("grep: %s", got)
	}
	said("write_file", m{"path": "/tmp/dir/other", "content": "made outside\n"})
	if got := said("shell_command", m{"command": "cat /tmp/dir/other"}); !strings.Contains(got, "made outside") {
		t.Errorf("cat: %s", got)
	}
	_, pv, err := b.preview("read_file", m{"path": "/tmp/dir/file"})
	if err != nil || len(pv.Access) != 1 || pv.Access[0].Outside || len(pv.Locations) != 1 || pv.Locations[0].Path != "/tmp/dir/file" {
		t.Errorf("%+v %v", pv, err)
	}
	if _, pv, err = b.preview("read_file", m{"path": "/tmp/link"}); err != nil || !pv.Access[0].Outside {
		t.Errorf("a link out of /tmp: %+v %v", pv, err)
	}
	if _, pv, err = b.preview("write_file", m{"path": filepath.Join(b.dir, "x"), "content": "x"}); err != nil || pv.Locations[0].Path != filepath.Join(b.dir, "x") {
		t.Errorf("the workspace is below /tmp: %+v %v", pv, err)
	}
	if _, err := os.Lstat("/tmp/dir/file"); err == nil {
		t.Error("it is in the /tmp of the system")
	}
}

// A change of what decides what runs later is undone. A person can have it made after all, and the
// model hears of it.
func TestChangesSetAside(t *testing.T) {
	for _, level := range []child.Level{child.Full, child.Files, child.None} {
		b := boxed(t, level)
		b.answer(core.Reply{Outcome: core.OutcomeAnswered, Option: "keep"})
		out, err := b.run("shell_command", m{"command": "mkdir .vscode && echo evil > .vscode/tasks.json"})
		if err != nil || !strings.Contains(out, ".vscode/tasks.json appeared") {
			t.Errorf("%s: %s %v", level, out, err)
		}
		childtest.Soon(t, "it was made after all", func() bool {
			text, err := os.ReadFile(filepath.Join(b.dir, ".vscode/tasks.json"))
			return err == nil && string(text) == "evil\n"
		})
		b.answer(core.Reply{Outcome: core.OutcomeAlone})
		if out, err = b.run("shell_command", m{"command": "echo '{}' > .mcp.json"}); err != nil || !strings.Contains(out, ".mcp.json appeared") {
			t.Errorf("%s: %s %v", level, out, err)
		}
		if err := b.set.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Join(b.dir, ".mcp.json")); err == nil {
			t.Errorf("%s: .mcp.json is there although nobody said so", level)
		}
		asked := b.questions()
		for _, a := range asked {
			if a.Kind != core.AskConsent || !strings.Contains(a.Text, "appeared") {
				t.Errorf("%s: asked %+v", level, a)
			}
		}
		if len(asked) != 2 {
			t.Errorf("%s: asked %d times", level, len(asked))
		}
	}
}

// A person, and nothing else, can have a command that the sandbox has stopped run once without it.
func TestOnceOutside(t *testing.T) {
	b := boxed(t, child.Full)
	file := filepath.Join(b.away, "made")
	args := m{"command": "echo made > " + file}
	for _, c := range []struct {
		reply     core.Reply
		approvals core.Approvals
		asked     int
		made      bool
	}{
		{core.Reply{Outcome: core.OutcomeAnswered, Option: "again"}, core.ApprovalsAuto, 0, false},
		{core.Reply{Outcome: core.OutcomeAlone}, "", 1, false},
		{core.Reply{Outcome: core.OutcomeAnswered, Option: "no"}, "", 1, false},
		{core.Reply{Outcome: core.OutcomeDeclined, Option: "again"}, "", 1, false},
		{core.Reply{Outcome: core.OutcomeAnswered, Option: "again"}, "", 1, true},
	} {
		b.answer(c.reply)
		inv, pv, err := b.preview("shell_command", args)
		if err != nil || pv.Access[0].Sandbox != "full" {
			t.Fatalf("%+v %v", pv.Access, err)
		}
		inv.Origin.Approvals = c.approvals
		res, err := b.tool("shell_command").Run(t.Context(), inv)
		if err != nil {
			t.Fatal(err)
		}
		if said := said(res); !c.made && !strings.Contains(said, "probably the sandbox") || c.made && (res.Failed || !strings.Contains(said, "without the sandbox")) {
			t.Errorf("%+v: %s", c, said)
		}
		if asked := b.questions(); len(asked) != c.asked || c.asked > 0 && !strings.Contains(asked[0].Text, "echo made > ") {
			t.Errorf("%+v: asked %+v", c, asked)
		}
		if _, err := os.Lstat(file); (err == nil) != c.made {
			t.Errorf("%+v: the file is there: %v", c, err == nil)
		}
	}
}
