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

// parseReport reads the lines of a launcher. A report without an error means that the guard runs, if
// bubblewrap is to start it only one that says so (filled).
func parseReport(text string) (pid int, filled bool, err error) {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "guard":
			if pid, err = strconv.Atoi(rest); err != nil || pid <= 0 {
				return 0, filled, fmt.Errorf("the launcher reports the process %q", rest)
			}
		case "proxy": // with the listener
		case "filled":
			filled = true
		case "failed":
			return pid, filled, errors.New(rest)
		default:
			return pid, filled, fmt.Errorf("the launcher reports %q", line)
		}
	}
	return pid, filled, nil
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

// listenForProxy listens in this network namespace, and passes the listener to the gateway, which
// serves it from outside.
func listenForProxy() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.Bind(s, &unix.SockaddrInet4{Port: proxyPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(s, 128); err != nil {
		return err
	}
	return unix.Sendmsg(reportFD, []byte("proxy\n"), unix.UnixRights(s), nil, 0)
}

// reports reads all that a launcher reports, and the descriptors that come with it.
func reports(socket int) (text string, files []int, err error) {
	const most = 4 << 10
	buf, rights := make([]byte, most), make([]byte, unix.CmsgSpace(4*4))
	for len(text) < most {
		n, got, _, _, err := unix.Recvmsg(socket, buf, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return text, files, err
		}
		list, _ := unix.ParseSocketControlMessage(rights[:got])
		for _, c := range list {
			if more, err := unix.ParseUnixRights(&c); err == nil {
				files = append(files, more...)
			}
		}
		if n == 0 {
			break
		}
		text += string(buf[:n])
	}
	return text, files, nil
}
