package sandbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// execveat becomes the program of a descriptor, without any variable of the environment.
func execveat(fd int, path *byte, argv []*byte) error {
	var none *byte
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(path)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&none)), unix.AT_EMPTY_PATH, 0)
	return fmt.Errorf("become the guard: %w", errno)
}

// parseReport reads the lines of a launcher. Only an empty report, or one with a number and
// nothing else, means that the guard runs.
func parseReport(text string) (pid int, err error) {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "guard":
			if pid, err = strconv.Atoi(rest); err != nil || pid <= 0 {
				return 0, fmt.Errorf("the launcher reports the process %q", rest)
			}
		case "failed":
			return pid, errors.New(rest)
		default:
			return pid, fmt.Errorf("the launcher reports %q", line)
		}
	}
	return pid, nil
}

// raiseLoopback switches the loopback interface of this network namespace on.
func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, req); err != nil {
		return err
	}
	req.SetUint16(req.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req)
}
