package logs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"dragoman/bridge/upstream"
)

// AuditFile records the called tools of MCP servers in the data folder, but never the content of
// calls. It is rotated like the servers' logs.
const AuditFile = "mcp-audit.jsonl"

// Audit writes that file. Add never waits. Nothing is opened before the first call.
type Audit struct {
	path string // "": nothing is stored

	mu     sync.Mutex // guards the fields below
	out    *writer
	held   *cachedLog // used by out's goroutine
	closed bool
}

// OpenAudit stores the record in a data folder; "": nothing is stored.
func OpenAudit(data string) *Audit {
	if data == "" {
		return &Audit{}
	}
	return &Audit{path: filepath.Join(data, AuditFile)}
}

// Add records a call.
func (l *Audit) Add(c upstream.Audit) {
	if l.path == "" {
		return
	}
	if w := l.writer(); w != nil {
		var room [512]byte
		_, _ = w.Write(appendRecord(room[:0], c)) // it never fails
	}
}

// appendRecord appends the line of a call. It does without reflection, because there is one for each
// call.
func appendRecord(b []byte, c upstream.Audit) []byte {
	b = append(c.Time.UTC().AppendFormat(append(b, `{"time":"`...), time.RFC3339Nano), '"')
	b = appendText(b, `,"principal":`, string(c.Principal))
	if c.Client != "" {
		b = appendText(b, `,"client":`, c.Client)
	}
	if c.Token != "" {
		b = appendText(b, `,"token":`, c.Token)
	}
	b = appendText(b, `,"server":`, c.Server)
	b = appendText(b, `,"tool":`, c.Tool)
	b = appendText(b, `,"outcome":`, string(c.Outcome))
	b = strconv.AppendFloat(append(b, `,"ms":`...), float64(c.Took.Microseconds())/1000, 'f', -1, 64)
	b = strconv.AppendInt(append(b, `,"in":`...), int64(c.In), 10)
	b = strconv.AppendInt(append(b, `,"out":`...), int64(c.Out), 10)
	return append(b, '}', '\n')
}

func appendText(b []byte, name, value string) []byte {
	b = append(b, name...)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, err := json.Marshal(value)
			if err != nil {
				text = []byte(`""`) // a string always can be
			}
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), value...), '"')
}

func (l *Audit) writer() *writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil && !l.closed {
		l.held = &cachedLog{path: l.path}
		l.out = newWriter(l.held, func(n int) []byte {
			line, err := json.Marshal(map[string]any{"time": time.Now().UTC(), "lost": n})
			if err != nil {
				return nil
			}
			return append(line, '\n')
		})
		l.out.start()
	}
	return l.out
}

// cachedLog is a rotated log that stays open between writes: a call through the gateway is quick,
// and opening a file for each would be slow. One goroutine uses it.
type cachedLog struct {
	path   string
	file   *os.File
	looked time.Time // the time of the last check that it is the file of that name
}

// renewEvery is the interval of checks whether another process has rotated the file.
const renewEvery = time.Second

// Write implements io.Writer.
func (h *cachedLog) Write(lines []byte) (int, error) {
	if time.Since(h.looked) >= renewEvery {
		h.let()
	}
	if h.file == nil {
		n, err := rotatedLog(h.path).Write(lines) // rotated creates the file, and rotates it
		if err != nil {
			return n, err
		}
		if h.file, err = openFile(h.path); err != nil {
			return n, err
		}
		h.looked = time.Now()
		return n, nil
	}
	return h.file.Write(lines)
}

// let closes the file.
func (h *cachedLog) let() {
	if h.file != nil {
		h.file.Close() //nolint:errcheck // the data is written
		h.file = nil
	}
}

// Close writes the remaining lines, within the time limit at the end of the program.
func (l *Audit) Close() {
	l.mu.Lock()
	out, held := l.out, l.held
	l.closed = true
	l.mu.Unlock()
	if out != nil && out.close(storeFor) {
		held.let()
	}
}
