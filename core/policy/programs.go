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
