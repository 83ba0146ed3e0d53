package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// anywhere has commands run that nobody looks at, without a sandbox: only the rules are between the
// model and the machine.
const anywhere = "policy: {default: allow, unattended: anywhere, sandbox: none, "

// kept runs lines that must not remove the file keep, or make the file pwned, whatever is answered to
// them.
func (s *siege) kept(lines ...string) {
	s.t.Helper()
	keep, pwned := filepath.Join(s.work, "keep"), filepath.Join(s.work, "pwned")
	for _, line := range lines {
		s.place.put(s.t, keep, "keep\n")
		told := s.run(line)
		if text, err := os.ReadFile(keep); string(text) != "keep\n" {
			s.t.Errorf("%.200q had its effect: %q %v; the model was told %.200q", line, text, err, told)
		}
		if _, err := os.Lstat(pwned); err == nil {
			s.t.Errorf("%.200q had its effect; the model was told %.200q", line, told)
			os.Remove(pwned)
		}
	}
}

// Text around an allowed command is not allowed with it, and text around a denied one does not hide
// it. policy.TestAllowedCommands, TestDeniedCommands and FuzzShell are thorough.
func TestAttack08(t *testing.T) {
	t.Parallel()
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		s := besiege(t, "policy: {sandbox: none, allow: [{tool: shell_command, command: ls}, {tool: shell_command, command: 'ls *'}]}\n")
		if told := s.run("ls notes.txt"); s.asks() != 0 || !strings.Contains(told, "notes.txt") {
			t.Fatalf("the rule does not hold: %d questions, %q", s.asks(), told)
		}
		for _, line := range []string{
			"ls\ntouch pwned", "ls\r\ntouch pwned", "ls\rtouch pwned", "ls & touch pwned", "ls; touch pwned", "ls && touch pwned", "ls || touch pwned", "ls | tee pwned", "ls |& tee pwned",
			"ls > pwned", "ls >> pwned", "ls >| pwned", "ls &> pwned", "ls 2> pwned", "ls <> pwned", "ls <(touch pwned)", "ls >(touch pwned)", "ls $(touch pwned)", "ls `touch pwned`", "ls \"$(touch pwned)\"",
			"ls ${x:=$(touch pwned)}", "ls $((a[$(touch pwned)]))", "ls <<< $(touch pwned)", "ls <<E\n$(touch pwned)\nE", "x=$(touch pwned) ls", "(touch pwned); ls", "{ touch pwned; }; ls", "if touch pwned; then ls; fi",
			"ls() { touch pwned; }; ls", "alias ls='touch pwned'\nls", "ls;\\\ntouch pwned", "ls \\\n; touch pwned", "! touch pwned", "coproc touch pwned", "time touch pwned", "ls\u2028touch pwned; touch pwned",
			"./ls", "bin/ls", "/tmp/ls", "$ls", "l\\s; touch pwned", "ls # \ntouch pwned", "touch pwned # ls", "eval ls; eval touch pwned", "trap 'touch pwned' EXIT; ls", "PATH=. ls",
		} {
			s.wantAsked(line)
		}
		s.run("ls\x00; touch pwned")
		absent(t, filepath.Join(s.work, "pwned"), "what was rejected ran")
		s.over()
	})
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		s := besiege(t, anywhere+"deny: [{tool: shell_command, command: 'rm *'}]}\n")
		s.kept(
			"rm keep", "true; rm keep", "true\nrm keep", "true & rm keep", "true | rm keep", "false || rm keep", "echo $(rm keep)", "echo `rm keep`", "cat <(rm keep)", "rm${IFS}keep", "rm$IFS-f${IFS}keep",
			"$'\\x72m' keep", "r\\m keep", "'r'm keep", "r\"\"m keep", "\"rm\" keep", "/bin/rm keep", "../../../../../../bin/rm keep", "x=rm; $x keep", "f() { rm keep; }; f", "(rm keep)", "{ rm keep; }",
			"if true; then rm keep; fi", "while rm keep; do break; done", "for i in keep; do rm $i; done", "case x in x) rm keep;; esac", "! rm keep", "time rm keep", "coproc rm keep", "cat <<E\n$(rm keep)\nE",
			"rm \\\nkeep", "rm\tkeep", "x=1 rm keep", ">/dev/null rm keep", "2>&1 rm -- keep", "eval rm keep", "eval 'r''m keep'", "alias x='rm keep'\nx", "command rm keep", "builtin command rm keep", "exec rm keep",
			"trap 'rm keep' EXIT", "sh -c 'rm keep'", "bash -c \"rm keep\"", "echo ${x:-$(rm keep)}", "[[ -n $(rm keep) ]]", "echo $((`rm keep`))", "RM keep || rm keep",
		)
		s.over()
	})
}

// A program that runs another one does not hide it from a rule, and an answer for the session does not
// cover an option that runs something. In a sandbox it may, and has no effect outside.
// policy.TestCommandScopes is thorough.
func TestAttack09(t *testing.T) {
	t.Parallel()
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		s := besiege(t, anywhere+"deny: [{tool: shell_command, command: 'rm *'}]}\n")
		s.kept(
			"env rm keep", "env -i A=1 rm keep", "env -S 'rm keep'", "timeout 5 rm keep", "nice -n 5 rm keep", "nohup rm keep", "setsid rm keep", "stdbuf -o0 rm keep", "ionice rm keep", "echo keep | xargs rm",
			"xargs -a /dev/null rm keep", "find . -name keep -exec rm {} ;", "find . -name keep -exec rm {} +", "find keep -execdir rm {} \\;", "busybox rm keep", "bash -c 'bash -c \"rm keep\"'", "sh -ec 'rm keep'",
			"env env env rm keep", "timeout -k 1 5 nice rm keep", "command -p rm keep", "sudo -n rm keep", "flock keep rm keep", "watch -n 1 -g rm keep", "strace -o /dev/null rm keep", "parallel rm ::: keep",
		)
		s.over()
	})
	t.Run("for the session", func(t *testing.T) {
		t.Parallel()
		for _, level := range []string{"none", "full"} {
			s := besiege(t, "policy: {sandbox: "+level+"}\n")
			for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"}} {
				cmd := exec.Command("git", args...)
				cmd.Dir = s.work
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			evil := filepath.Join(s.work, "evil.sh")
			if err := os.WriteFile(evil, []byte("#!/bin/sh\ntouch '"+s.outside+"/pwned'; touch pwned; rm -f keep\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			s.permission = "allow_always"
			for _, line := range []string{"git grep first", "sort notes.txt", "git log -1", "git diff", "git branch", "find . -name x", "tar --version", "git status", "sed -n 1p notes.txt", "awk 1 notes.txt"} {
				s.run(line)
			}
			s.permission = "reject_once"
			lines := []string{
				"git grep -O./evil.sh first", "git grep --open-files-in-pager=./evil.sh first", "sort -nrbfo keep notes.txt", "sort -okeep notes.txt", "sort --compress-program=./evil.sh notes.txt", "git log --output=keep -1", "git diff --ext-diff",
				"git diff --output=keep", "git -c core.pager=./evil.sh log -1", "git -c core.fsmonitor=./evil.sh status", "git -c alias.log=!./evil.sh log", "git --exec-path=. log", "git -C / log", "git branch -f keep", "find . -name keep -delete",
				"find . -fprint keep", "find . -exec ./evil.sh ;", "tar cf keep --checkpoint=1 --checkpoint-action=exec=./evil.sh notes.txt", "sed -n '1w keep' notes.txt", "sed -n '1e ./evil.sh' notes.txt", "sed -i s/keep// keep", "awk 'BEGIN{system(\"./evil.sh\")}'",
			}
			if level == "none" {
				for _, line := range lines {
					s.wantAsked(line)
				}
				s.kept("true")
			} else {
				for _, line := range lines {
					s.run(line)
				}
			}
			s.over()
		}
	})
}

// With however many commands on a line, a denied one is found, and a line that is too long to be looked
// at is never allowed. No line costs more than its length.
// policy.TestManyCommands, TestDeepCommands and TestBraces are thorough.
func TestAttack10(t *testing.T) {
	t.Parallel()
	s := besiege(t, anywhere+"deny: [{tool: shell_command, command: 'rm *'}, {path: '**/*secret*'}]}\n")
	for _, n := range []int{1, 49, 50, 51, 5000} {
		for _, sep := range []string{"; ", " && ", "\n", " | "} {
			s.kept(strings.Repeat("true"+sep, n)+"rm keep", "rm keep"+strings.Repeat(sep+"true", n))
		}
	}
	deep := strings.Repeat
	s.kept(
		deep("(", 200)+"rm keep"+deep(")", 200), deep("$(", 200)+"rm keep"+deep(")", 200), deep("{ ", 5000)+"rm keep"+deep("; }", 5000), "true "+deep("x", 1<<20)+"; rm keep", "true "+deep("x ", 30_000)+"; rm keep",
		deep("if true; then ", 300)+"rm keep"+deep("; fi", 300), "rm "+deep("keep ", 20_000),
	)
	s.place.write(t, "a-secret.txt", s.secret)
	began := time.Now()
	for _, word := range []string{deep("{,}", 66) + "x", deep("{a,b}", 40), "{1..999999999}", deep("*", 5000), deep("?*", 500), deep("[a-z]*", 500), deep("@(a|b)", 60), deep("{,}", 66) + "*secret*", deep("{a,{b,", 30) + "x" + deep("}}", 30)} {
		s.run("cat " + word)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the braces took %v", took)
	}
	s.over()
}

// Variables that change what a command does come neither with an allowed line, nor from a folder, nor
// from the environment of the gateway.
// policy.TestAllowedCommands and tools.TestShellEnvironment are thorough.
func TestAttack11(t *testing.T) {
	t.Parallel()
	p, outside, secret := siegePlace(t)
	poison := []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "PROMPT_COMMAND", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_DIR", "PAGER", "GIT_PAGER", "EDITOR", "NODE_OPTIONS",
		"PYTHONSTARTUP", "PYTHONPATH", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "BASH_FUNC_ls%%",
	}
	for _, name := range poison {
		if !strings.HasPrefix(name, "LD_") { // these would hinder the gateway itself
			p.env = append(p.env, name+"=poison-"+secret)
		}
	}
	for _, name := range []string{".env", ".envrc", ".dragoman/.env", ".eca/.env", "home/.env"} {
		p.put(t, filepath.Join(p.work, name), "POISON=poison-"+secret+"\nPATH=/nowhere\nDRAGOMAN_DATA=/nowhere\n")
	}
	s := p.siege(t, outside, secret, "policy: {sandbox: none, allow: [{tool: shell_command, command: ls}, {tool: shell_command, command: 'ls *'}, {tool: shell_command, command: 'git status'}]}\n")
	for _, name := range poison {
		if strings.ContainsRune(name, '%') {
			continue
		}
		for _, form := range []string{"%s=./evil ls", "export %s=./evil; ls", "export %s=./evil && git status", "declare -x %s=./evil; ls", "readonly %s=./evil; ls", "typeset -x %s=./evil\nls", "printf -v %s ./evil; ls", "read %s < notes.txt; ls"} {
			s.wantAsked(fmt.Sprintf(form, name))
			if name != "PAGER" && name != "LD_PRELOAD" {
				break // all forms of two, the first form of all
			}
		}
	}
	for _, line := range []string{"unset PATH; ls", "set -a; ls", ". ./.env; ls", "source .envrc && ls", "hash -p ./evil ls; ls", "enable -f ./evil ls; ls", "cd sub && ls", "shopt -s expand_aliases; ls"} {
		s.wantAsked(line)
	}
	s.permission = "allow_once"
	if told := s.run("env"); strings.Contains(told, "poison") || !strings.Contains(told, "PATH="+os.Getenv("PATH")) {
		t.Errorf("env: %s", told)
	}
	s.over()
}

// What a repository has git run when somebody only looks at it has no effect outside of the sandbox, and
// the gateway itself runs no git there.
func TestAttack12(t *testing.T) {
	t.Parallel()
	for _, level := range levels[:2] {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			p, outside, secret := siegePlace(t)
			git := func(args ...string) {
				t.Helper()
				cmd := exec.Command("git", args...)
				cmd.Dir, cmd.Env = p.work, p.env
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			evil := filepath.Join(p.work, "evil.sh")
			p.put(t, evil, "#!/bin/sh\necho ran >> '"+p.work+"/ran'; echo x > '"+outside+"/pwned'; echo x >> '"+outside+"/secret.txt'; echo x > ~/.bashrc; cat ~/.ssh/id_rsa '"+outside+"/../home/.ssh/id_rsa' >&2\ncat\n")
			if err := os.Chmod(evil, 0o700); err != nil {
				t.Fatal(err)
			}
			git("init", "-q")
			p.put(t, filepath.Join(p.work, ".gitattributes"), "*.txt diff=evil filter=evil merge=evil\n")
			git("add", "notes.txt", ".gitattributes")
			git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", "x")
			for name, value := range map[string]string{
				"core.fsmonitor": evil, "core.hooksPath": p.work, "core.pager": evil, "core.sshCommand": evil, "core.editor": evil, "diff.evil.textconv": evil, "diff.evil.command": evil, "filter.evil.clean": evil, "filter.evil.smudge": evil,
				"credential.helper": "!" + evil, "gpg.program": evil, "log.showSignature": "true", "alias.status": "!" + evil, "diff.external": evil, "uploadpack.packObjectsHook": evil,
			} {
				git("config", name, value)
			}
			for _, hook := range []string{"pre-commit", "post-checkout", "post-index-change", "reference-transaction"} {
				if err := os.Link(evil, filepath.Join(p.work, hook)); err != nil {
					t.Fatal(err)
				}
			}
			p.write(t, "notes.txt", "another note\n")
			s := p.siege(t, outside, secret, "policy: {sandbox: "+level+"}\n")
			s.permission = "allow_once"
			s.do("grep", object{"pattern": "note"})
			s.prompt(s.id, "/context")
			absent(t, filepath.Join(p.work, "ran"), "the gateway ran a program of the repository")
			for _, line := range []string{"git status", "git diff", "git log -p -1", "git show", "git stash list", "git add -A", "git checkout -q -- notes.txt", "git blame notes.txt"} {
				s.run(line)
			}
			if _, err := os.Stat(filepath.Join(p.work, "ran")); err != nil {
				t.Errorf("the repository's programs did not even run: %v", err)
			}
			s.over()
		})
	}
}

// What is asked about is what runs, and nothing in it can hide or rewrite a part of what is shown.
// tools.TestVisible, TestTitles and terminal's TestTranscriptIsPrintable are thorough.
func TestAttack13(t *testing.T) {
	t.Parallel()
	s := besiege(t, "policy: {sandbox: none}\n")
	s.permission = "hold"
	for _, text := range []string{
		"\x1b[2K\x1b[1Aharmless", "\x1b]0;title\a", "\x1b]8;;http://x\a", "\u202egpj.exe", "\u2066x\u2069", "a\u200bb", "a\u2060b", "\ufeffx", "x\u2028y", "x\u2029y", "x\ty", "x\ry", "\b\b\b\b", strings.Repeat(" ", 500) + "evil", "x\x7f", "\u009b2J",
		"\U000e0041\U000e0042", "x\u00ady", "\u3164", "e\u0301\u0301\u0301",
	} {
		line := "echo '" + text + "' > shown"
		n := len(s.held)
		s.say(s.call("shell_command", object{"command": line}))
		s.read("a question", func() bool { return len(s.held) == n+1 })
		m := s.held[n]
		var p struct {
			ToolCall struct {
				Title    string
				RawInput struct{ Command string }
				Content  json.RawMessage
			}
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatalf("%s: %v", m.raw, err)
		}
		if p.ToolCall.RawInput.Command != line {
			t.Errorf("asked about %q, which is not %q", p.ToolCall.RawInput.Command, line)
		}
		for _, hidden := range []string{"\x1b", "\a", "\b", "\r", "\u202e", "\u2066", "\u200b", "\u2060", "\ufeff", "\u2028", "\u2029", "\x7f", "\u009b", "\U000e0041", "\u00ad", "\u3164"} {
			var shown any
			if err := json.Unmarshal(p.ToolCall.Content, &shown); len(p.ToolCall.Content) > 0 && err != nil {
				t.Fatal(err)
			}
			if strings.Contains(p.ToolCall.Title, hidden) || strings.Contains(fmt.Sprint(shown), hidden) {
				t.Errorf("%q is shown as it is: %q %q", hidden, p.ToolCall.Title, p.ToolCall.Content)
			}
		}
		var options struct {
			Options []struct{ OptionID, Kind string }
		}
		if err := json.Unmarshal(m.Params, &options); err != nil {
			t.Fatal(err)
		}
		turns := len(s.answers)
		for _, o := range options.Options {
			if o.Kind == "allow_once" {
				s.reply(m, object{"outcome": object{"outcome": "selected", "optionId": o.OptionID}})
			}
		}
		s.read("the end of the turn", func() bool { return len(s.answers) > turns })
		holds(t, filepath.Join(s.work, "shown"), text+"\n", "what was shown is what runs")
	}
	s.over()
}

// An answer counts for the call that was asked about, in its session and folder, for the client that gave
// it. core.TestWhatWasPreviewedIsWhatRuns, TestCallIDs and policy.TestCommandScopes are thorough.
func TestAttack14(t *testing.T) {
	t.Parallel()
	s := besiege(t, "policy: {sandbox: none}\n")
	other := filepath.Join(filepath.Dir(s.work), "other")
	s.place.put(t, filepath.Join(other, "notes.txt"), "other\n")
	s.permission = "allow_always"
	s.do("write_file", object{"path": "made.txt", "content": "x"})
	s.run("touch one")
	n := s.asks()
	if s.run("touch one"); n != 2 || s.asks() != n {
		t.Fatalf("%d and %d questions", n, s.asks())
	}
	// The file has changed since it was shown.
	s.permission = "hold"
	first := s.id
	s.id = s.session()
	s.say(s.call("edit_file", object{"path": "notes.txt", "old": "first", "new": "last"}))
	s.read("a question", func() bool { return len(s.held) == 1 })
	s.place.write(t, "notes.txt", "first, and a line that nobody was shown\n")
	s.permission = "allow_once"
	turns := len(s.answers)
	s.serve(s.held[0])
	s.read("the end of the turn", func() bool { return len(s.answers) > turns })
	holds(t, filepath.Join(s.work, "notes.txt"), "first, and a line that nobody was shown\n", "it has changed since it was shown")

	s.permission = "reject_once"
	for _, where := range []string{s.work, other} {
		s.id = field[string](t, s.ok("session/new", object{"cwd": where, "mcpServers": []any{}}), "sessionId")
		s.wantAsked("touch one")
		n := s.asks()
		if s.do("write_file", object{"path": "made.txt", "content": "y"}); s.asks() != n+1 {
			t.Errorf("in %s: a file was written without a question", where)
		}
	}
	s.id = first
	s.wantAsked("touch two")
	s.wantAsked("touch one; touch two")
	s.over()

	// Another client that names the session gets nothing of what was allowed in it.
	c := s.place.call(t, quickly(t), "--config", filepath.Join(filepath.Dir(s.place.home), "config.yaml"))
	r := c.prompt(first, `write_file {"path":"made.txt","content":"z"}`)
	if len(r.Structured.Approvals) != 1 {
		t.Errorf("an MCP client was not asked: %s", r.text())
	}
	c.stop()
	holds(t, filepath.Join(s.work, "made.txt"), "x", "what an editor's user allowed")
	if entries, err := os.ReadDir(other); err != nil || len(entries) != 1 {
		t.Errorf("in the other folder: %v %v", entries, err)
	}
}

// A program that a file of the workspace tells what to do gets around the rules on a line, which is
// allowed and runs, and the sandbox keeps from it what the rules deny to read. With rm denied, it removes
// nothing outside.
func TestDeniedInTheSandbox(t *testing.T) {
	t.Parallel()
	p, outside, secret := siegePlace(t)
	reach := "cat .env sub/.env; cat .e*; cp .env copy; ln .env hard; mv .env moved; rm -rf '" + outside + "' ~/.ssh"
	for name, text := range map[string]string{
		".env": secret, "sub/.env": secret,
		"run.sh":      "#!/bin/sh\n. ./script.sh\n",
		"script.sh":   reach + "; echo ran-$1",
		"script.py":   "import os, sys\ntry: print(open('.e' + 'nv').read())\nexcept OSError as e: print(e)\nos.system('sh script.sh ' + sys.argv[1])\n",
		"script.js":   "const c = require('child_process'); console.log(c.execSync(`sh script.sh ${process.argv[2]} 2>&1; true`).toString())\n",
		"script.pl":   "open F, '.env'; print <F>; system 'sh', 'script.sh', $ARGV[0];\n",
		"script.awk":  "BEGIN { while ((getline x < \".env\") > 0) print x; system(\"sh script.sh \" n) }\n",
		"script.find": "find . -name '.e*' -exec cat {} +; sh script.sh $1\n",
		"Makefile":    "all:\n\t-@cat .env\n\t@sh script.sh $(n)\n",
	} {
		p.put(t, filepath.Join(p.work, name), text)
	}
	if err := os.Chmod(filepath.Join(p.work, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := p.siege(t, outside, secret, "policy: {default: allow, deny: [{path: '**/.env'}, {tool: shell_command, command: 'rm *'}]}\n")
	for i, line := range []string{
		"sh script.sh %d", "./run.sh %d", "python3 script.py %d", "node script.js %d", "perl script.pl %d", "awk -v n=%d -f script.awk", "sh script.find %d", "make n=%d", "env nice sh script.sh %d",
	} {
		line = fmt.Sprintf(line, i)
		if told := s.run(line); !strings.Contains(told, fmt.Sprint("ran-", i)) {
			t.Errorf("%q did not run: %.300q", line, told)
		}
	}
	if s.asks() > 0 {
		t.Errorf("%d lines were asked about, and not left to the sandbox", s.asks())
	}
	holds(t, filepath.Join(s.work, ".env"), secret, "it is denied")
	for _, name := range []string{"copy", "hard", "moved"} {
		if text, err := os.ReadFile(filepath.Join(s.work, name)); err == nil && strings.Contains(string(text), secret) {
			t.Errorf("%s has the secret", name)
		}
	}
	s.over()
}
