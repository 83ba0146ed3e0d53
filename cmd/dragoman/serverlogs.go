package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// serverLogDir holds a log for each MCP server, in the data folder.
	serverLogDir = "mcp-logs"
	// maxServerLog is how large such a log gets before it is put aside; one older one is kept.
	maxServerLog = 1 << 20
	// maxServerLine bounds a line of it, in bytes.
	maxServerLine = 8 << 10
	// serverLogTime is always as long, and sorts as it reads.
	serverLogTime = "2006-01-02T15:04:05.000Z"
)

// serverLogs keeps what MCP servers say. Telling it something never waits: lines go
// through a backlog for each server, and what does not fit is counted. Several
// processes may write the same files.
type serverLogs struct {
	dir string // "": nothing is kept
	now func() time.Time

	mu     sync.Mutex // guards the fields below
	of     map[string]*logWriter
	closed bool
}

// openServerLogs keeps logs in a data folder; "": nothing is kept.
func openServerLogs(data string) *serverLogs {
	l := &serverLogs{now: time.Now, of: map[string]*logWriter{}}
	if data != "" {
		l.dir = filepath.Join(data, serverLogDir)
	}
	return l
}

// add keeps a line. It does not wait.
func (l *serverLogs) add(server, level, text string) {
	if l.dir == "" {
		return
	}
	if w := l.writer(server); w != nil {
		_, _ = w.Write(l.line(level, text)) // it cannot fail
	}
}

func (l *serverLogs) line(level, text string) []byte {
	text = strings.ReplaceAll(strings.TrimRight(printable(text), " \t\n"), "\n", " ")
	if len(text) > maxServerLine {
		text = strings.ToValidUTF8(text[:maxServerLine], "") + "…"
	}
	return fmt.Appendf(nil, "%s %-5s %s\n", l.now().UTC().Format(serverLogTime), level, text)
}

// writer is a server's backlog, made with its first line.
func (l *serverLogs) writer(server string) *logWriter {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.of[server]
	if w == nil && !l.closed {
		w = newLogWriter(serverLog(serverLogPath(l.dir, server)), func(n int) []byte {
			return l.line("warn", fmt.Sprintf("%d lines are missing here: they came faster than they could be written", n))
		})
		w.start()
		l.of[server] = w
	}
	return w
}

// close writes what is left, for as long as the end of the program may take.
func (l *serverLogs) close() {
	l.mu.Lock()
	l.closed = true
	var all []*logWriter
	for _, w := range l.of {
		all = append(all, w)
	}
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, w := range all {
		wg.Go(func() { w.close(drainFor) })
	}
	wg.Wait()
}

// serverLogPath is a server's log. The name may be a client's: it names one file in
// the folder, whatever it holds.
func serverLogPath(dir, server string) string {
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

// older is where a log is put aside.
func older(path string) string { return path + ".1" }

// serverLog is the path of a log. It is opened for each write: another process may
// have put it aside.
type serverLog string

// Write implements io.Writer. Lines that are written at once stay together.
func (s serverLog) Write(lines []byte) (int, error) {
	path := string(s)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, err
	}
	f, err := openLogFile(path)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(lines)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return n, err
	}
	if info.Size() < maxServerLog {
		return n, nil
	}
	// Another process may have done so a moment ago.
	if now, err := os.Stat(path); err != nil || !os.SameFile(now, info) {
		return n, nil
	}
	return n, os.Rename(path, older(path))
}

// removeServerLog removes a server's log from a data folder.
func removeServerLog(data, server string) error {
	path := serverLogPath(filepath.Join(data, serverLogDir), server)
	var all error
	for _, p := range []string{path, older(path)} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}
