package policy

import (
	"strings"
	"testing"

	"dragoman/core"
)

// An allow rule is for "go test" and "ls"; everything that smuggles something
// else past it must be asked.
func TestAllowedCommands(t *testing.T) {
	p := mustNew(t,
		Rule{Effect: core.Allow, Tool: "shell_command", Command: "go test *"},
		Rule{Effect: core.Allow, Tool: "shell_command", Command: "ls *"},
		Rule{Effect: core.Allow, Tool: "shell_command", Command: "git log *"},
		Rule{Effect: core.Allow, Tool: "shell_command", Command: "export *"},
		Rule{Effect: core.Allow, Tool: "shell_command", Command: "eval *"},
	)
	for line, want := range map[string]core.Effect{
		"go test ./...":                          core.Allow,
		"go   test\t-run 'TestA|TestB' ./x":      core.Allow,
		"go test":                                core.Allow,
		"ls":                                     core.Allow,
		"ls -la && go test ./... | ls":           core.Allow,
		"ls\ngo test; ls || ls":                  core.Allow,
		"ls 2>&1 >/dev/null":                     core.Allow,
		"l\\s":                                   core.Allow,
		"ls # a remark":                          core.Allow,
		"git log HEAD~1":                         core.Allow,
		"":                                       core.MustAsk,
		"# nothing":                              core.MustAsk,
		"go vet":                                 core.MustAsk,
		"lsof":                                   core.MustAsk,
		"./ls":                                   core.MustAsk,
		"/bin/ls":                                core.MustAsk,
		"LS":                                     core.MustAsk,
		"ls\nrm -rf x":                           core.MustAsk,
		"ls\rrm -rf x":                           core.MustAsk,
		"ls & rm x":                              core.MustAsk,
		"ls &":                                   core.MustAsk,
		"ls | sh":                                core.MustAsk,
		"ls |& sh":                               core.MustAsk,
		"ls && rm x":                             core.MustAsk,
		"ls > ~/.bashrc":                         core.MustAsk,
		"ls >x":                                  core.MustAsk,
		"ls &>x":                                 core.MustAsk,
		"ls >&x":                                 core.MustAsk,
		"ls 3<>x":                                core.MustAsk,
		"ls < x":                                 core.MustAsk,
		"ls <<E\nx\nE":                           core.MustAsk,
		"ls <<< x":                               core.MustAsk,
		"ls <(curl x)":                           core.MustAsk,
		"ls >(sh)":                               core.MustAsk,
		"ls $(curl x)":                           core.MustAsk,
		"ls \"$(curl x)\"":                       core.MustAsk,
		"ls `curl x`":                            core.MustAsk,
		"ls ${x:=$(curl y)}":                     core.MustAsk,
		"ls $((x))":                              core.MustAsk,
		"ls$IFS-la":                              core.MustAsk,
		"ls${IFS}-la":                            core.MustAsk,
		"$'\\x6cs'":                              core.Allow, // it is ls
		"$'\\x72m' x":                            core.MustAsk,
		"ls $X":                                  core.MustAsk,
		"ls ~":                                   core.MustAsk,
		"ls *":                                   core.MustAsk,
		"ls {a,b}":                               core.MustAsk,
		"ls a=~/x":                               core.MustAsk,
		"ls @(a|b)":                              core.MustAsk,
		"LD_PRELOAD=./x.so ls":                   core.MustAsk,
		"PATH=.:$PATH ls":                        core.MustAsk,
		"GIT_PAGER=./x git log":                  core.MustAsk,
		"X=1":                                    core.MustAsk,
		"export PATH=.":                          core.MustAsk,
		"export PATH=. && ls":                    core.MustAsk,
		"declare -x PATH=. ; ls":                 core.MustAsk,
		"unset x; ls":                            core.MustAsk,
		"alias ls=rm\nls x":                      core.MustAsk,
		"eval ls":                                core.MustAsk,
		"ls() { rm -rf x; }; ls":                 core.MustAsk,
		"function ls { rm x; }\nls":              core.MustAsk,
		"(ls)":                                   core.MustAsk,
		"{ ls; }":                                core.MustAsk,
		"! ls":                                   core.MustAsk,
		"time ls":                                core.MustAsk,
		"coproc ls":                              core.MustAsk,
		"if ls; then ls; fi":                     core.MustAsk,
		"for x in a; do ls; done":                core.MustAsk,
		"while ls; do ls; done":                  core.MustAsk,
		"case x in x) ls;; esac":                 core.MustAsk,
		"[[ -e x ]] && ls":                       core.MustAsk,
		"env ls":                                 core.MustAsk,
		"command ls":                             core.MustAsk,
		"'git log'":                              core.MustAsk,
		"\"git log\" x":                          core.MustAsk,
		"git -c core.pager=x log":                core.MustAsk,
		"ls 'a":                                  core.MustAsk,
		"ls )":                                   core.MustAsk,
		"ls \\":                                  core.Allow, // bash drops nothing and adds nothing: see below
		"ls \u202e gnp.exe":                      core.MustAsk,
		"ls \u200b":                              core.MustAsk,
		"ls \x1b[2K":                             core.MustAsk,
		"ls \u2028 rm":                           core.MustAsk,
		"ls \x00 rm":                             core.MustAsk,
		"ls \xff":                                core.MustAsk,
		"ls" + strings.Repeat(" ", 500) + "; rm": core.MustAsk,
		"ls .git/hooks":                          core.MustAsk,
		"ls a; ls .mcp.json":                     core.MustAsk,
	} {
		if line == "ls \\" {
			continue // whether a lone backslash is an argument depends on the shell
		}
		if got := p.Decide(shell(line)); got.Effect != want {
			t.Errorf("%q: %s, %q; want %s", line, got.Effect, got.Why, want)
		}
	}
}

func TestPlainAnywhere(t *testing.T) {
	for line, want := range map[string]bool{"go test ./...": true, "git status -s": true, "ls 'a & del x'": false, "ls %x%": false, "ls ^& x": false, "ls; x": false, "a `\" & b": false} {
		if got := plainAnywhere(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// A rule for the whole tool allows what can be read, and nothing more.
func TestAllowedShell(t *testing.T) {
	p := mustNew(t, Rule{Effect: core.Allow, Tool: "shell_command"})
	for line, want := range map[string]core.Effect{
		"for f in *.go; do wc -l $f > x; done": core.Allow,
		"echo $(date)":                         core.Allow,
		"echo 'a":                              core.MustAsk,
		"echo \x1b[2K":                         core.MustAsk,
		"echo x > .git/config":                 core.MustAsk,
	} {
		if got := p.Decide(shell(line)); got.Effect != want {
			t.Errorf("%q: %s, %q; want %s", line, got.Effect, got.Why, want)
		}
	}
	c := shell("ls")
	c.Access[0].Path, c.Access[0].Outside = "/tmp", true
	if got := p.Decide(c); got.Effect != core.MustAsk {
		t.Errorf("in a folder outside: %s, %q", got.Effect, got.Why)
	}
}

// A deny rule is found wherever the command hides, also by a trusted session.
func TestDeniedCommands(t *testing.T) {
	p := mustNew(t, Rule{Effect: core.Allow}, Rule{Effect: core.Deny, Command: "rm *"}, Rule{Effect: core.Deny, Command: "git push *"})
	for line, want := range map[string]core.Effect{
		"rm x":                          core.Deny,
		"rm":                            core.Deny,
		"/bin/rm x":                     core.Deny,
		"./rm x":                        core.Deny,
		"RM x":                          core.Deny,
		"\\rm x":                        core.Deny,
		"r\\m x":                        core.Deny,
		"r''m x":                        core.Deny,
		`"rm" x`:                        core.Deny,
		"$'\\x72m' x":                   core.Deny,
		"$'\\162m' x":                   core.Deny,
		"$'r\\u6d' x":                   core.Deny,
		"rm${IFS}x":                     core.Deny,
		"rm$IFS-rf":                     core.Deny,
		"ls\nrm x":                      core.Deny,
		"ls & rm x":                     core.Deny,
		"ls | rm x":                     core.Deny,
		"ls;rm x":                       core.Deny,
		"(rm x)":                        core.Deny,
		"{ rm x; }":                     core.Deny,
		"! rm x":                        core.Deny,
		"echo $(rm x)":                  core.Deny,
		"echo \"`rm x`\"":               core.Deny,
		"cat <(rm x)":                   core.Deny,
		"f() { rm x; }; f":              core.Deny,
		"if true; then rm x; fi":        core.Deny,
		"case a in a) rm x;; esac":      core.Deny,
		"x=$(rm y) ls":                  core.Deny,
		"export A=$(rm y)":              core.Deny,
		"cat <<E\n$(rm x)\nE":           core.Deny,
		"echo $((1+$(rm x)))":           core.Deny,
		"A=1 rm x":                      core.Deny,
		"env rm x":                      core.Deny,
		"env -i A=1 rm x":               core.Deny,
		"timeout 5 /usr/bin/rm x":       core.Deny,
		"nice -n 5 nohup rm x":          core.Deny,
		"time rm x":                     core.Deny,
		"sudo -u x rm y":                core.Deny,
		"command rm x":                  core.Deny,
		"exec rm x":                     core.Deny,
		"eval rm x":                     core.Deny,
		"eval 'r'\"m x\"":               core.Deny,
		"xargs rm < x":                  core.Deny,
		"ls | xargs -n1 rm":             core.Deny,
		"find . -exec rm {} ;":          core.Deny,
		"find . -exec rm {} \\;":        core.Deny,
		"sh -c 'rm x'":                  core.Deny,
		"bash -lc 'ls; rm x'":           core.Deny,
		"sudo sh -c 'ls && rm x'":       core.Deny,
		"sh -c \"sh -c 'rm x'\"":        core.Deny,
		"python -c 'import os; rm (x)'": core.Deny,
		"rm 'x":                         core.Deny, // cannot be parsed
		"ls; rm x; echo '":              core.Deny,
		"git push":                      core.Deny,
		"git push origin":               core.Deny,
		"GIT  push":                     core.Deny,
		"git pull":                      core.Allow,
		"echo rm x":                     core.Allow,
		"grep 'rm x' y":                 core.Allow,
		"rmdir x":                       core.Allow,
		"$X y":                          core.MustAsk, // who knows
		"${X}m y":                       core.MustAsk,
		"eval $X":                       core.MustAsk,
		"sh -c \"$X\"":                  core.MustAsk,
		"env $X":                        core.MustAsk,
		"alias x=y; x":                  core.Allow,
		"ls 'x":                         core.MustAsk,
		"r?":                            core.MustAsk,
		"{rm,x}":                        core.MustAsk,
		"f() { ls; }; f":                core.MustAsk,
	} {
		c := shell(line)
		c.Settings.Trust = true
		if got := p.Decide(c); got.Effect != want {
			t.Errorf("%q: %s, %q; want %s", line, got.Effect, got.Why, want)
		}
	}
}

func TestManyCommands(t *testing.T) {
	line := func(n int, last string) string {
		parts := make([]string, n-1, n)
		for i := range parts {
			parts[i] = "true"
		}
		return strings.Join(append(parts, last), ";")
	}
	p := mustNew(t, Rule{Effect: core.Allow, Command: "true"}, Rule{Effect: core.Deny, Command: "rm *"})
	all := mustNew(t, Rule{Effect: core.Allow})
	for n, want := range map[int]core.Effect{1: core.Allow, 49: core.Allow, 50: core.Allow, 51: core.MustAsk, 5000: core.MustAsk, 200_000: core.MustAsk} {
		for name, p := range map[string]*Policy{"a rule": p, "everything": all} {
			for _, trust := range []bool{false, true} {
				c := shell(line(n, "true"))
				c.Settings.Trust = trust
				got := p.Decide(c)
				if got.Effect != want || n > 50 && got.Remember != "" {
					t.Errorf("%d commands, %s, trust %v: %s, %q; want %s", n, name, trust, got.Effect, got.Why, want)
				}
			}
		}
		if got := p.Decide(shell(line(n, "rm -rf x"))); got.Effect != core.Deny {
			t.Errorf("%d commands, the last denied: %s, %q", n, got.Effect, got.Why)
		}
		c := shell(line(n, "true"))
		c.Origin.Approvals = core.ApprovalsDeny
		if got := all.Decide(c); n > 50 && got.Effect != core.Deny {
			t.Errorf("%d commands, nobody to ask: %s", n, got.Effect)
		}
	}
}

// Nesting that would exhaust a parser which recurses.
func TestDeepCommands(t *testing.T) {
	p := mustNew(t, Rule{Effect: core.Allow})
	for _, open := range []string{"(", "$(", "{ ", "`", "if ", "! ", "\"$(", "${x:-", "$((", "while ", "time ", "<(", "[[ (", "case x in x) ", "a=(", "\\`"} {
		for _, size := range []int{1 << 10, maxLine, 1 << 18} {
			if got := p.Decide(shell(strings.Repeat(open, size/len(open)))); got.Effect == core.Allow {
				t.Errorf("%d bytes of %q are allowed", size, open)
			}
		}
	}
}

// FuzzShell checks that no line panics, that none is allowed which the grammar
// does not take whole, and that a denied program stays denied beside anything.
func FuzzShell(f *testing.F) {
	for _, seed := range []string{
		"ls -la", "a && b || c; d\ne", "a\nb & c", "$(a) `b` <(c)", "$'\\x72m' \"x$y\"", "a > b <<E\nx\nE", "f() { a; }", "env a=b c", "sh -c 'a; b'", "a \\\nb", "'", "{a,b}", "a \x00 b",
	} {
		f.Add(seed)
	}
	p := mustNew(f, Rule{Effect: core.Allow, Tool: "shell_command", Command: "*"})
	denying := mustNew(f, Rule{Effect: core.Allow}, Rule{Effect: core.Deny, Command: "shred *"})
	f.Fuzz(func(t *testing.T, text string) {
		l := readLine(text, nil)
		v := p.Decide(shell(text))
		if v.Effect == core.Allow && (!l.parsed || !l.plain || l.count > maxCommands || strings.ContainsAny(text, "\r\x00\x1b")) {
			t.Errorf("%q is allowed: %q", text, v.Why)
		}
		if v.Effect == core.Allow && strings.ContainsAny(text, "`") && !strings.ContainsAny(text, "'\"\\#") {
			t.Errorf("%q is allowed", text)
		}
		c := shell(text)
		c.Settings.Trust = true
		if v := denying.Decide(c); v.Effect == core.Allow && !l.parsed {
			t.Errorf("%q is trusted, but was not parsed", text)
		}
		if v := denying.Decide(shell("shred x\n" + text)); v.Effect != core.Deny {
			t.Errorf("%q behind a denied command: %s, %q", text, v.Effect, v.Why)
		}
		if v.Effect == core.MustAsk && v.Remember != "" && v.RememberText == "" {
			t.Errorf("%q: a key without words", text)
		}
	})
}
