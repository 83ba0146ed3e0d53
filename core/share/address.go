package share

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// address leads to a process: it has the path of a socket, and a key that only readers of the data
// folder know.
type address struct{ path, key string }

// String returns the form of core.Journal.Owner.
func (a address) String() string { return a.path + " " + a.key }

// parseAddress is the inverse of String.
func parseAddress(text string) (address, error) {
	i := strings.LastIndexByte(text, ' ')
	if i < 1 || !filepath.IsAbs(text[:i]) {
		return address{}, fmt.Errorf("the address %q of a process is not one of a socket", text)
	}
	return address{text[:i], text[i+1:]}, nil
}

// Dir returns the folder of the sockets of a user: dragoman in XDG_RUNTIME_DIR, or else
// /tmp/dragoman-UID. It is not in the data folder, whose path may be too long for a socket.
func Dir(getenv func(string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return filepath.Join(dir, "dragoman")
		}
	}
	return filepath.Join(os.TempDir(), "dragoman-"+strconv.Itoa(os.Getuid()))
}

// nodeAt describes the process at an address, for people.
func nodeAt(at string) string {
	to, err := parseAddress(at)
	if err != nil {
		return "another one"
	}
	return fmt.Sprint("process ", processOf(filepath.Base(to.path)))
}

// socketName returns the name of a process's socket. Its beginning is the number of the process.
func socketName(pid int, random string) string { return strconv.Itoa(pid) + "-" + random }

// processOf returns the number of the process whose socket has a name; 0: it is no such name.
func processOf(name string) int {
	number, _, ok := strings.Cut(name, "-")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil || pid < 1 {
		return 0
	}
	return pid
}

// processes lists the processes that have a socket in a folder.
func processes(dir string) map[int][]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	list := map[int][]string{}
	for _, e := range entries {
		if pid := processOf(e.Name()); pid > 0 {
			list[pid] = append(list[pid], filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// errRefused is the error for a connection that was refused; others can come.
var errRefused = errors.New("the connection was refused")

// listener accepts the connections of other processes of the same user.
type listener struct {
	net     *net.UnixListener
	address address
	dir     string
}

// there reports whether the socket still has its name.
func (l *listener) there() bool {
	_, err := os.Lstat(l.address.path)
	return err == nil
}

// close stops it, and removes the socket, and the folder if no other process has one there.
func (l *listener) close() {
	_ = l.net.Close()
	_ = os.Remove(l.dir)
}
