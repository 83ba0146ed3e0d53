package main

import (
	"encoding/json"
	"path/filepath"
	"sync"
	"time"

	"dragoman/bridge"
)

// auditFile keeps which tools of MCP servers were called through us, in the data
// folder: never what was said. It is put aside like the servers' logs.
const auditFile = "mcp-audit.jsonl"

// audit writes that file. Telling it something never waits. Nothing is opened before
// the first call.
type audit struct {
	path string // "": nothing is kept

	mu     sync.Mutex // guards the fields below
	out    *logWriter
	closed bool
}

func (a *app) openAudit() *audit {
	dir, err := a.dataDir()
	if err != nil {
		return &audit{}
	}
	return &audit{path: filepath.Join(dir, auditFile)}
}

// record is a line of it.
type record struct {
	Time      time.Time      `json:"time"`
	Principal string         `json:"principal"`
	Client    string         `json:"client,omitempty"`
	Server    string         `json:"server"`
	Tool      string         `json:"tool"`
	Outcome   bridge.Outcome `json:"outcome"`
	MS        float64        `json:"ms"`
	In        int            `json:"in"`
	Out       int            `json:"out"`
}

// add keeps a call.
func (l *audit) add(c bridge.Audit) {
	line, err := json.Marshal(record{
		Time: c.Time.UTC(), Principal: string(c.Principal), Client: c.Client, Server: c.Server, Tool: c.Tool, Outcome: c.Outcome,
		MS: float64(c.Took.Microseconds()) / 1000, In: c.In, Out: c.Out,
	})
	if err != nil || l.path == "" {
		return
	}
	if w := l.writer(); w != nil {
		_, _ = w.Write(append(line, '\n')) // it cannot fail
	}
}

func (l *audit) writer() *logWriter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil && !l.closed {
		l.out = newLogWriter(serverLog(l.path), func(n int) []byte {
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

// close writes what is left, for as long as the end of the program may take.
func (l *audit) close() {
	l.mu.Lock()
	out := l.out
	l.closed = true
	l.mu.Unlock()
	if out != nil {
		out.close(drainFor)
	}
}
