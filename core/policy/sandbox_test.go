package policy

import (
	"testing"

	"dragoman/core"
)

// Commands that nobody looks at run only where they are confined, unless the table of harmless
// options names everything in them, or the user says that they may run anywhere.
func TestUnwatched(t *testing.T) {
	check := func(level, line string, a core.Approvals, trust bool) core.Check {
		return core.Check{
			Call:   core.Call{Server: core.Native, Tool: "shell_command", Kind: core.KindExecute},
			Spec:   core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute},
			Access: []core.Access{{Op: core.OpRun, Path: "/w", Command: line, Sandbox: level}},
			Meta:   core.Meta{Cwd: "/w", Roots: []string{"/w"}}, Origin: core.Origin{Approvals: a}, Settings: core.Settings{Trust: trust},
		}
	}
	for _, c := range []struct {
		name, level, line string
		o                 Options
		approvals         core.Approvals
		trust             bool
		want              core.Effect
	}{
		{"auto, full", "full", "npm ci", Options{}, core.ApprovalsAuto, false, core.Allow},
		{"auto, files", "files", "npm ci", Options{}, core.ApprovalsAuto, false, core.Allow},
		{"auto, none", "", "npm ci", Options{}, core.ApprovalsAuto, false, core.MustAsk},
		{"auto, a level that is not known", "most", "npm ci", Options{}, core.ApprovalsAuto, false, core.MustAsk},
		{"auto, none, harmless", "", "git status --short", Options{}, core.ApprovalsAuto, false, core.Allow},
		{"auto, anywhere", "", "npm ci", Options{Anywhere: true}, core.ApprovalsAuto, false, core.Allow},
		{"default, full", "full", "npm ci", Options{Default: core.Allow}, "", false, core.Allow},
		{"default, none", "", "npm ci", Options{Default: core.Allow}, "", false, core.MustAsk},
		{"default, anywhere", "", "npm ci", Options{Default: core.Allow, Anywhere: true}, "", false, core.Allow},
		{"a rule, none", "", "npm ci", Options{Rules: []Rule{{Effect: core.Allow, Command: "npm *"}}}, "", false, core.Allow},
		{"trust, none", "", "npm ci", Options{}, "", true, core.Allow},
		{"a control file, full", "full", "cat .git/hooks/x", Options{Default: core.Allow}, core.ApprovalsAuto, true, core.MustAsk},
	} {
		p, err := New(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if v := p.Decide(check(c.level, c.line, c.approvals, c.trust)); v.Effect != c.want {
			t.Errorf("%s: %s, %q", c.name, v.Effect, v.Why)
		}
	}
}

// In a sandbox an answer for the session covers a program whatever its options; outside it covers
// what the table names, and neither covers what the other does.
func TestConfinedScope(t *testing.T) {
	scope := func(level, line string) string {
		a := core.Access{Op: core.OpRun, Path: "/w", Command: line, Sandbox: level}
		return scopeOf((&Policy{}).look(core.Check{
			Call: core.Call{Server: core.Native, Tool: "shell_command"}, Access: []core.Access{a}, Meta: core.Meta{Cwd: "/w", Roots: []string{"/w"}},
		})).text
	}
	for _, c := range []struct{ level, line, want string }{
		{"full", "git grep -O./evil.sh foo", "`git grep` commands in the sandbox"},
		{"", "git grep -O./evil.sh foo", "exactly `git grep -O./evil.sh foo`"},
		{"full", "python3 -c 'print(1)'", "`python3` commands in the sandbox"},
		{"full", "terraform plan -out x", "`terraform plan` commands in the sandbox"},
		{"files", "./build.sh --all", "`./build.sh` commands in the sandbox"},
		{"full", "make && ./x", "exactly `make && ./x`"},
		{"full", "$x y", "exactly `$x y`"},
		{"", "git status -s", "`git status` commands"},
	} {
		if got := scope(c.level, c.line); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.level, c.line, got, c.want)
		}
	}
}
