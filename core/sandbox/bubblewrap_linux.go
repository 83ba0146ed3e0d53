package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hand replaces this process by bubblewrap, which starts our program inside.
func (b *bubblewrap) hand(o order) error {
	w := wrapping{profile: o.Profile, layers: b.Layers}
	w.arrange()
	if w.err != nil {
		return w.err
	}
	w.add("--chdir", "/", "--", programPath, filledName)
	for fd := orderFD; fd <= reportFD; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	err := unix.Exec(b.Program, append([]string{b.Program}, w.args...), []string{})
	return &os.PathError{Op: "become", Path: b.Program, Err: err}
}

// fill gives up what bubblewrap has left us, and becomes the guard.
func fill(o order) error {
	if err := unix.Dup3(1, 2, 0); err != nil { // bubblewrap's standard error was ours
		return os.NewSyscallError("dup3", err)
	}
	report("filled")
	return confine(o)
}

// wrapping is the view of files as arguments of bubblewrap. It is the same view as that of arrange, in the
// same order. The paths are looked at as they are outside.
type wrapping struct {
	profile Profile
	layers  bool
	args    []string
	err     error // the first one
}

func (w *wrapping) add(args ...string) { w.args = append(w.args, args...) }

func (w *wrapping) arrange() {
	w.add("--unshare-user", "--unshare-pid", "--unshare-ipc", "--as-pid-1", "--new-session", "--cap-drop", "ALL")
	if !w.profile.Open {
		w.add("--unshare-net")
	}
	w.add("--ro-bind", "/", "/")
	w.empty()
	w.system()
	w.base()
	w.caches()
	for _, path := range shortFirst(w.profile.Write) {
		w.bind("--bind", path)
	}
	w.hide()
	for _, path := range w.profile.ReadOnly {
		if w.shown(path) {
			w.bind("--ro-bind", path)
		}
	}
}

// bind shows a path as it is outside; what does not exist is passed over.
func (w *wrapping) bind(how, path string) {
	if _, err := os.Lstat(path); err == nil {
		w.add(how, path, path)
	}
}

// fresh adds an empty folder of a size in MiB.
func (w *wrapping) fresh(at, mode string, size int) {
	w.add("--perms", mode, "--size", strconv.Itoa(size<<20), "--tmpfs", at)
}

func (w *wrapping) empty() {
	w.fresh("/run", "0755", runSize)
	if at, err := filepath.EvalSymlinks("/var/run"); err == nil && at != "/run" {
		w.fresh(at, "0755", runSize)
	}
	for _, path := range w.profile.Empty {
		if strings.HasPrefix(path, "/run/") {
			w.add("--perms", "0700", "--dir", path)
		} else if _, err := os.Stat(path); err == nil {
			w.fresh(path, "0700", runSize)
		}
	}
}

// system adds the devices and processes.
func (w *wrapping) system() {
	w.add("--dev", "/dev")
	w.fresh("/dev/shm", "1777", shmSize)
	w.add("--remount-ro", "/dev", "--proc", "/proc")
	for _, name := range settings {
		w.bind("--ro-bind", "/proc/"+name)
	}
}

func (w *wrapping) base() {
	if tmp := w.profile.Tmp; tmp != "" {
		w.add("--bind", tmp, "/tmp")
		if at, err := filepath.EvalSymlinks("/var/tmp"); err == nil && at != "/tmp" {
			w.add("--bind", tmp, at)
		}
	}
	for _, path := range w.profile.shown() {
		w.bind("--ro-bind", path)
	}
}

func (w *wrapping) caches() {
	for _, l := range w.profile.Layers {
		upper, work := filepath.Join(l.Store, "upper"), filepath.Join(l.Store, "work")
		if l.Lower != "" && w.layers {
			w.add("--overlay-src", l.Lower, "--overlay", upper, work, l.At)
		} else {
			w.add("--bind", upper, l.At)
		}
	}
}

func (w *wrapping) hide() {
	for _, path := range w.profile.Hidden {
		info, err := os.Lstat(path)
		switch {
		case err != nil || !w.shown(path):
		case info.IsDir():
			w.fresh(path, "0555", 1)
			w.add("--remount-ro", path)
		default:
			w.mask(path)
		}
	}
	for _, path := range w.profile.Sockets {
		if isSocket(path) && w.shown(path) {
			w.mask(path)
		}
	}
}

// mask puts an empty file on a path. Nobody can connect to it either.
func (w *wrapping) mask(path string) {
	fd, err := unix.MemfdCreate("nothing", 0)
	if err != nil {
		w.err = errors.Join(w.err, &fs.PathError{Op: "hide", Path: path, Err: err})
		return
	}
	w.add("--perms", "0444", "--ro-bind-data", strconv.Itoa(fd), path)
}

// shown reports whether programs would see what is at a path outside: a mount point that is made for it
// would be left behind.
func (w *wrapping) shown(path string) bool {
	p := w.profile
	if slices.ContainsFunc(p.Hidden, func(dir string) bool { return dir != path && within(dir, path) }) && !covered(p.Write, path) {
		return false
	}
	return !replaced(path) || covered(p.Write, path) || covered(p.shown(), path)
}
