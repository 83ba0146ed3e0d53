package policy

import "slices"

// delegators run other programs, or code that stands in their arguments or in
// what they read.
var delegators = []string{
	"env", "timeout", "nice", "nohup", "time", "stdbuf", "setsid", "ionice", "chrt", "taskset", "unshare", "nsenter", "chroot", "script",
	"xargs", "parallel", "watch", "entr", "find", "fd", "sudo", "doas", "su", "runuser", "pkexec", "systemd-run", "at", "batch", "crontab",
	"flock", "strace", "ltrace", "gdb", "lldb", "valgrind", "perf", "busybox", "toybox", "start-stop-daemon",
	"sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd",
	"eval", "exec", "command", "builtin", "source", ".", "trap", "alias", "coproc",
	"python", "python2", "python3", "pypy", "node", "nodejs", "deno", "bun", "bunx", "npx", "pnpx", "uvx", "pipx", "uv", "tsx", "ts-node",
	"ruby", "perl", "php", "lua", "luajit", "tclsh", "expect", "osascript", "java", "groovy", "scala", "Rscript", "julia", "ghci", "irb", "erl",
	"awk", "gawk", "mawk", "nawk", "sed", "gsed", "ed", "ex", "vi", "vim", "nvim", "emacs", "less", "more", "man", "tar", "rsync", "ssh",
	"scp", "sftp", "docker", "podman", "kubectl", "nix", "nix-shell", "direnv", "asdf", "mise", "tmux", "screen", "dbus-launch", "m4",
}

// runsOthers reports whether a program, without its folder, is a delegator.
func runsOthers(program string) bool { return slices.Contains(delegators, program) }

// changers are commands of the shell that change what later commands mean.
var changers = []string{
	"alias", "unalias", "set", "unset", "shopt", "export", "declare", "typeset", "local", "readonly", "eval", "exec", "source", ".", "trap",
	"enable", "hash", "builtin", "command", "read", "mapfile", "readarray", "getopts", "printf", "bind", "complete", "compgen", "ulimit", "umask",
}

// lookers only look, whatever their arguments, as long as these name nothing
// outside and no option of theirs writes or runs.
var lookers = []string{
	"ls", "cat", "head", "tail", "wc", "pwd", "echo", "grep", "egrep", "fgrep", "rg", "file", "stat", "du", "df", "date", "which", "type",
	"diff", "cmp", "sort", "cut", "tr", "nl", "basename", "dirname", "realpath", "true", "false", "tree", "md5sum", "sha256sum", "jq",
	"pytest", "mypy", "ruff", "flake8", "eslint", "tsc", "jest", "vitest", "gofmt", "shellcheck", "staticcheck",
}

// narrowOnly are programs whose effect is in their arguments: each line of them
// is another thing.
var narrowOnly = []string{
	"rm", "rmdir", "unlink", "shred", "mv", "cp", "ln", "dd", "install", "truncate", "tee", "touch", "mkdir", "chmod", "chown", "chgrp", "chattr",
	"kill", "pkill", "killall", "curl", "wget", "nc", "ncat", "socat", "mount", "umount", "reboot", "shutdown", "systemctl", "service", "launchctl",
	"patch", "printf", "apt", "apt-get", "dnf", "yum", "brew", "pip", "pip3", "gem", "make", "gmake", "ninja", "cmake", "open", "xdg-open",
}

// deeper are sub-commands that mean nothing without the word after them.
var deeper = []string{
	"npm run", "pnpm run", "yarn run", "cargo xtask", "gh pr", "gh issue", "gh run", "gh repo", "go mod", "git stash", "git remote", "git worktree",
}

// narrowSub are sub-commands that run or fetch what their arguments say,
// whatever the program. npm run and its like are in deeper.
var narrowSub = []string{
	"exec", "x", "dlx", "run", "shell", "ssh", "eval", "generate", "tool", "install", "i", "add", "ci", "config", "foreach", "bisect", "submodule",
	"rebase", "difftool", "mergetool", "filter-branch", "daemon", "upload-pack", "receive-pack", "push", "clone", "clean", "reset", "get",
	"publish", "apply", "am", "login", "link", "init", "create", "update", "upgrade", "alias", "api", "extension",
}

// narrowAdd are exceptions to narrowSub: the sub-command is harmless there.
var narrowAdd = []string{"git add"}

// tellingOptions are words in the names of options that name a program, code,
// or a file that is written.
var tellingOptions = []string{
	"exec", "execute", "toolexec", "vettool", "tool", "cmd", "command", "shell", "pager", "editor", "hook", "hooks", "config", "plugin",
	"preload", "require", "loader", "out", "output", "outfile", "outdir", "eval", "script", "upload", "receive", "pack", "ext", "textconv",
	"program", "pre", "overlay", "ssh", "write", "ldflags", "extld", "modfile", "compress", "fix", "open",
}
