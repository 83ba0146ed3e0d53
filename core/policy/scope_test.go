package policy

import (
	"strings"
	"testing"

	"dragoman/core"
)

// What a command line would be remembered as.
func TestCommandScopes(t *testing.T) {
	p := mustNew(t)
	for line, want := range map[string]string{
		"go test ./...":                  "`go test` commands",
		"go test -race -run X ./a":       "`go test` commands",
		"go test":                        "`go test` commands",
		"go mod tidy":                    "`go mod tidy` commands",
		"go build ./cmd/x":               "`go build` commands",
		"git status --short":             "`git status` commands",
		"git diff HEAD~1 -- a.go":        "`git diff` commands",
		"git log --pretty=oneline":       "`git log` commands",
		"git add a.go":                   "`git add` commands",
		"npm run build":                  "`npm run build` commands",
		"npm test":                       "`npm test` commands",
		"cargo check --all":              "`cargo check` commands",
		"ls -la":                         "`ls` commands",
		"ls":                             "`ls` commands",
		"echo hello":                     "`echo` commands",
		"grep -rn x src":                 "`grep` commands",
		"cat /home/u/app/a.go":           "`cat` commands",
		"./build.sh fast":                "exactly `./build.sh fast`",
		"./gradlew test --offline":       "`./gradlew test` commands",
		"echo hello 2>&1":                "exactly `echo hello 2>&1`",
		"go":                             "exactly `go`",
		"go -C x test":                   "exactly `go -C x test`",
		"go run ./x":                     "exactly `go run ./x`",
		"go test -exec ./x":              "exactly `go test -exec ./x`",
		"go test -exec=./x":              "exactly `go test -exec=./x`",
		"go test -toolexec x":            "exactly `go test -toolexec x`",
		"go vet -vettool=x":              "exactly `go vet -vettool=x`",
		"go build -o /tmp/x":             "exactly `go build -o /tmp/x`",
		"go build -ldflags=-s":           "exactly `go build -ldflags=-s`",
		"go test ../other/...":           "exactly `go test ../other/...`",
		"go test /tmp/x":                 "exactly `go test /tmp/x`",
		"git -c core.pager=x log":        "exactly `git -c core.pager=x log`",
		"git diff --output=x":            "exactly `git diff --output=x`",
		"git diff --outp=x":              "exactly `git diff --outp=x`",
		"git fetch --upload-pack=x":      "exactly `git fetch --upload-pack=x`",
		"git ls-remote ext::sh":          "exactly `git ls-remote ext::sh`",
		"git grep --open-files-in x":     "exactly `git grep --open-files-in x`",
		"git config a.b c":               "exactly `git config a.b c`",
		"git push origin main":           "exactly `git push origin main`",
		"git rebase -x make":             "exactly `git rebase -x make`",
		"npm install left-pad":           "exactly `npm install left-pad`",
		"npm run":                        "exactly `npm run`",
		"npm exec x":                     "exactly `npm exec x`",
		"rm x":                           "exactly `rm x`",
		"rm -rf build":                   "exactly `rm -rf build`",
		"mv a b":                         "exactly `mv a b`",
		"curl example.org":               "exactly `curl example.org`",
		"make test":                      "`make test` commands",
		"cat ~/.netrc":                   "exactly `cat ~/.netrc`",
		"cat /etc/passwd":                "exactly `cat /etc/passwd`",
		"cat ../x":                       "exactly `cat ../x`",
		"cat *":                          "exactly `cat *`",
		"./ls":                           "exactly `./ls`",
		"sort -o x a":                    "exactly `sort -o x a`",
		"rg --pre ./x y":                 "exactly `rg --pre ./x y`",
		"a b && c d":                     "exactly `a b && c d`",
		"go test ./... | tee x":          "exactly `go test ./... | tee x`",
		"A=1 go test":                    "exactly `A=1 go test`",
		"go test > x":                    "exactly `go test > x`",
		"go test $X":                     "exactly `go test $X`",
		"go test &":                      "exactly `go test &`",
		"env go test":                    "exactly `env go test`",
		"timeout 5 go test":              "exactly `timeout 5 go test`",
		"nice go test":                   "exactly `nice go test`",
		"nohup go test":                  "exactly `nohup go test`",
		"xargs go test":                  "exactly `xargs go test`",
		"sudo ls":                        "exactly `sudo ls`",
		"find . -exec x":                 "exactly `find . -exec x`",
		"sh -c ls":                       "exactly `sh -c ls`",
		"bash x.sh":                      "exactly `bash x.sh`",
		"/bin/sh x":                      "exactly `/bin/sh x`",
		"python -c x":                    "exactly `python -c x`",
		"python3 manage test":            "exactly `python3 manage test`",
		"node -e x":                      "exactly `node -e x`",
		"npx x y":                        "exactly `npx x y`",
		"awk x":                          "exactly `awk x`",
		"sed -n p":                       "`sed` commands",
		"tar xf a":                       "exactly `tar xf a`",
		"docker ps":                      "exactly `docker ps`",
		"echo `date`":                    "exactly this command line",
		"ls\nls":                         "exactly this command line",
		"a " + strings.Repeat("b", 100):  "exactly this command line",
		"a -" + strings.Repeat("b", 100): "exactly this command line",
		"echo 'a":                        "",
		"echo \x1b[2K":                   "",
		"echo \u202e":                    "",
		strings.Repeat("a;", 51):         "",
		"cp x .git/hooks/y":              "",
		"ls > .mcp.json":                 "",
	} {
		got := p.Decide(shell(line))
		if got.Effect != core.MustAsk || got.RememberText != want || (got.Remember == "") != (want == "") {
			t.Errorf("%q: %s, %q (%q); want %q", line, got.Effect, got.RememberText, got.Remember, want)
		}
	}
}

// What an answer for one call says about the next.
func TestRemembered(t *testing.T) {
	elsewhere := func(c core.Check, dir string) core.Check {
		c.Access = []core.Access{{Op: core.OpRun, Path: dir, Outside: outside(dir), Command: c.Access[0].Command}}
		return c
	}
	fetch := func(url string) core.Check {
		return check(core.Native, "fetch", core.Access{Op: core.OpNet, URL: url})
	}
	edit := func(paths ...string) core.Check {
		var a []core.Access
		for _, p := range paths {
			a = append(a, write(p))
		}
		return check(core.Native, "edit_file", a...)
	}
	for _, test := range []struct {
		name          string
		first, second core.Check
		want          core.Effect
	}{
		{"the same program", shell("go test ./a"), shell("go test -v ./b"), core.Allow},
		{"another sub-command", shell("go test ./a"), shell("go vet ./a"), core.MustAsk},
		{"longer line", shell("go test ./a"), shell("go test ./a && rm x"), core.MustAsk},
		{"another program of that name", shell("go test"), shell("./go test"), core.MustAsk},
		{"with a telling option", shell("go test"), shell("go test -exec x"), core.MustAsk},
		{"in a folder of the workspace", shell("go test"), elsewhere(shell("go test"), root+"/sub"), core.Allow},
		{"in a folder outside", shell("go test"), elsewhere(shell("go test"), "/tmp"), core.MustAsk},
		{"a script of another folder", shell("./gradlew test"), elsewhere(shell("./gradlew test"), root+"/sub"), core.MustAsk},
		{"the same line", shell("a | b > c"), shell("a | b > c"), core.Allow},
		{"the same line elsewhere", shell("a | b > c"), elsewhere(shell("a | b > c"), root+"/sub"), core.MustAsk},
		{"nearly the same line", shell("a | b > c"), shell("a | b  > c"), core.MustAsk},
		{"another tool with that line", shell("go test"), check("x", "shell_command", run("go test")), core.MustAsk},
		{"another file", edit(root + "/a"), edit("/home/u/lib/b"), core.Allow},
		{"another tool", edit(root + "/a"), check(core.Native, "write_file", write(root+"/a")), core.MustAsk},
		{"a file outside", edit(root + "/a"), edit("/tmp/a"), core.MustAsk},
		{"the same file outside", edit("/tmp/a"), edit("/tmp/a"), core.Allow},
		{"its neighbour", edit("/tmp/a"), edit("/tmp/b"), core.MustAsk},
		{"an outside file does not cover the inside", edit("/tmp/a"), edit(root + "/a"), core.MustAsk},
		{"one of two", edit("/tmp/a"), edit("/tmp/a", "/tmp/b"), core.MustAsk},
		{"in another order", edit("/tmp/a", "/tmp/b"), edit("/tmp/b", "/tmp/a"), core.Allow},
		{"reading is not changing", check(core.Native, "x", read("/tmp/a")), check(core.Native, "x", write("/tmp/a")), core.MustAsk},
		{"inside, but a control file", edit(root + "/a"), edit(root + "/.git/hooks/x"), core.MustAsk},
		{"control file beside another", edit(root + "/a"), edit(root+"/a", root+"/.mcp.json"), core.MustAsk},
		{"a server's tool", check("x", "y"), check("x", "y"), core.Allow},
		{"another tool of it", check("x", "y"), check("x", "z"), core.MustAsk},
		{"another server's", check("x", "y"), check("z", "y"), core.MustAsk},
		{"names that look alike", check("x", "y any"), check("x", "y"), core.MustAsk},
		{"an edit that reads first", check(core.Native, "x", read(root+"/a"), write(root+"/a")), check(core.Native, "x", write(root+"/b")), core.Allow},
		{"outside as well", check(core.Native, "x", read("/tmp/a"), write("/tmp/a")), check(core.Native, "x", write("/tmp/a")), core.Allow},
		{"but not what else it reads", check(core.Native, "x", write("/tmp/a")), check(core.Native, "x", read("/tmp/b"), write("/tmp/a")), core.MustAsk},
		{"the same host", fetch("https://a.org/x"), fetch("https://A.org/y"), core.Allow},
		{"another host", fetch("https://a.org/x"), fetch("https://a.org.evil.com/x"), core.MustAsk},
		{"another scheme", fetch("https://a.org/x"), fetch("http://a.org/x"), core.MustAsk},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := mustNew(t)
			asked := p.Decide(test.first)
			if asked.Effect != core.MustAsk || asked.Remember == "" || asked.RememberText == "" {
				t.Fatalf("the first is not asked with a key: %+v", asked)
			}
			test.second.Remembered = map[string]core.Decision{asked.Remember: core.AllowSession}
			got := p.Decide(test.second)
			if got.Effect != test.want {
				t.Errorf("got %s, %q; want %s", got.Effect, got.Why, test.want)
			}
			if want := "allowed for this session: " + asked.RememberText; test.want == core.Allow && got.Why != want {
				t.Errorf("got %q, want %q", got.Why, want)
			}
			test.second.Remembered = nil // answers of another session are not there at all
			if got := p.Decide(test.second); got.Effect != core.MustAsk {
				t.Errorf("without an answer: %s, %q", got.Effect, got.Why)
			}
		})
	}
}

func TestScopeTexts(t *testing.T) {
	p := mustNew(t)
	for want, c := range map[string]core.Check{
		"changes to files inside the workspace":                       check(core.Native, "write_file", write(root+"/a")),
		"changes to /tmp/a":                                           check(core.Native, "write_file", write("/tmp/a")),
		"reading /etc/hosts":                                          check(core.Native, "read_file", read("/etc/hosts")),
		"changes to /tmp/a and changes to files inside the workspace": check(core.Native, "move_file", write(root+"/a"), write("/tmp/a")),
		"the tool y of x":                                             check("x", "y"),
		"requests to https://a.org":                                   check(core.Native, "fetch", core.Access{Op: core.OpNet, URL: "https://a.org/b"}),
		"":                                                            check(core.Native, "write_file", write("/tmp/\x1b[2Ka")),
	} {
		if got := p.Decide(c); got.RememberText != want {
			t.Errorf("got %q, want %q", got.RememberText, want)
		}
	}
}

// Nothing that a person reads may hold what a terminal would act on.
func TestWordsAreShownAsTheyAre(t *testing.T) {
	p := mustNew(t, Rule{Effect: core.Deny, Command: "x\x1b*"})
	for _, c := range []core.Check{
		check(core.Native, "read_file", read("/tmp/\x1b[2K\u202ea")),
		check("ser\nver", "to\rol"),
		shell("echo a\u200b"),
		shell("x\x1b[2K"),
		check(core.Native, "write_file", write(root+"/.eca/\u2028")),
		check(core.Native, "write_file", write(root+"/.eca/\u3164\u2800")), // letters, as Unicode has it
	} {
		v := p.Decide(c)
		if !shownAsIs(v.Why) || !shownAsIs(v.RememberText) || strings.ContainsAny(v.Why+v.RememberText, "\u3164\u2800") {
			t.Errorf("%q, %q", v.Why, v.RememberText)
		}
	}
}
