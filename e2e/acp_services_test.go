package e2e

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the editor offers is used: its unsaved text wins over the disk, it writes
// what is written, and its terminals run commands. What it does not offer is done
// without it.
func TestACPServices(t *testing.T) {
	needClients(t)
	p := newPlace(t)
	p.put(t, filepath.Join(p.home, ".config", "dragoman", "config.yaml"), "policy: {terminal: editor}\n")
	c := p.acpClient(t, object{"fs": object{"readTextFile": true, "writeTextFile": true}, "terminal": true}, true)
	notes := filepath.Join(c.work, "notes.txt")
	c.files[notes] = "not saved yet\n"
	id := c.session()
	c.prompt(id, "read notes.txt then write made.txt: by the editor then run echo from a terminal")
	wantText(t, "the answer", c.said(id), "not saved yet", "from a terminal")
	if got := c.written[filepath.Join(c.work, "made.txt")]; got != "by the editor" {
		t.Errorf("the editor was to write %q", got)
	}
	if _, err := os.Stat(filepath.Join(c.work, "made.txt")); err == nil {
		t.Error("what the editor writes is written beside it too")
	}
	for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"} {
		if !slices.Contains(c.asked, method) {
			t.Errorf("%s was not called: %q", method, c.asked)
		}
	}
	c.has("terminal in a call", func(u acpUpdate) bool { return strings.Contains(u.raw, `{"type":"terminal","terminalId":"term-0"}`) })
	c.forget()
	c.ok("session/load", c.of(id))
	if strings.Contains(c.told(id), `"type":"terminal"`) {
		t.Error("a terminal is shown in a replay")
	}
	wantText(t, "the replay", c.told(id), "from a terminal")
	c.asked = nil
	c.prompt(id, "run touch "+filepath.Join(t.TempDir(), "elsewhere")+" then read /etc/hostname")
	if i := slices.Index(c.asked, "fs/read_text_file"); i >= 0 && !slices.Contains(c.asked[:i], "session/request_permission") {
		t.Errorf("a file outside was read through the editor before anybody was asked: %q", c.asked)
	}
	c.valid()

	// A terminal of the editor is outside of every sandbox, so it is used only where the user says so,
	// or where nothing is confined.
	for level, want := range map[string]bool{"full": false, "files": false, "none": true} {
		p := newPlace(t)
		p.put(t, filepath.Join(p.home, ".config", "dragoman", "config.yaml"), "policy: {sandbox: "+level+"}\n")
		c := p.acpClient(t, object{"terminal": true}, true)
		id := c.session()
		c.prompt(id, "run echo from a terminal")
		wantText(t, "the answer", c.said(id), "from a terminal")
		if got := slices.Contains(c.asked, "terminal/create"); got != want {
			t.Errorf("sandbox %s: terminal/create was called: %v", level, got)
		}
		c.valid()
	}

	p = newPlace(t)
	c = p.acpClient(t, object{"_meta": object{"terminal_output": true}}, true)
	id = c.session()
	c.prompt(id, "read notes.txt then run echo shown")
	wantText(t, "the answer", c.said(id), "first note", "shown")
	for _, part := range []string{`"terminal_info":{"terminal_id":`, `"terminal_output":{"terminal_id":`, `"terminal_exit":{"terminal_id":`, `"exit_code":0`} {
		c.has(part, func(u acpUpdate) bool { return strings.Contains(u.raw, part) })
	}
	c.valid()
}

// thread is a peer of the thread protocol, made by hand: no "jsonrpc", ids of its
// own, every request acknowledged.
type thread struct {
	*peer
	answers map[string]message
	said    string
	asked   []string
	files   map[string]string // what its readTextFile has; nil: it has no such method
	version int               // of all of them
	typing  bool              // every look at a file finds it changed
}

func (p *place) thread(t *testing.T, flags ...string) *thread {
	t.Helper()
	return &thread{peer: p.start(t, launch{}, false, append(flags, "acp")...), answers: map[string]message{}, version: 1}
}

func (c *thread) ask(method string, params any) json.RawMessage {
	c.t.Helper()
	id, req := c.request(method, params)
	delete(req, "jsonrpc")
	c.send(req)
	c.until("the answer to "+method, c.take, func() bool { _, ok := c.answers[id]; return ok })
	m := c.answers[id]
	if m.Error != nil {
		return json.RawMessage(`"` + strings.ReplaceAll(m.Error.String(), `"`, `'`) + `"`)
	}
	return m.Result
}

func (c *thread) take(m message) {
	if strings.Contains(string(m.raw), `"jsonrpc"`) {
		c.t.Errorf("jsonrpc in %s", m.raw)
	}
	if m.Method == "" {
		if (m.Result == nil) == (m.Error == nil) && !strings.Contains(string(m.raw), `"result":null`) {
			c.t.Errorf("neither a result nor an error, or both: %s", m.raw)
		}
		c.answers[string(m.ID)] = m
		return
	}
	if m.ID == nil {
		c.t.Errorf("a notification: %s", m.raw)
		return
	}
	c.asked = append(c.asked, m.Method)
	var p struct {
		Path  string
		Chunk struct{ Chunk string }
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		c.t.Fatalf("%s: %v", m.raw, err)
	}
	text, here := c.files[p.Path]
	switch {
	case m.Method == "streamMessageChunk":
		c.said += p.Chunk.Chunk
		c.send(object{"id": m.ID, "result": nil})
	case m.Method == "readTextFile" && here:
		if c.typing {
			c.version++
		}
		c.send(object{"id": m.ID, "result": object{"version": c.version, "content": text}})
	case m.Method == "stat" && here:
		c.send(object{"id": m.ID, "result": object{"exists": true, "isDirectory": false}})
	default:
		c.send(object{"id": m.ID, "error": object{"code": -32601, "message": "Method not found - '" + m.Method + "'"}})
	}
}

func (c *thread) tell(id, role, text string) string {
	c.t.Helper()
	c.said = ""
	return string(c.ask("sendMessage", object{"threadId": id, "message": object{"role": role, "chunks": []any{object{"type": "text", "chunk": text}}}}))
}

// The thread protocol over real pipes: a thread, its messages, files of the peer and
// of the disk, and all of it again in another process.
func TestACPThread(t *testing.T) {
	p := newPlace(t)
	c := p.thread(t)
	if got := string(c.ask("getThreads", nil)); got != `{"threads":[]}` {
		t.Errorf("getThreads: %s", got)
	}
	id := field[string](t, c.ask("createThread", nil), "threadId")
	if got := c.tell(id, "user", "read notes.txt"); got != "null" || !strings.Contains(c.said, "first note") {
		t.Errorf("sendMessage answers %s after %q", got, c.said)
	}
	if got := c.tell(id, "assistant", "said elsewhere"); got != "null" || c.said != "" {
		t.Errorf("sendMessage of the assistant answers %s after %q", got, c.said)
	}
	if got := c.tell(id, "user", "run touch never"); got != "null" {
		t.Errorf("sendMessage answers %s", got)
	}
	if _, err := os.Stat(filepath.Join(p.work, "never")); err == nil {
		t.Error("a command ran that nobody was asked about")
	}
	wantText(t, "a file", string(c.ask("readTextFile", object{"threadId": id, "path": "notes.txt", "lineOffset": 1, "lineLimit": 1})), `"content":"second note\n"`)
	wantText(t, "a file's bytes", string(c.ask("readBinaryFile", object{"threadId": id, "path": filepath.Join(p.work, "notes.txt"), "byteLimit": 5})),
		base64.StdEncoding.EncodeToString([]byte("first")))
	wantText(t, "stat", string(c.ask("stat", object{"threadId": id, "path": p.work})), `{"exists":true,"isDirectory":true}`)
	wantText(t, "globSearch", string(c.ask("globSearch", object{"threadId": id, "pattern": "*.txt"})), "notes.txt")
	wantText(t, "a file outside", string(c.ask("readTextFile", object{"threadId": id, "path": "/etc/hostname"})), "outside")
	wantText(t, "an unknown method", string(c.ask("nonExistentMethod", nil)), "-32601 Method not found - 'nonExistentMethod'")
	entries := string(c.ask("getThreadEntries", object{"threadId": id}))
	c.leave()

	c = p.thread(t)
	c.files = map[string]string{filepath.Join(p.work, "notes.txt"): "not saved yet\n"}
	threads := string(c.ask("getThreads", nil))
	wantText(t, "getThreads", threads, `"id":"`+id+`"`, `"title":"read notes.txt"`, `"modifiedAt":"`)
	if got := string(c.ask("openThread", object{"threadId": id})); got != "null" {
		t.Errorf("openThread: %s", got)
	}
	if got := string(c.ask("getThreadEntries", object{"threadId": id})); got != entries {
		t.Errorf("the entries are\n%s\nand were\n%s", got, entries)
	}
	wantText(t, "the entries", entries, `{"type":"message","role":"user","chunks":[{"type":"text","chunk":"read notes.txt"}]}`,
		`{"type":"readFile","path":"`+filepath.Join(p.work, "notes.txt")+`","content":"first note\nsecond note\n"}`,
		`{"type":"message","role":"assistant","chunks":[{"type":"text","chunk":"said elsewhere"}]}`)
	if got := c.tell(id, "user", "read notes.txt"); got != "null" || !strings.Contains(c.said, "not saved yet") {
		t.Errorf("sendMessage answers %s after %q; asked %q", got, c.said, c.asked)
	}
	c.leave()
}

// An edit is refused when the peer's file is another one than that which was read.
func TestACPThreadVersions(t *testing.T) {
	p := newPlace(t)
	config := p.config(t, "policy:\n  default: allow\n")
	for _, typing := range []bool{false, true} {
		c := p.thread(t, "--config", config)
		c.files, c.typing = map[string]string{filepath.Join(p.work, "notes.txt"): "first note\nsecond note\n"}, typing
		id := field[string](t, c.ask("createThread", nil), "threadId")
		if got := c.tell(id, "user", "read notes.txt then replace first with last in notes.txt"); got != "null" {
			t.Errorf("sendMessage: %s", got)
		}
		text, err := os.ReadFile(filepath.Join(p.work, "notes.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if changed := strings.HasPrefix(string(text), "last"); changed == typing {
			t.Errorf("typing %v: the file is %q, the agent says %q", typing, text, c.said)
		}
		c.leave()
		p.write(t, "notes.txt", "first note\nsecond note\n")
	}
}

// A request that the client refuses is not carried out otherwise: the disk is neither
// read nor written, nothing runs, and the call fails with the client's words.
func TestACPRefusalsStayRefused(t *testing.T) {
	needClients(t)
	p := newPlace(t)
	p.put(t, filepath.Join(p.home, ".config", "dragoman", "config.yaml"), "policy: {terminal: editor}\n")
	c := p.acpClient(t, object{"fs": object{"readTextFile": true, "writeTextFile": true}, "terminal": true}, true)
	c.refuses = "not while I am looking"
	id := c.session()
	made, ran := filepath.Join(c.work, "made.txt"), filepath.Join(c.work, "ran.txt")
	for _, prompt := range []string{"read notes.txt", "write made.txt: behind its back", "run echo ran > ran.txt"} {
		c.forget()
		c.prompt(id, prompt)
		c.has("failed call for "+prompt, func(u acpUpdate) bool { return u.Status == "failed" && strings.Contains(u.raw, c.refuses) })
		if strings.Contains(c.told(id), "first note") {
			t.Error("the disk was read")
		}
	}
	for _, path := range []string{made, ran} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	c.valid()
}
