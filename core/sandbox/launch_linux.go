package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"dragoman/core/child"
)

// The names of a launcher's process, as its last argument. The outer one makes the namespaces, the
// inner one fills them; filled ones are those of bubblewrap.
const (
	outerName  = "dragoman-sandbox"
	innerName  = "dragoman-sandbox-inside"
	filledName = "dragoman-sandbox-filled"
)

// The descriptors of a launcher. The guard that it becomes has the first alone.
const (
	socketFD  = iota
	_         // standard output: the null device
	_         // standard error: the null device
	orderFD   // the order, to be read
	programFD // our own program
	reportFD  // a socket for lines that name the guard's process and say what failed, and for the proxy's listener
)

// programPath is our own program for a launcher, by programFD.
const programPath = "/proc/self/fd/4"

// init turns this process into a launcher if it was started as one, before the rest of the program
// is set up.
func init() {
	as := ""
	switch {
	case len(os.Args) == 1 && (os.Args[0] == outerName || os.Args[0] == innerName):
		as = os.Args[0]
	case len(os.Args) == 2 && os.Args[0] == programPath && os.Args[1] == filledName:
		as = filledName
	default:
		return
	}
	runtime.LockOSThread() // what is given up is given up by a thread
	if err := launch(as); err != nil {
		report("failed " + err.Error())
	}
	unix.Exit(1)
}

func report(line string) { _, _ = unix.Write(reportFD, append([]byte(line), '\n')) }

// launch carries out the order and becomes the guard. It returns only if that fails, or if another
// process has become it.
func launch(as string) error {
	for fd := orderFD; fd <= reportFD; fd++ {
		unix.CloseOnExec(fd)
	}
	text, err := readAll(orderFD)
	if err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	switch {
	case as == innerName:
		return enter(o)
	case as == filledName:
		return fill(o)
	case o.Bubblewrap != nil:
		return o.Bubblewrap.hand(o)
	case o.Level == child.Full:
		return divide(o)
	}
	if err := restrictFiles(o.Profile); err != nil {
		return err
	}
	return become(o)
}

// readAll reads a file from its beginning: another process may have read it before.
func readAll(fd int) ([]byte, error) {
	var all []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Pread(fd, buf, int64(len(all)))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return all, nil
		}
		all = append(all, buf[:n]...)
	}
}

// divide starts the inner launcher in namespaces of its own. We are between it and the gateway
// because an ordinary user can map ids only for the children of a process that may be inspected,
// and the gateway cannot. The new process is the gateway's child, so we need not stay.
func divide(o order) error {
	uid, gid := os.Getuid(), os.Getgid()
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_PARENT
	if !o.Profile.Open {
		flags |= unix.CLONE_NEWNET
	}
	pid, err := syscall.ForkExec(programPath, []string{innerName}, &syscall.ProcAttr{
		Env:   []string{},
		Files: []uintptr{socketFD, 1, 2, orderFD, programFD, reportFD},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  uintptr(flags),
			Setsid:      true,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}, // who is not root loses the others
		},
	})
	if err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	report(fmt.Sprint("guard ", pid))
	unix.Exit(0)
	return nil
}

// enter prepares the namespaces from inside, and becomes the guard.
func enter(o order) error {
	if err := arrange(o.Profile); err != nil {
		return err
	}
	if !o.Profile.Open {
		if err := raiseLoopback(); err != nil {
			return fmt.Errorf("switch the loopback interface on: %w", err)
		}
	}
	return confine(o)
}

// confine gives up all rights in the namespaces, and becomes the guard.
func confine(o order) error {
	if o.Profile.Proxy {
		if err := listenForProxy(); err != nil {
			return fmt.Errorf("listen for the proxy: %w", err)
		}
	}
	if err := dropRights(); err != nil {
		return err
	}
	if err := filterCalls(reach{unix: true, streams: true, packets: true}); err != nil {
		return err
	}
	return become(o)
}

// become replaces this process by a guard.
func become(o order) error {
	path, err := unix.BytePtrFromString("")
	if err != nil {
		return err
	}
	argv, err := syscall.SlicePtrFromStrings([]string{o.Name})
	if err != nil {
		return err
	}
	return execveat(programFD, path, argv)
}

// dropRights gives up every capability for good: what is started from here cannot get one either.
func dropRights() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			if errors.Is(err, unix.EPERM) && !privileged() {
				break // there is nothing to give up
			}
			return fmt.Errorf("give up capabilities: %w", err)
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("rule out new rights: %w", err)
	}
	return nil
}

// privileged reports whether this process has any capability.
func privileged() bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	return unix.Capget(&head, &has[0]) != nil || slices.ContainsFunc(has[:], func(d unix.CapUserData) bool {
		return d.Effective|d.Permitted|d.Inheritable != 0
	})
}
