//go:build unix

package share

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"dragoman/core/child"
)

// listen makes a socket in the folder, which it creates if necessary, and removes those of processes
// that have ended.
func listen(dir string) (l *listener, err error) {
	for range 3 { // another process may remove the folder that it leaves empty
		if l, err = listenIn(dir); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return l, err
}

func listenIn(dir string) (*listener, error) {
	if err := ownDir(dir); err != nil {
		return nil, err
	}
	for pid, left := range processes(dir) {
		if !child.Alive(pid) {
			for _, path := range left {
				_ = os.Remove(path) // it is of no use to anybody, and harms nobody
			}
		}
	}
	at := address{filepath.Join(dir, socketName(os.Getpid(), strings.ToLower(rand.Text()[:8]))), strings.ToLower(rand.Text())}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at.path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(at.path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &listener{net: l, address: at, dir: dir}, nil
}

// ownDir creates a folder, and refuses one that others own or may use, and a link.
func ownDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the folder %s of the sockets is not this user's alone", dir)
	}
	return nil
}

// accept waits for a connection. errRefused: it was not one of a process of this user, or one of a
// program that a gateway has started.
func (l *listener) accept() (net.Conn, error) {
	conn, err := l.net.AcceptUnix()
	if err != nil {
		return nil, err
	}
	if err := l.check(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	return conn, nil
}

// check refuses a connection of another user, and one of a program that this process or another
// gateway has started.
func (l *listener) check(conn *net.UnixConn) error {
	peer, err := peerOf(conn)
	if err != nil {
		return err
	}
	if peer.uid != os.Getuid() {
		return fmt.Errorf("a process of user %d", peer.uid)
	}
	gateways := processes(l.dir)
	gateways[os.Getpid()] = nil
	return strangers(peer.pid, os.Getpid(), gateways)
}

// strangers returns an error if a process descends from a gateway, or if its ancestors cannot be seen.
// The process that listens may connect to itself.
func strangers(pid, self int, gateways map[int][]string) error {
	if pid == self {
		return nil
	}
	for at, deep := pid, 0; ; deep++ {
		parent, known := parentOf(at)
		switch {
		case child.Guarded(at): // by a gateway whose sockets are in another folder, say
			return fmt.Errorf("process %d, which a gateway has started", pid)
		case !known:
			return nil // the system does not say
		case parent < 0 || deep > maxDeep:
			return fmt.Errorf("process %d, whose ancestors cannot be seen", pid)
		case parent <= 1:
			return nil
		}
		if _, is := gateways[parent]; is {
			return fmt.Errorf("process %d, which process %d has started", pid, parent)
		}
		at = parent
	}
}

// maxDeep limits the ancestors of a process that are looked at.
const maxDeep = 256

// peer is the process at the other end of a connection.
type peer struct{ uid, pid int }
