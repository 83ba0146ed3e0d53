//go:build unix

package tools

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// guardName is what a guard is called in lists of processes.
const guardName = "dragoman-guard"

// guardScript is what a guard does. It learns the command's group, and then
// reads until the pipe ends: nothing else is ever written, so that happens when
// we die. Nobody is left then to wait for a polite end, and the shell itself was
// killed outright; so is the rest, at once, before the group's number can mean
// another one. On Linux the command may have made other groups in its session,
// as timeout(1) and job control do: they are found in /proc until there is none.
// It is for any sh and needs no other program.
const guardScript = `trap "" HUP INT QUIT TERM
read -r id || exit
read -r end && exit
kill -s KILL -- "-$id"
for round in 1 2 3 4 5; do
	found=
	for f in /proc/[0-9]*/stat; do
		read -r line <"$f" || continue
		set -f -- ${line##*") "}
		[ "$4" = "$id" ] && [ "$1" != Z ] || continue
		found=yes
		kill -s KILL -- "-$3"
	done
	[ "$found" ] || exit 0
	set +f
done`

// guard is a process beside a command which ends the command's group when we
// are killed. The nil guard does nothing: a command is not refused because it
// could not be guarded.
//
// Its input is a pipe of which we alone have the other end, and nothing that we
// start inherits that: so the guard does not outlive us either. It has a session
// of its own, away from signals to our group and to the command's, and it holds
// neither the command's output nor its folder.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// startGuard starts a guard, before the command, so that there is no moment
// without one. It is nil where that fails.
func startGuard(env []string) *guard {
	sh := findShell("sh").path
	if sh == "" {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: sh, Args: []string{"sh", "-c", guardScript, guardName}, Env: env, Dir: "/", Stdin: r,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil
	}
	return &guard{cmd, w}
}

// protect tells the guard the group. It does not wait: so few bytes fit.
func (g *guard) protect(id int) {
	if g != nil {
		_, _ = g.pipe.WriteString(strconv.Itoa(id) + "\n")
	}
}

// dismiss makes sure that the guard does nothing any more, in whatever state it
// is. It does not wait.
func (g *guard) dismiss() {
	if g != nil {
		_ = g.cmd.Process.Kill()
	}
}

// close dismisses the guard and waits for its end.
func (g *guard) close() {
	if g != nil {
		g.dismiss()
		_ = g.cmd.Wait() // it was killed
		g.pipe.Close()   // after that: the end of the pipe is what it acts upon
	}
}
