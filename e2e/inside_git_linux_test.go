package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes a repository with files that decide what runs later, and with one that a rule
// denies and that git ignores.
func (p *place) repository(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{
		"AGENTS.md": "Be good.\n", ".vscode/settings.json": "{}\n", ".mcp.json": "{}\n", ".claude/commands/go.md": "Go.\n", ".husky/pre-commit": "true\n",
		"sub/AGENTS.md": "Be better.\n", "sub/.envrc": "true\n", ".gitignore": ".env\n/out/\n", "main.c": "int main() {}\n",
	} {
		p.write(t, name, text)
	}
	p.outside(t, "git init -q && git add . && git commit -qm first")
	p.write(t, ".env", "SECRET\n")
}

// guarded is the explanation that a model gets when git cannot replace a control file.
const guarded = "a file that decides what runs later cannot be changed; what git has changed before stays changed"

const denyEnv = `, deny: [{path: "**/.env"}]`

// Everyday work with git leaves what it leaves outside of a sandbox.
func TestInsideGit(t *testing.T) {
	needInstalled(t, "git")
	inHomes(t, homes[1:], func(t *testing.T, p *place) {
		p.repository(t)
		in := p.inside(t, denyEnv)
		in.says("git status --porcelain; for f in .*v; do cat $f; done", "")
		in.run("echo one > one && git add . && git commit -qm one && echo two > two && git add . && git commit -qm two")
		in.run("git checkout -qb side HEAD~2 && echo three > three && git add . && git commit -qm three")
		in.run("git checkout -q main && git rebase side && git log --oneline")
		in.says("git log --format=%s", "two\none\nthree\nfirst")
		in.run("echo four >> one && git stash && test $(cat one) = one && git stash pop && git commit -qam four && git tag v1 && git gc -q")
		in.run("git worktree add -q out/tree -b tree && cd out/tree && echo five > five && git add . && git commit -qm five && git status")
		in.says("git -C out/tree log -1 --format=%s && git worktree list | wc -l", "five\n2")
		in.run("git worktree remove out/tree && git merge -q --no-edit tree && git branch -d tree && git fsck --no-dangling 2>&1")
		in.says("git status --porcelain --ignored", "!! .env")
		if got := p.outside(t, "git status --porcelain --ignored && git log -1 --format=%s && git fsck --no-dangling 2>&1"); got != "!! .env\nfive\n" {
			t.Error(got)
		}
		if text, err := os.ReadFile(filepath.Join(p.work, ".env")); err != nil || string(text) != "SECRET\n" {
			t.Errorf("%q %v", text, err)
		}
	})
}

// What decides what runs later stays as it is, whatever git is told, and the model learns why.
func TestInsideGitGuarded(t *testing.T) {
	needInstalled(t, "git")
	t.Parallel()
	p := newHome(t, homes[0])
	p.repository(t)
	p.outside(t, "git checkout -qb other && echo Be bad. > AGENTS.md && echo 1 > new && git add . && git commit -qm other && git checkout -q main")
	in := p.inside(t, denyEnv)
	in.fails("git config core.fsmonitor ./evil", guarded)
	in.fails("f=AGENTS && mv $f.md x", guarded)
	in.fails("f=AGENTS && echo Be bad. > $f.md", "a file outside of the workspace, or one that decides what runs later, cannot be changed")
	in.fails("git merge other", guarded)
	in.says("git status --porcelain", "?? new") // git does not take back what it has done before
	wantText(t, "git checkout", in.call("rm new && git checkout other", nil).text, "unable to unlink old 'AGENTS.md': Device or resource busy")
	in.says("git status --porcelain && git branch --show-current", "M AGENTS.md\nother")
	in.call("git checkout -qf main", nil)
	in.says("git status --porcelain && git branch --show-current", "main")
	if got := p.outside(t, "git status --porcelain && git branch --show-current && cat AGENTS.md"); got != "main\nBe good.\n" {
		t.Error(got)
	}
}

// A workspace that is a worktree, or a submodule, has the folders of git that belong to it, wherever they
// are.
func TestInsideGitElsewhere(t *testing.T) {
	needInstalled(t, "git")
	t.Parallel()
	for _, kind := range []struct{ name, made, at string }{
		{"worktree", "git worktree add -q ../tree -b tree", "../tree"},
		{"submodule", "git clone -q . ../lib && git submodule --quiet add ../lib lib && git commit -qm lib && git -C lib checkout -qb tree", "lib"},
		{"folder", "mkdir -p part && echo 1 > part/x && git add . && git commit -qm part && git checkout -qb tree", "part"},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			p := newHome(t, homes[0])
			p.repository(t)
			p.outside(t, kind.made)
			p.work = filepath.Join(p.work, kind.at)
			in := p.inside(t, "")
			in.says("git status --porcelain", "")
			in.run("echo more > more && git add . && git commit -qm more && git stash list && git checkout -qb third && git branch -d tree")
			if got := p.outside(t, "git status --porcelain && git log -1 --format=%s && git branch --show-current && git fsck --no-dangling 2>&1"); got != "more\nthird\n" {
				t.Error(got)
			}
			in.fails("git config core.fsmonitor ./evil", guarded)
		})
	}
}

// A .git file that does not name its own folder gives programs nothing to write.
func TestInsideGitForged(t *testing.T) {
	needInstalled(t, "git")
	t.Parallel()
	victim := newHome(t, homes[0])
	victim.repository(t)
	for name, file := range map[string]string{
		"a repository": victim.work + "/.git", "a folder that is none": victim.home, "a relative path": "../../../" + filepath.Base(victim.home) + "/src/project/.git",
	} {
		p := newHome(t, homes[0])
		p.write(t, ".git", "gitdir: "+file+"\n")
		in := p.inside(t, "")
		r := in.call("echo evil > "+victim.work+"/.git/evil; echo evil > "+victim.home+"/evil; git commit --allow-empty -m evil; git branch evil", nil)
		if got := victim.outside(t, "git branch; git log --format=%s; ls .git ../.."); strings.Contains(got, "evil") {
			t.Errorf("%s: %s\n%s", name, got, r.text)
		}
	}
}
