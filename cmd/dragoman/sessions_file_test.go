package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/jsonl"
)

// A session is exported, imported in another data folder, and continued there.
func TestSessionsAreExportedAndImported(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.well(t, "write \"a b.txt\": x\ny\n", "chat")
	id := randomID.FindString(p.well(t, "", "sessions", "list"))
	if o := p.run(t, "", "sessions", "export", id[:8]); o.code != program.ExitOK || !strings.Contains(o.errs, id+".dragoman") || o.out != "" {
		t.Fatalf("%+v", o)
	}
	file := filepath.Join(p.work, id+".dragoman")
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if o := p.run(t, "", "sessions", "export", id); o.code != program.ExitFailed || !strings.Contains(o.errs, "--force") {
		t.Errorf("a second time: %+v", o)
	}
	p.well(t, "", "sessions", "export", id, "--force")
	whole := p.well(t, "", "sessions", "export", id, "--output", "-")

	if o := p.run(t, "", "sessions", "import", file); o.code != program.ExitFailed || !strings.Contains(o.errs, "--as-copy") {
		t.Errorf("over itself: %+v", o)
	}
	if got := p.well(t, "", "sessions", "import", "--as-copy", "--dry-run", file); !strings.Contains(got, "can be imported") {
		t.Errorf("%s", got)
	}
	if got := p.well(t, "", "sessions", "list"); strings.Count(got, "\n") != 2 {
		t.Errorf("a check has imported it:\n%s", got)
	}
	folder := t.TempDir()
	got := p.well(t, "", "sessions", "import", "--id", "copy", "--folder", folder, file)
	if !strings.HasPrefix(got, "Session copy was imported: ") || !strings.Contains(got, "Folder: "+folder+"\n") {
		t.Errorf("%s", got)
	}
	other := t.TempDir()
	p.well(t, whole, "--data-dir", other, "sessions", "import", "-")
	for _, o := range [][]string{{"--data-dir", other, "sessions", "show", id}, {"sessions", "show", "copy"}} {
		if got := p.well(t, "", o...); !strings.Contains(got, "a b.txt") {
			t.Errorf("%s", got)
		}
	}
	if got := p.well(t, "", "--data-dir", other, "run", "--session", id, "hello"); got == "" {
		t.Error("it was not continued")
	}
	if o := p.run(t, whole[:len(whole)/2], "--data-dir", t.TempDir(), "sessions", "import", "-"); o.code != program.ExitFailed || !strings.Contains(o.errs, "damaged") {
		t.Errorf("half a file: %+v", o)
	}
	if o := p.run(t, "", "sessions", "import", "--as-copy", "/dev/zero"); o.code != program.ExitFailed || !strings.Contains(o.errs, "regular file") {
		t.Errorf("a device: %+v", o)
	}
}

// A session that was in a whole home folder is imported only into a folder that its user names.
func TestWideFoldersAreNamed(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	s := jsonl.New(p.data)
	j, err := s.Create(t.Context(), core.Meta{ID: "wide", Principal: core.Local, Cwd: "/", Roots: []string{"/"}, Created: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	p.well(t, "", "sessions", "export", "wide")
	if o := p.run(t, "", "sessions", "import", "--as-copy", "wide.dragoman"); o.code != program.ExitFailed || !strings.Contains(o.errs, "--folder") {
		t.Errorf("%+v", o)
	}
	p.well(t, "", "sessions", "import", "--as-copy", "--folder", ".", "wide.dragoman")
}

func TestSessionsAreArchived(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.well(t, "", "run", "hello")
	id := randomID.FindString(p.well(t, "", "sessions", "list"))
	list := func(flags ...string) bool {
		t.Helper()
		got := p.well(t, "", append([]string{"sessions", "list"}, flags...)...)
		return strings.Contains(got, id)
	}
	if got := p.well(t, "", "sessions", "archive", id[:8]); got != "Session "+id+" is archived.\n" {
		t.Errorf("%q", got)
	}
	if list() || list("--json") || !list("--archived") || !list("--all", "--json") {
		t.Error("the lists are wrong after it was archived")
	}
	if got := p.well(t, "", "sessions", "list"); got != "All sessions are archived; --all lists them.\n" {
		t.Errorf("%q", got)
	}
	if o := p.run(t, "", "run", "--session", "latest", "hello"); o.code == program.ExitOK {
		t.Error("the latest session is one that is archived")
	}
	p.well(t, "", "sessions", "archive", "--restore", id)
	if !list() || list("--archived") {
		t.Error("the lists are wrong after it was restored")
	}

	s := jsonl.New(p.data) // another process
	j, err := s.Open(t.Context(), core.Local, core.SessionID(id))
	if err == nil {
		_, err = j.Claim(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if o := p.run(t, "", "sessions", "archive", id); o.code != program.ExitFailed || !strings.Contains(o.errs, "in use by another process") {
		t.Errorf("%+v", o)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Old sessions are listed, by the doctor as well, and removed by hand.
func TestSessionsArePruned(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	if got := p.well(t, "", "sessions", "prune"); !strings.Contains(got, "Sessions stay") {
		t.Errorf("%s", got)
	}
	p.config(t, "sessions: {archive_after: 30d, delete_after: 90d}\n")
	if got := p.well(t, "", "sessions", "prune"); got != "No session is old enough.\n" {
		t.Errorf("%s", got)
	}
	s := jsonl.New(p.data)
	for id, days := range map[core.SessionID]int{"gone": 95, "hidden": 35, "new": 1} {
		j, err := s.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: p.work, Created: time.Now().AddDate(0, 0, -days)})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-3 * time.Hour)
	err := filepath.WalkDir(p.data, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(path, long, long)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	dry := p.well(t, "", "sessions", "prune", "--dry-run")
	if !strings.HasPrefix(dry, "gone: would be deleted, used ") || !strings.Contains(dry, "\nhidden: would be archived, used ") || strings.Contains(dry, "new") {
		t.Errorf("%s", dry)
	}
	o := p.run(t, "", "doctor")
	for _, want := range []string{"sessions are archived after 30 d without use; as old by now: 1", "sessions are deleted after 90 d without use; as old by now: 1", "next is new, which will be archived on "} {
		if !strings.Contains(o.out, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, o.out)
		}
	}
	got := p.well(t, "", "sessions", "prune")
	if !strings.Contains(got, "gone: deleted") || !strings.Contains(got, "hidden: archived") {
		t.Errorf("%s", got)
	}
	var left []string
	for line := range strings.Lines(p.well(t, "", "sessions", "list", "--all", "--json")) {
		var s struct {
			ID       string
			Archived bool
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Archived {
			s.ID += " (archived)"
		}
		left = append(left, s.ID)
	}
	if text := strings.Join(left, ", "); text != "hidden (archived), new" && text != "new, hidden (archived)" {
		t.Errorf("left: %s", text)
	}
}
