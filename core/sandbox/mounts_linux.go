package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What every program in a full sandbox has of its own, in MiB at most.
const (
	runSize = 16
	shmSize = 256
)

// guarded holds for all that is mounted: no program in it gets the rights of its owner, and no
// device in it works.
const guarded = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// arrange builds the view of files that programs in the sandbox have, in the mount namespace of
// this process. Everything is made read-only at once, recursively: a remount of the root alone
// leaves the mounts below it writable. What is to be writable was picked up before and is put back
// on top.
func arrange(p Profile) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	v := &view{profile: p}
	steps := []func() error{
		v.pickUp, v.lock, v.prepare, v.empty, v.devices, v.processes, v.base, v.layer, v.place, v.hide, v.protect, v.clear,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return os.Chdir("/")
}

// view is the view of files while it is built.
type view struct {
	profile Profile
	under   []part // to put back before the layers
	parts   []part // to put back after them; those above others first
	nodes   []part // devices
	stores  []int  // of the layers
}

// part is a piece of the old view, and where it belongs in the new one.
type part struct {
	at   string
	tree int
}

// scratch is a place for what is needed only while the view is built.
const scratch = "/sys"

// detach copies the mount of a path, with those below it.
func detach(path string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, &os.PathError{Op: "open the mount of", Path: path, Err: err}
	}
	return fd, nil
}

// set adds attributes to a mount and those below it.
func set(fd int, path string, attributes uint64) error {
	flags := uint(unix.AT_RECURSIVE)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if err := unix.MountSetattr(fd, path, flags, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return &os.PathError{Op: "restrict the mount of", Path: path, Err: err}
	}
	return nil
}

// put mounts a detached tree on a path.
func put(fd int, at string) error {
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &os.PathError{Op: "mount", Path: at, Err: err}
	}
	return unix.Close(fd)
}

// pickUp opens what is to be writable, and the devices, before all is made read-only.
func (v *view) pickUp() error {
	if v.profile.Tmp != "" {
		if err := pick(&v.under, "/tmp", v.profile.Tmp, guarded); err != nil {
			return err
		}
	}
	for _, path := range v.profile.shown() {
		if err := pick(&v.under, path, path, guarded|unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
	}
	for _, path := range shortFirst(v.profile.Write) {
		if err := pick(&v.parts, path, path, guarded); err != nil {
			return err
		}
	}
	for _, l := range v.profile.Layers {
		fd, err := detach(l.Store)
		if err == nil {
			err = set(fd, "", guarded)
		}
		if err != nil {
			return err
		}
		v.stores = append(v.stores, fd)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		fd, err := detach("/dev/" + name)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		v.nodes = append(v.nodes, part{at: "/dev/" + name, tree: fd})
	}
	return nil
}

// shortFirst sorts paths so that a folder comes before what is in it.
func shortFirst(paths []string) []string {
	return slices.SortedFunc(slices.Values(paths), func(a, b string) int { return cmp.Compare(len(a), len(b)) })
}

// shown lists what can be read below /tmp and /run.
func (p Profile) shown() []string {
	show := p.Show
	if names, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && p.Open && strings.HasPrefix(names, "/run/") {
		show = append(slices.Clone(show), names)
	}
	return shortFirst(show)
}

// pick picks up a path; what does not exist is passed over.
func pick(list *[]part, at, path string, attributes uint64) error {
	fd, err := detach(path)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err == nil {
		err = set(fd, "", attributes)
	}
	if err == nil {
		*list = append(*list, part{at: at, tree: fd})
	}
	return err
}

// lock makes all that there is read-only.
func (v *view) lock() error { return set(unix.AT_FDCWD, "/", guarded|unix.MOUNT_ATTR_RDONLY) }

// fresh mounts an empty file system of a size in MiB that programs can write to.
func fresh(at, mode string, size int) error {
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=%s,size=%dm", mode, size)); err != nil {
		return &os.PathError{Op: "mount an empty folder on", Path: at, Err: err}
	}
	return nil
}

// prepare fills scratch with what masks others: an empty folder, an empty file and a socket that
// nobody listens on; and with the stores of the layers, which would be read-only elsewhere.
func (v *view) prepare() error {
	if err := fresh(scratch, "0755", 1); err != nil {
		return err
	}
	if err := os.Mkdir(scratch+"/folder", 0o555); err != nil {
		return err
	}
	if err := os.WriteFile(scratch+"/file", nil, 0o444); err != nil {
		return err
	}
	if err := unix.Mknod(scratch+"/socket", unix.S_IFSOCK|0o444, 0); err != nil {
		return &os.PathError{Op: "make a socket", Path: scratch, Err: err}
	}
	for i, fd := range v.stores {
		at := v.store(i)
		if err := os.Mkdir(at, 0o700); err != nil {
			return err
		}
		if err := put(fd, at); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) store(i int) string { return fmt.Sprintf("%s/store%d", scratch, i) }

// clear shows again what was at scratch before.
func (v *view) clear() error {
	if err := unix.Unmount(scratch, unix.MNT_DETACH); err != nil {
		return &os.PathError{Op: "unmount", Path: scratch, Err: err}
	}
	return nil
}

// empty puts an empty folder where programs have sockets and other things of their own.
func (v *view) empty() error {
	if err := fresh("/run", "0755", runSize); err != nil {
		return err
	}
	if at, err := filepath.EvalSymlinks("/var/run"); err == nil && at != "/run" {
		if err := fresh(at, "0755", runSize); err != nil {
			return err
		}
	}
	for _, path := range v.profile.Empty {
		if strings.HasPrefix(path, "/run/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := fresh(path, "0700", runSize); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

// devices gives programs the few devices that they need.
func (v *view) devices() error {
	if err := fresh("/dev", "0755", 1); err != nil {
		return err
	}
	for _, n := range v.nodes {
		if err := os.WriteFile(n.at, nil, 0o600); err != nil {
			return err
		}
		if err := put(n.tree, n.at); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return &os.PathError{Op: "mount terminals on", Path: "/dev/pts", Err: err}
	}
	if err := fresh("/dev/shm", "1777", shmSize); err != nil {
		return err
	}
	for link, to := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(to, "/dev/"+link); err != nil {
			return err
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/dev", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return &os.PathError{Op: "restrict the mount of", Path: "/dev", Err: err}
	}
	return nil
}

// settings are the places in /proc with which whoever owns them changes the system. Root outside
// owns them, and is root inside too if it started us.
var settings = []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "tty", "driver", "asound"}

// processes shows programs the processes of the sandbox.
func (v *view) processes() error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return &os.PathError{Op: "mount the list of processes on", Path: "/proc", Err: err}
	}
	for _, name := range settings {
		if err := lockAgain("/proc/" + name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// lockAgain mounts a path on itself, read-only.
func lockAgain(path string) error {
	fd, err := detach(path)
	if err != nil {
		return err
	}
	if err := set(fd, "", guarded|unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	return put(fd, path)
}

// base puts back what lies below the layers.
func (v *view) base() error {
	for _, p := range v.under {
		if err := p.put(); err != nil {
			return err
		}
		if p.at != "/tmp" {
			continue
		}
		if err := again("/tmp", "/var/tmp"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// place puts back what is writable.
func (v *view) place() error {
	for _, p := range v.parts {
		if err := p.put(); err != nil {
			return err
		}
	}
	return nil
}

// put mounts a part where it belongs. A place that is gone, because it is below one that is the
// sandbox's own, such as /tmp, is made there.
func (p part) put() error {
	_, err := os.Stat(p.at)
	if errors.Is(err, os.ErrNotExist) {
		var info os.FileInfo
		if info, err = statTree(p.tree); err == nil {
			err = makeMountPoint(p.at, info.IsDir())
		}
	}
	if err != nil {
		return err
	}
	return put(p.tree, p.at)
}

func statTree(fd int) (os.FileInfo, error) { return os.Stat(fmt.Sprintf("/proc/self/fd/%d", fd)) }

// makeMountPoint makes an empty folder or file to mount something on.
func makeMountPoint(at string, dir bool) error {
	if dir {
		return os.MkdirAll(at, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, nil, 0o600)
}

// again mounts what is at one path on another one as well.
func again(from, at string) error {
	if real, err := filepath.EvalSymlinks(at); err != nil || real == from {
		return err
	}
	fd, err := detach(from)
	if err != nil {
		return err
	}
	return put(fd, at)
}

// layer puts caches of the sandbox's own over those of the user. Where the system has no layers,
// the cache is empty at first.
func (v *view) layer() error {
	for i, l := range v.profile.Layers {
		upper, work := v.store(i)+"/upper", v.store(i)+"/work"
		if l.Lower != "" {
			options := "lowerdir=" + escape(l.Lower) + ",upperdir=" + escape(upper) + ",workdir=" + escape(work) + ",userxattr"
			if unix.Mount("overlay", l.At, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options) == nil {
				continue
			}
		}
		fd, err := detach(upper)
		if err != nil {
			return err
		}
		if _, err := os.Stat(l.At); err != nil {
			if err := makeMountPoint(l.At, true); err != nil {
				return err
			}
		}
		if err := put(fd, l.At); err != nil {
			return err
		}
	}
	return nil
}

// escape writes a path as overlayfs reads it.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(path)
}

// hide masks what must not be read or connected to. What is missing stays missing: a mount point
// made for it would be seen inside, and would stay behind.
func (v *view) hide() error {
	for _, path := range v.profile.Hidden {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		by := "/file"
		switch {
		case info.IsDir():
			by = "/folder"
		case info.Mode().Type() == os.ModeSocket:
			by = "/socket"
		}
		if err := mask(path, by); err != nil {
			return err
		}
	}
	for _, path := range v.profile.Sockets {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
			continue
		}
		if err := mask(path, "/socket"); err != nil {
			return err
		}
	}
	return nil
}

// mask mounts something from scratch on a path.
func mask(path, by string) error {
	fd, err := detach(scratch + by)
	if err != nil {
		return err
	}
	if err := set(fd, "", guarded|unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	return put(fd, path)
}

// protect makes what exists of the read-only paths so again, where a writable folder holds it.
func (v *view) protect() error {
	for _, path := range v.profile.ReadOnly {
		if err := lockAgain(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
