package logs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core/datadir"
	"dragoman/core/display"
)

const (
	// serverDir holds a log for each MCP server, in the data folder.
	serverDir = "mcp-logs"
	// maxFile is the size in bytes at which such a log is rotated; one older one is kept.
	maxFile = 1 << 20
	// maxLine limits a line of it, in bytes.
	maxLine = 8 << 10
	// lineTime has a fixed length, and sorts by time.
	lineTime = "2006-01-02T15:04:05.000Z"
)

// Servers stores the log messages of MCP servers. Add never waits: lines go through a backlog for
// each server, and lines that do not fit are counted. Several processes may write the same files.
type Servers struct {
	dir string // "": nothing is stored
	now func() time.Time

	mu     sync.Mutex // guards the fields below
	of     map[string]*writer
	closed bool
}

// OpenServers stores logs in a data folder; "": nothing is stored.
func OpenServers(data string) *Servers {
	l := &Servers{now: time.Now, of: map[string]*writer{}}
	if data != "" {
		l.dir = filepath.Join(data, serverDir)
	}
	return l
}

// Add stores a line. It does not wait.
func (l *Servers) Add(server, level, text string) {
	if l.dir == "" {
		return
	}
	if w := l.writer(server); w != nil {
		_, _ = w.Write(l.line(level, text)) // it never fails
	}
}

func (l *Servers) line(level, text string) []byte {
	text = strings.ReplaceAll(strings.TrimRight(display.Printable(text), " \t\n"), "\n", " ")
	if len(text) > maxLine {
		text = display.Cut(text, maxLine) + "…"
	}
	return fmt.Appendf(nil, "%s %-5s %s\n", l.now().UTC().Format(lineTime), level, text)
}

// writer returns a server's backlog, created with its first line.
func (l *Servers) writer(server string) *writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.of[server]
	if w == nil && !l.closed {
		w = newWriter(rotatedLog(serverPath(l.dir, server)), func(n int) []byte {
			return l.line(
				"warn",
				fmt.Sprintf("%d lines are missing here: they arrived faster than they could be written", n),
			)
		})
		w.start()
		l.of[server] = w
	}
	return w
}

// Close writes the remaining lines, within the time limit at the end of the program.
func (l *Servers) Close() {
	l.mu.Lock()
	l.closed = true
	all := slices.Collect(maps.Values(l.of))
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, w := range all {
		wg.Go(func() { w.close(storeFor) })
	}
	wg.Wait()
}

// serverPath returns the path of a server's log. The name may be from a client: any name results
// in one file of the folder.
func serverPath(dir, server string) string {
	var b strings.Builder
	for i := range len(server) {
		if c := server[i]; c == '-' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	name := b.String()
	return filepath.Join(dir, name[:min(len(name), 120)]+".log")
}

// older returns the path of the older log.
func older(path string) string { return path + ".1" }

// rotatedLog is the path of a log. The file is opened for each write: another process may have
// rotated it.
type rotatedLog string

// Write implements io.Writer. Lines of one write stay together.
func (s rotatedLog) Write(lines []byte) (int, error) {
	path := string(s)
	f, err := openFile(path)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(lines)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return n, err
	}
	if info.Size() < maxFile {
		return n, nil
	}
	// Another process may have rotated it a moment ago.
	if now, err := os.Stat(path); err != nil || !os.SameFile(now, info) {
		return n, nil
	}
	return n, os.Rename(path, older(path))
}

// RemoveServer removes a server's log from a data folder.
func RemoveServer(data, server string) error {
	path := serverPath(filepath.Join(data, serverDir), server)
	return errors.Join(datadir.Remove(path), datadir.Remove(older(path)))
}
