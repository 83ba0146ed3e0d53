//go:build unix

package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// guardName is what a guard is called in lists of processes.
const guardName = "dragoman-guard"

// guardScript is what a guard does for the group $1. It reads until the pipe
// ends: nothing is ever written, so that happens when we die. Nobody is left
// then to wait for a polite end. The group is stopped at once: so its number goes on
// meaning it. On Linux, whose /proc tells who is whose, those that left the group
// are looked for, and theirs, before all are killed: what is killed is nobody's
// parent any more. It is for any sh and needs no other program.
const guardScript = `trap "" HUP INT QUIT TERM
read -r end && exit
id=$1
kill -s STOP -- "-$id"
for round in 1 2 3 4 5; do
	ours=" "
	grown=yes
	while [ "$grown" ]; do
		grown=
		for f in /proc/[0-9]*/stat; do
			read -r line <"$f" || continue
			pid=${line%% *}
			set -f -- ${line##*") "}
			[ "$1" != Z ] || continue
			case "$ours" in
			*" $pid "*) continue ;;
			*" $2 "* | *" $4 "*) ;;
			*) [ "$4" = "$id" ] || continue ;;
			esac
			ours="$ours$pid "
			grown=yes
		done
		set +f
	done
	kill -s KILL -- "-$id"
	[ "$ours" != " " ] || exit 0
	for pid in $ours; do
		kill -s KILL "$pid"
	done
done`

// gateScript is what a program's process does until it has a guard: it waits for
// a line on descriptor 3 and becomes the program then. Without one, because we
// died, it ends. Its input is not touched: that is the program's.
const gateScript = `read -r open <&3 && exec 3<&- && exec "$@"`

// guard is a process beside a group which ends it when we are killed. The zero
// guard does nothing: a program is not refused because it cannot be guarded.
//
// The guard's input is a pipe of which we alone have the other end, and nothing
// that we start inherits that: so the guard does not outlive us either. It has a
// session of its own, away from signals to our group and to the program's.
type guard struct {
	sh      string   // "": there is none
	gate    *os.File // what the program waits for; nil: it does not
	waiting *os.File // the other end
	cmd     *exec.Cmd
	pipe    *os.File
}

// hold has the program, which is about to be started, wait for start: so there
// is no moment at which it runs and nobody would end it. close must follow.
func (g *guard) hold(cmd *exec.Cmd) {
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	if g.sh == "" || !keeps(env) {
		return // guarded, if at all, when it runs already
	}
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	g.gate, g.waiting = w, r
	cmd.ExtraFiles = []*os.File{r}
	cmd.Args = append([]string{"sh", "-c", gateScript, "sh", cmd.Path}, cmd.Args[min(1, len(cmd.Args)):]...)
	cmd.Path = g.sh
}

// start starts the guard of a group and lets the program begin.
func (g *guard) start(id int) {
	if g.sh != "" {
		g.begin(id)
	}
	if g.gate != nil {
		_, _ = g.gate.WriteString("\n") // does not block: the pipe is empty
	}
	g.open()
}

func (g *guard) begin(id int) {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: g.sh, Args: []string{"sh", "-c", guardScript, guardName, strconv.Itoa(id)}, Env: []string{}, Dir: "/", Stdin: r,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return
	}
	g.cmd, g.pipe = cmd, w
}

// open closes our ends of the gate. What still waits there ends.
func (g *guard) open() {
	if g.gate != nil {
		g.gate.Close()
		g.waiting.Close()
		g.gate, g.waiting = nil, nil
	}
}

// dismiss makes sure that the guard does nothing any more, in whatever state it
// is. It does not wait.
func (g *guard) dismiss() {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
	}
}

// close dismisses the guard and waits for its end.
func (g *guard) close() {
	g.open()
	if g.cmd != nil {
		g.dismiss()
		_ = g.cmd.Wait() // it was killed
		g.pipe.Close()   // after that: the end of the pipe is what it acts upon
	}
}

// findShell finds an sh; "": there is none.
func findShell() string {
	for _, name := range []string{"/bin/sh", "sh"} {
		// One of the current folder is not found: LookPath says ErrDot.
		if path, err := exec.LookPath(name); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

// keeps reports whether every sh hands all of the environment on: dash loses
// variables whose names the shell's language does not have.
func keeps(env []string) bool {
	return !slices.ContainsFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != "" || name == "" || name[0] <= '9'
	})
}
