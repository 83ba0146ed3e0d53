package share

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerOf returns the process at the other end of a connection.
func peerOf(conn *net.UnixConn) (p peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return p, err
	}
	var cred *unix.Xucred
	var pid int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); failed == nil {
			pid, failed = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return p, err
	}
	return peer{uid: int(cred.Uid), pid: pid}, nil
}

// parentOf returns the parent of a process; negative: the process is not in sight. known is always true
// here.
func parentOf(pid int) (parent int, known bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return -1, true
	}
	return int(info.Eproc.Ppid), true
}
