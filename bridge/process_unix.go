//go:build unix

package bridge

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// guardName is what a guard is called in lists of processes.
const guardName = "dragoman-guard"

// guardScript is what a guard does for the group $1: it reads until the pipe ends,
// which happens when we die, and then ends the group, and on Linux the groups that
// were made in its session, at once: while it waited a number could come to mean
// another group.
const guardScript = `trap "" HUP INT QUIT TERM
read -r end && exit
kill -s KILL -- "-$1"
id=$1
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

// gateScript is what the child's process does until it has a guard: it waits for a
// line on descriptor 3 and becomes the program then. Without one, because we died,
// it ends. Its input is not touched: that is the program's.
const gateScript = `read -r open <&3 && exec 3<&- && exec "$@"`

// group is the processes of a child: the program leads a session and a process
// group of its own. Beside it runs a guard, a small sh that waits for our end.
type group struct {
	id    int
	env   []string
	sh    string   // "": there is none, and no guard
	gate  *os.File // what the program waits for; nil: it does not
	pipe  *os.File // of the guard: its end is our end
	guard *exec.Cmd
}

// newGroup prepares cmd, which has all but that already. Once started, the program
// waits for adopt. close must follow.
func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	g := &group{env: cmd.Env}
	if g.sh = shell(); g.sh == "" || !keeps(cmd.Env) {
		return g // guarded, if at all, when it runs already
	}
	r, w, err := os.Pipe()
	if err != nil {
		return g
	}
	g.gate = w
	cmd.ExtraFiles = []*os.File{r}
	cmd.Args = append([]string{"sh", "-c", gateScript, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = g.sh
	return g
}

// adopt is told the program once it runs, and has the group guarded.
func (g *group) adopt(p *os.Process) error {
	g.id = p.Pid
	if g.sh != "" {
		g.begin()
	}
	if g.gate != nil {
		_, _ = g.gate.WriteString("\n") // does not block: the pipe is empty
		g.gate.Close()
	}
	return nil
}

func (g *group) begin() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: g.sh, Args: []string{"sh", "-c", guardScript, guardName, strconv.Itoa(g.id)}, Env: g.env, Dir: "/", Stdin: r,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return
	}
	g.guard, g.pipe = cmd, w
}

// leave is called when the group has been ended and before the program is waited
// for: from then on its number may come to mean another group.
func (g *group) leave() {
	if g.guard != nil {
		_ = g.guard.Process.Kill()
	}
}

// close ends the guard and waits for it.
func (g *group) close() {
	if g.gate != nil {
		g.gate.Close()
	}
	if g.guard != nil {
		g.leave()
		_ = g.guard.Wait() // it was killed
		g.pipe.Close()     // after that: the end of the pipe is what it acts upon
		g.guard = nil
	}
}

// terminate asks all processes to end.
func (g *group) terminate() { g.signal(syscall.SIGTERM) }

// kill ends them. It is repeated while a process starts others faster.
func (g *group) kill() {
	for range 10 {
		g.signal(syscall.SIGKILL)
		if !g.alive() {
			return
		}
	}
}

// shell finds sh.
func shell() string {
	path, err := exec.LookPath("/bin/sh")
	if err != nil {
		if path, err = exec.LookPath("sh"); err != nil {
			return ""
		}
	}
	return path
}

// keeps reports whether every sh hands all of the environment on: dash loses
// variables whose names the shell's language does not have.
func keeps(env []string) bool {
	return !slices.ContainsFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != "" || name == "" || name[0] <= '9'
	})
}

// signalOf names the signal that ended a process; "": none did.
func signalOf(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
