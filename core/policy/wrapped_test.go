package policy

import (
	"slices"
	"strings"
	"testing"

	"dragoman/core"
)

// FuzzWrapped checks that a command or a path that a rule denies is not allowed by wrapping it, however
// wraps are nested, in a session that is trusted, in a turn that approves by itself, and where the
// default is to allow.
func FuzzWrapped(f *testing.F) {
	commands := []string{
		"%s", "%s | cat", "echo '%s' | sh", "echo \"%s\" | bash -s", "sh <<E\n%s\nE", "bash <<<'%s'", "sh -c '%s'", "bash -lc \"%s\"", "eval '%s'", "eval \"%s\"",
		"env A=1 %s", "timeout 5 %s", "nice -n 5 nohup %s", "sudo -u x %s", "xargs %s", "echo '%s' | xargs -I{} sh -c {}", "find . -exec %s ;", "git -c alias.x='!%s' x", "git submodule foreach '%s'",
		"GIT_PAGER='%s' git log", "alias y='%s'; y", "f() { %s; }; f", "trap '%s' EXIT", "split --filter='%s' a", "prlimit --nofile=9 %s", "setpriv --no-new-privs %s", "/lib64/ld-linux-x86-64.so.2 %s",
		"echo 'x: ; %s' | make -f-", "make --eval='x: ; %s'", "echo '%s' > s; sh s", "echo '%s' | tee s; ./s", "cat <(%s)", "sh <(echo '%s')", "tee >(%s)", "coproc %s", "exec <<E\n%s\nE\nsh",
		"(%s)", "{ %s; }", "! %s", "if true; then %s; fi", "while %s; do break; done", "case a in a) %s;; esac", "x=$(%s)", "echo $((1+$(%s)))", "cat <<E\n$(%s)\nE", "true && %s", "true\n%s", "true & %s",
		"python3 -c 'import os; os.system(\"%s\")'", "perl -e 'system(\"%s\")'", "awk 'BEGIN{system(\"%s\")}'", "python3 <<E\nimport os; os.system('%s')\nE", "node -e 'x(\"%s\")'", "vim -c '!%s' a", "ed a <<E\n!%s\nE",
		"ssh h '%s'", "docker run x sh -c '%s'", "tar --checkpoint-action=exec='%s' -cf a b", "run-parts '%s'", "%s > a", "A=1 %s", "time %s", "coproc { %s; }", "echo `%s`", "[[ -n $(%s) ]]", "rsync -e '%s' a b:", "bwrap %s", "fakeroot -- %s",
	}
	paths := []string{
		"cat %s", "cat ./%s", "cat a/../%s", "cat $PWD/%s", "cat \"$PWD\"/%s", "cat /proc/self/cwd/%s", "cat /proc/self/root$PWD/%s", "curl -d@%s x", "curl -d @%s x", "curl -FF=@%s x", "curl -T%s x", "grep -f%s a", "tool --file=%s", "tool -x@%s", "tool a:%s",
		"git show HEAD:%s", "git show HEAD:./%s", "cat < %s", "cat <%s >b", "cp %s b", "mv %s b", "ln -s %s b", "tar cf a %s", "f=%s; cat $f", "for f in a %s; do cat $f; done", "cd . && cat %s", "env -C . cat %s", "echo %s | xargs cat", "cat $(echo %s)",
		"python3 -c \"open('%s')\"", "python3 <<E\nopen('%s')\nE", "awk '{getline < \"%s\"}'", "sh -c 'cat %s'", "bash <<<'cat %s'", "sed -n p %s", "dd if=%s", "docker run -v %s:/x y", "rsync %s h:", "cat {a,%s}", "curl file://$PWD/%s", "cat {%s,a}", "while read l; do :; done < %s",
	}
	for i := range commands {
		f.Add(uint16(i), uint16(i*7+3), uint8(i), uint8(i))
	}
	for i := range paths {
		f.Add(uint16(i*5), uint16(i), uint8(i+1), uint8(i))
	}
	rules := slices.Concat(commandRules, pathRules)
	denied := []string{"rm x", "rm -rf /", "/bin/rm x", "git push", "git push origin", "curl x.org", "cat .env"}
	hidden := []string{".env", "sub/.env", "k.pem", "docs/notes.txt", "keys/x", ".e?v", "*.pem", "docs/n*", "k?ys/x", ".ssh/x", "secrets/x"}
	f.Fuzz(func(t *testing.T, outer, inner uint16, which, name uint8) {
		quoted := func(s string) string { return strings.NewReplacer("'", `'\''`, "\n", " ; ").Replace(s) }
		if o := commands[int(outer)%len(commands)]; strings.Contains(o, `"%s"`) && !strings.Contains(o, "'") {
			quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace
		}
		d, p := denied[int(which)%len(denied)], hidden[int(name)%len(hidden)]
		o, c := commands[int(outer)%len(commands)], commands[int(inner)%len(commands)]
		at := paths[int(inner)%len(paths)]
		lines := []string{
			strings.ReplaceAll(c, "%s", d),
			strings.ReplaceAll(at, "%s", p),
		}
		for _, line := range lines {
			if strings.Contains(line, "`") && strings.Contains(o, "`") {
				continue // they do not nest
			}
			wraps := []string{line, strings.ReplaceAll(o, "%s", quoted(line))}
			if !strings.ContainsAny(line, `'"`) || !strings.ContainsAny(o, `'"`) {
				wraps = append(wraps, strings.ReplaceAll(o, "%s", line))
			}
			for _, whole := range wraps {
				if v := everywhere(t, rules, whole); v.Effect == core.Allow {
					t.Errorf("%q is allowed: %s", whole, v.Why)
				}
			}
		}
	})
}
