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
		"%s |& cat", "sh <<'E'\n%s\nE", "sh <<-E\n\t%s\n\tE", "bash <<E | cat\n%s\nE", "cat <<E | sh\n%s\nE", "cat <<'E' >s; chmod +x s; ./s\n%s\nE", "cp a s; echo '%s' >> s; ./s", "ln -s /bin/sh q; echo '%s' | ./q", "alias y='%s'\ny", "alias 'y=%s'; y", "git config alias.x '!%s' && git x",
		"ruby -e 'system(\"%s\")'", "php -r'system(\"%s\");'", "lua -e 'os.execute(\"%s\")'", "node --eval='x(\"%s\")'", "deno eval 'x(\"%s\")'", "perl <<<'system(\"%s\")'", "echo 'import os; os.system(\"%s\")' | python3 -", "sed '1e %s' a", "sed -e'1e %s' a", "gawk -f <(echo 'BEGIN{system(\"%s\")}')", "emacs --batch --eval '(shell-command \"%s\")'",
		"bash --rcfile=<(echo '%s') -i", "BASH_ENV=<(echo '%s') bash -c :", "PS4='$(%s)'; set -x; :", "CC='%s' make", "GOFLAGS='-toolexec=%s' go build", "EDITOR='%s' git commit", "LESSOPEN='|%s' less x", "env -S'%s'", "env --split-string='%s'", "script -qc'%s' a", "su x -c'%s'", "flock a -c '%s'", "watch '%s'", "fd -x %s", "fd --exec='%s'", "find . -execdir %s {} +", "parallel '%s' ::: a",
		"time -- %s", "/usr/bin/time -p %s", "exec -a x %s", "command -p %s", "busybox sh -c '%s'", "strace -f %s", "gdb --args %s", "tmux new '%s'", "at now <<E\n%s\nE", "echo '* * * * * %s' | crontab -", "make -f- <<E\nx: ; %s\nE", "make 'X=$(shell %s)'", "chronic %s", "cross-env A=1 %s", "sshpass -p x %s", "xvfb-run %s", "concurrently '%s'", "nodemon -x '%s'",
		"git -calias.x='!%s' x", "git -c core.sshCommand='%s' fetch", "git bisect run %s", "git rebase -x'%s' main", "git clone -u '%s' a b", "git grep -O'%s' x", "git difftool --extcmd='%s'", "git fetch --upload-pack='%s'", "fzf --preview '%s'", "fzf --bind='enter:execute(%s)'", "tar -I'%s' -cf a b", "tar --to-command='%s' -xf a", "sort --compress-program='%s' a", "rg --pre='%s' x", "rg --pre '%s' x",
		"rsync -e'%s' a b:", "zip -T -TT '%s' a b", "zip -TT'%s' a b", "man -P'%s' x", "less '+!%s' a", "vim '+!%s' a", "tcpdump -z '%s' -w a", "socat - EXEC:'%s'", "ncat --sh-exec '%s' h 1", "sqlite3 a '.shell %s'", "npm exec -c '%s'", "npx -c '%s'", "pnpm dlx %s", "poetry run %s", "bundle exec %s", "conda run %s", "op run -- %s", "go test -exec '%s' ./...", "go build -toolexec='%s'", "nix-shell --run '%s'",
		"kubectl exec x -- %s", "mapfile -C '%s' -c 1 a", "bind -x '\"a\": %s'", "complete -C '%s' x", "compgen -C '%s'", ". /dev/stdin <<E\n%s\nE", "eval \"$(echo '%s')\"", "$(echo %s)", "x='%s'; $x", "x='%s'; eval \"$x\"", "set -- %s; \"$@\"", "a=(%s); \"${a[@]}\"", "read x <<<'%s'; $x", "printf -v x '%s'; $x", "x=${y:-$(%s)}", "select x in a; do %s; break; done", "until %s; do break; done",
		"for ((i=$(%s);;)); do break; done", "((x=$(%s)))", "a[$(%s)]=1", "export x=$(%s)", "f() ( %s ); f", "if false; then :; else %s; fi", "cat < $(%s)", "cat <<< $(%s)", "cat <(cat <(%s))", "false || %s", "2>&1 %s", "{fd}>a %s",
	}
	paths := []string{
		"cat %s", "cat ./%s", "cat a/../%s", "cat $PWD/%s", "cat \"$PWD\"/%s", "cat /proc/self/cwd/%s", "cat /proc/self/root$PWD/%s", "curl -d@%s x", "curl -d @%s x", "curl -FF=@%s x", "curl -T%s x", "grep -f%s a", "tool --file=%s", "tool -x@%s", "tool a:%s",
		"git show HEAD:%s", "git show HEAD:./%s", "cat < %s", "cat <%s >b", "cp %s b", "mv %s b", "ln -s %s b", "tar cf a %s", "f=%s; cat $f", "for f in a %s; do cat $f; done", "cd . && cat %s", "env -C . cat %s", "echo %s | xargs cat", "cat $(echo %s)",
		"python3 -c \"open('%s')\"", "python3 <<E\nopen('%s')\nE", "awk '{getline < \"%s\"}'", "sh -c 'cat %s'", "bash <<<'cat %s'", "sed -n p %s", "dd if=%s", "docker run -v %s:/x y", "rsync %s h:", "cat {a,%s}", "curl file://$PWD/%s", "cat {%s,a}", "while read l; do :; done < %s",
		"cat %s|cat", "echo $(<%s)", "cat <<E\n$(< %s)\nE", "alias y='cat %s'; y", "cat ~+/%s", "cd a && cat ~-/%s", "cat ${PWD}/%s", "cat $(pwd)/%s", "cat /proc/self/task/1/cwd/%s", "cat ''%s", "cat ${x:-%s}", "set -- %s; cat $1", "sh -c 'cat \"$0\"' %s", "xargs cat <<<%s", "xargs -a%s echo", "find %s -exec cat {} +", "ln %s b && cat b", "cp -tb %s", "exec 3<%s; cat <&3", "cat <>%s",
		"cat /dev/fd/3 3<%s", "tee %s", "echo x &>%s", "sed r%s a", "sed 1R%s a", "sed -n s/a/b/w%s a", "sed -f%s a", "sort -o%s a", "wc --files0-from=%s", "gcc -include%s a.c", "gcc @%s", "docker run -v./%s:/x y", "docker run -v$PWD/%s:/x y", "docker run --mount type=bind,src=%s,dst=/x y", "docker run --env-file=%s y", "kubectl create secret generic x --from-file=k=%s", "curl -K%s", "curl --data-binary=@%s x",
		"wget --post-file=%s x", "http x y:=@%s", "git cat-file -p :%s", "git show HEAD^:%s", "git log -L1,9:%s", "git diff --no-index a %s", "git commit -F%s", "tar -T%s -cf a", "tar -C . -cf a %s", "rsync --files-from=%s a b", "scp %s h:", "ssh -i%s h", "openssl enc -pass file:%s", "socat - OPEN:%s,rdonly", "nc h 1 < %s", "vim -c 'r %s'", "ruby -e 'File.read(\"%s\")'", "php -r 'readfile(\"%s\");'", "jq --rawfile x %s .", "pip install -r%s",
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
