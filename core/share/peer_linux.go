package share

import (
	"bytes"
	"errors"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOf returns the process at the other end of a connection.
func peerOf(conn *net.UnixConn) (p peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return p, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return p, err
	}
	return peer{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}

// parentOf returns the parent of a process; negative: the process is not in sight, because it has ended
// or because it is outside of this process's namespace. known is always true here.
func parentOf(pid int) (parent int, known bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil || pid < 1 {
		return -1, true
	}
	// The name of the program, in parentheses, may have any bytes.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return -1, true
	}
	parent, err = strconv.Atoi(string(fields[1]))
	if err != nil {
		return -1, true
	}
	return parent, true
}
