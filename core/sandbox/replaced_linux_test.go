package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core/child"
)

// replace puts a new file in the place of one, as editors and git do.
func (p *place) replace(name, text string) {
	p.t.Helper()
	p.write(name+".new", text)
	if err := os.Rename(filepath.Join(p.root, name+".new"), filepath.Join(p.root, name)); err != nil {
		p.t.Fatal(err)
	}
}

// What a person replaces while a session goes on is protected and hidden as it was before: the system
// takes a mount away with the file that it is on.
func TestReplacedFiles(t *testing.T) {
	levels(t)
	secret := filepath.Join("conf", "secret")
	p := newPlace(t, child.Full, func(w *Workspace) {
		w.Hidden = append(w.Hidden, filepath.Join(w.Roots[0], ".env"), filepath.Join(w.Roots[0], "later"))
		w.Denied = func(path string) bool { return filepath.Base(path) == "secret" }
	})
	for _, name := range []string{"AGENTS.md", "sub/AGENTS.md", ".git/config", ".env", secret} {
		p.write(name, "old")
	}
	p.write(".git/HEAD", "ref: refs/heads/main\n")
	p.mkdir(filepath.Join(p.root, ".git/objects"))
	if out, code := p.run("cat AGENTS.md && ! cat later"); code != 0 {
		t.Fatal(out)
	}
	for _, name := range []string{"AGENTS.md", "sub/AGENTS.md", ".git/config", ".env", secret, "conf/sub/secret", "later"} {
		p.write(name, "old")
		p.replace(name, "new")
	}
	if out, code := p.run("cat AGENTS.md sub/AGENTS.md .git/config"); code != 0 || out != "newnewnew" {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, name := range []string{"AGENTS.md", "sub/AGENTS.md", ".git/config"} {
		if out, code := p.run("echo evil > " + name); code == 0 || p.read(name) != "new" {
			t.Errorf("%s: exit %d: %s %s", name, code, out, p.read(name))
		}
	}
	for _, name := range []string{".env", secret, "conf/sub/secret", "later"} {
		if out, _ := p.run("cat " + name); strings.Contains(out, "new") {
			t.Errorf("%s: %s", name, out)
		}
	}
	if len(p.aside) > 0 {
		t.Errorf("%+v", p.aside)
	}
}

// A file that is replaced while programs run is protected by what is compared: the mount is gone.
func TestReplacedBeneathPrograms(t *testing.T) {
	levels(t)
	p := newPlace(t, child.Full)
	p.write("AGENTS.md", "old")
	p.write("sub/AGENTS.md", "old")
	job, _ := p.start("until test -e go; do sleep 0.01; done; echo evil > AGENTS.md; echo evil > sub/AGENTS.md")
	p.replace("AGENTS.md", "new")
	p.replace("sub/AGENTS.md", "new")
	p.write("go", "")
	job.Await()
	job.Close()
	for _, name := range []string{"AGENTS.md", "sub/AGENTS.md"} {
		if got := p.read(name); got != "old" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if len(p.aside) != 2 || p.aside[0].Change != Changed {
		t.Errorf("%+v", p.aside)
	}
}

// A person changes a protected file in its place while a program runs that cannot: the change stays.
func TestChangedByAPerson(t *testing.T) {
	levels(t)
	p := newPlace(t, child.Full)
	p.write("AGENTS.md", "old")
	job, _ := p.start("until test -e go; do sleep 0.01; done; echo evil > AGENTS.md")
	p.write("AGENTS.md", "new")
	p.write("go", "")
	job.Await()
	job.Close()
	if got := p.read("AGENTS.md"); got != "new" || len(p.aside) > 0 {
		t.Errorf("%s %+v", got, p.aside)
	}
}

// A workspace that was replaced by another folder of the same name is that one for the next program.
func TestReplacedWorkspace(t *testing.T) {
	levels(t)
	p := newPlace(t, child.Full)
	p.write("file", "old")
	if out, _ := p.run("cat file"); out != "old" {
		t.Fatal(out)
	}
	if err := os.Rename(p.root, p.root+".old"); err != nil {
		t.Fatal(err)
	}
	p.write("file", "new")
	if out, code := p.run("cat file && echo newer > file"); code != 0 || out != "new" || p.read("file") != "newer\n" {
		t.Errorf("exit %d: %s %s", code, out, p.read("file"))
	}
}

// What a program makes can be removed again, also when a new sandbox was made meanwhile.
func TestMadeInside(t *testing.T) {
	levels(t)
	p := newPlace(t, child.Full, func(w *Workspace) {
		w.Denied = func(path string) bool { return filepath.Base(path) == "secret" }
	})
	p.write("AGENTS.md", "old")
	if out, code := p.run("mkdir -p tree && echo text > tree/AGENTS.md"); code != 0 {
		t.Fatal(out)
	}
	p.write("secret", "new")
	p.replace("AGENTS.md", "new")
	if out, code := p.run("rm -r tree && ! cat secret | grep new && ! rm AGENTS.md"); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
}
