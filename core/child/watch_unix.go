//go:build unix && !linux

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

// watchName is the name of a watch in lists of processes.
const watchName = "dragoman-guard"

// watchScript is the program of a watch for the group $1. It reads until the pipe
// ends: nothing is ever written, so that happens when we die. Nobody is left
// then to wait for a polite end. The group is stopped first of all: so its number goes
// on meaning it until all of it is killed. It is for any sh and needs no other program.
const watchScript = `trap "" HUP INT QUIT TERM
read -r end && exit
kill -s STOP -- "-$1"
kill -s KILL -- "-$1"`

// gateScript runs in a program's process until that has a watch: it waits for
// a line on descriptor 3 and becomes the program then. Without one, because we
// died, it ends. Its input is not touched: that is the program's.
const gateScript = `read -r open <&3 && exec 3<&- && exec "$@"`

// watch is a process next to a group that ends the group when we are killed. The zero
// watch does nothing: a program is not refused because it cannot be watched.
//
// The watch's input is a pipe. Only we have the other end, and nothing that we start
// inherits it, so the watch does not outlive us either. It has a session of its own, away
// from signals to our group and to the program's.
type watch struct {
	sh      string     // "": there is none
	gate    *os.File   // the program waits for it; nil: it does not wait
	waiting *os.File   // the other end
	kept    []*os.File // that the watch's process holds open
	cmd     *exec.Cmd
	pipe    *os.File
}

// hold makes the program, which is about to be started, wait for start, so it never runs
// without a process that would end it. close must follow.
func (g *watch) hold(cmd *exec.Cmd) {
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	if g.sh == "" || !keeps(env) {
		return // watched, if at all, when it runs already
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

// start starts the watch of a group and lets the program begin.
func (g *watch) start(id int) {
	if g.sh != "" {
		g.begin(id)
	}
	if g.gate != nil {
		_, _ = g.gate.WriteString("\n") // does not block: the pipe is empty
	}
	g.open()
}

func (g *watch) begin(id int) {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: g.sh, Args: []string{"sh", "-c", watchScript, watchName, strconv.Itoa(id)}, Env: []string{}, Dir: "/", Stdin: r, ExtraFiles: g.kept,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return
	}
	g.cmd, g.pipe = cmd, w
}

// open closes our ends of the gate. What still waits there ends.
func (g *watch) open() {
	if g.gate != nil {
		g.gate.Close()
		g.waiting.Close()
		g.gate, g.waiting = nil, nil
	}
}

// dismiss makes sure that the watch does nothing any more, in whatever state it
// is. It does not wait.
func (g *watch) dismiss() {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
	}
}

// close dismisses the watch and waits for its end.
func (g *watch) close() {
	g.open()
	if g.cmd != nil {
		g.dismiss()
		_ = g.cmd.Wait() // it was killed
		g.pipe.Close()   // only now: the watch acts on the end of the pipe
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
		return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != "" ||
			name == "" ||
			name[0] <= '9'
	})
}
