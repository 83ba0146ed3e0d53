package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// flaw is bad input, and what must stand in its answer; nil: it has none.
type flaw struct {
	name string
	raw  []byte // as it stands in the stream
	want []string
}

func line(text string) []byte { return []byte(text + "\n") }

func body(text string) []byte {
	return fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(text), text)
}

// bare are flaws of a message, whatever the framing.
func bare(frame func(string) []byte) []flaw {
	return []flaw{
		{"broken JSON", frame(`{"jsonrpc":"2.0","id":7001,"method":`), []string{`"id":null`, "-32700"}},
		{"no JSON at all", frame(`hello`), []string{`"id":null`, "-32700"}},
		{"bytes that are no text", frame("{\"jsonrpc\":\"2.0\",\"id\":7001,\"method\":\"\xff\xfe\"}"), []string{"-32"}},
		{"zeros", frame("\x00\x00\x00"), []string{`"id":null`, "-32700"}},
		{"a number", frame(`42`), []string{`"id":null`, "-32600"}},
		{"an empty batch", frame(`[]`), []string{`"id":null`, "-32600"}},
		{"a name twice", frame(`{"jsonrpc":"2.0","id":7001,"id":7002,"method":"x"}`), []string{"-32600"}},
		{"a method of another case", frame(`{"jsonrpc":"2.0","id":7001,"Method":"x"}`), []string{"-32600"}},
		{"a method that is no text", frame(`{"jsonrpc":"2.0","id":7001,"method":{}}`), []string{"-32600"}},
		{"an id that is an object", frame(`{"jsonrpc":"2.0","id":{},"method":"x"}`), []string{"-32600"}},
		{"too deep", frame(`{"jsonrpc":"2.0","id":7001,"method":"x","params":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"), []string{"-32"}},
		{"unknown method", frame(`{"jsonrpc":"2.0","id":"seven","method":"frob/nicate","params":{}}`), []string{`"id":"seven"`, "-32601", "frob/nicate"}},
		{"unknown notification", frame(`{"jsonrpc":"2.0","method":"frob/nicated","params":{}}`), nil},
		{"an answer to no question", frame(`{"jsonrpc":"2.0","id":999,"result":{}}`), nil},
		{"an error for no question", frame(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`), nil},
	}
}

// headers are flaws of Content-Length framing.
var headers = []flaw{
	{"a length that is no number", []byte("Content-Length: many\r\n\r\n{}\r\n"), []string{`"id":null`, "-32700", "many"}},
	{"a length below nought", []byte("Content-Length: -5\r\n\r\n{}\r\n"), []string{`"id":null`, "-32700"}},
	{"a length beyond all bounds", []byte("Content-Length: 99999999999\r\n\r\n{}\r\n"), []string{`"id":null`, "-32"}},
	{"no header", []byte("this is no header\r\n\r\n"), []string{`"id":null`, "-32700"}},
	{"no length", []byte("Content-Type: application/json\r\n\r\n"), []string{`"id":null`, "-32700"}},
	{"an empty body", []byte("Content-Length: 0\r\n\r\n"), []string{`"id":null`, "-32700"}},
	{"a body that is longer", []byte("Content-Length: 5\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7001}"), []string{`"id":null`, "-32700"}},
	{"a body that is shorter", []byte("Content-Length: 60\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7001}"), []string{`"id":null`, "-32700"}},
	{"another charset", []byte("Content-Type: application/vscode-jsonrpc; charset=latin1\r\nContent-Length: 2\r\n\r\n{}"), []string{"-32", "latin1"}},
}

// Whatever is sent, it is answered in the protocol's form, and what stands right
// behind it is served.
func TestFlaws(t *testing.T) {
	t.Parallel()
	newline := append(bare(line), flaw{"a line that is too long", line(strings.Repeat("x", 65<<20)), []string{`"id":null`, "-32"}})
	acp := []flaw{
		{"params of another type", line(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":[1]}`), []string{`"id":"p"`, "-32602"}},
		{"a field of another type", line(`{"jsonrpc":"2.0","id":"p","method":"session/new","params":{"cwd":7,"mcpServers":[]}}`), []string{"-32602", "cwd"}},
		{"a folder that is not absolute", line(`{"jsonrpc":"2.0","id":"p","method":"session/new","params":{"cwd":"work","mcpServers":[]}}`), []string{"-32602", "absolute"}},
		{"a session that is not there", line(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"nowhere","prompt":[{"type":"text","text":"x"}]}}`), []string{"-32002", "nowhere"}},
		{"a session that cannot be loaded", line(`{"jsonrpc":"2.0","id":"p","method":"session/load","params":{"sessionId":"../../etc/passwd","cwd":"/","mcpServers":[]}}`), []string{"-32002"}},
		{"a cancel of nothing", line(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nowhere"}}`), nil},
	}
	eca := []flaw{
		{"params of another type", body(`{"jsonrpc":"2.0","id":"p","method":"chat/prompt","params":[1]}`), []string{`"id":"p"`, "-32602"}},
		{"a field of another type", body(`{"jsonrpc":"2.0","id":"p","method":"chat/prompt","params":{"message":7}}`), []string{"-32602", "message"}},
		{"an id that is too long", body(`{"jsonrpc":"2.0","id":"p","method":"chat/prompt","params":{"message":"x","chatId":"` + strings.Repeat("x", 300) + `"}}`), []string{"-32602", "chatId"}},
		{"a chat that is not there", body(`{"jsonrpc":"2.0","id":"p","method":"chat/open","params":{"chatId":"../../etc/passwd"}}`), []string{`"found":false`}},
		{"a change to no chat", body(`{"jsonrpc":"2.0","id":"p","method":"chat/update","params":{"chatId":"nowhere","title":"x"}}`), []string{"-32602", "nowhere"}},
		{"a stop of nothing", body(`{"jsonrpc":"2.0","method":"chat/promptStop","params":{"chatId":"nowhere"}}`), nil},
	}
	mcp := []flaw{
		{"params of another type", line(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":[1]}`), []string{`"id":"p"`, "-32"}},
		{"no such tool", line(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"frob","arguments":{}}}`), []string{`"id":"p"`, "frob"}},
		{"no arguments", line(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"agent_prompt"}}`), []string{`"isError":true`, "prompt"}},
		{"an argument of another type", line(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":7}}}`), []string{`"isError":true`, "prompt"}},
		{"an argument too many", line(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"x","frob":1}}}`), []string{`"isError":true`, "frob"}},
		{"a session that is not there", line(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"x","session_id":"nowhere"}}}`), []string{`"isError":true`, "nowhere", "session_list"}},
		{"a folder outside", line(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"x","cwd":"/etc"}}}`), []string{`"isError":true`, "/etc"}},
		{"a cancel of nothing", line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4711}}`), nil},
	}
	t.Run("acp", func(t *testing.T) {
		t.Parallel()
		e := newPlace(t).edit(t, acpDialect(), launch{})
		tryFlaws(t, e.peer, slices.Concat(newline, acp), "session/list")
	})
	t.Run("eca", func(t *testing.T) {
		t.Parallel()
		e := newPlace(t).edit(t, ecaDialect(), launch{})
		tryFlaws(t, e.peer, slices.Concat(bare(body), headers, eca), "chat/list")
	})
	t.Run("mcp", func(t *testing.T) {
		t.Parallel()
		c := newPlace(t).call(t, launch{})
		tryFlaws(t, c.peer, slices.Concat(newline, mcp), "ping")
	})
}

// tryFlaws sends each flaw with a good request behind it in the same write.
func tryFlaws(t *testing.T, c *peer, flaws []flaw, good string) {
	t.Helper()
	for _, f := range flaws {
		id, req := c.request(good, object{})
		var answers [][]byte
		served := false
		both := append(bytes.Clone(f.raw), c.frames(req)...)
		go c.in.Write(both) //nolint:errcheck // it may be more than a pipe holds; what is missing is missed below
		c.until(f.name+": the answer to the request behind it", func(m message) {
			switch {
			case m.Method != "":
			case string(m.ID) == id:
				if served = true; m.Error != nil {
					t.Errorf("%s: the request behind it: %v", f.name, m.Error)
				}
			default:
				answers = append(answers, m.raw)
			}
		}, func() bool { return served && (len(answers) > 0 || f.want == nil) })
		for _, want := range f.want {
			if !bytes.Contains(answers[0], []byte(want)) {
				t.Errorf("%s: the answer lacks %q: %s", f.name, want, answers[0])
			}
		}
		if limit := min(len(f.want), 1); len(answers) > limit {
			t.Errorf("%s: %d answers: %s", f.name, len(answers), bytes.Join(answers, []byte("\n")))
		}
	}
	c.leave()
}

// A path outside of the workspace is asked for, however it is reached; without a
// yes nothing of it is seen.
func TestOutside(t *testing.T) {
	t.Parallel()
	const secret = "the-secret-outside"
	prepare := func(t *testing.T) (p *place, paths map[string]string) {
		p = newPlace(t)
		outside := filepath.Join(filepath.Dir(p.work), "outside")
		if err := os.MkdirAll(outside, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(outside, "secret.txt")
		if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = map[string]string{"its path": file, "two dots": "../outside/secret.txt", "detour": "sub/../../outside/secret.txt"}
		if os.Symlink(file, filepath.Join(p.work, "link.txt")) == nil { // Windows may refuse
			paths["link"] = "link.txt"
		}
		if os.Symlink(outside, filepath.Join(p.work, "folder")) == nil {
			paths["linked folder"] = "folder/secret.txt"
		}
		return p, paths
	}
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p, paths := prepare(t)
			e := p.edit(t, d, launch{})
			for name, path := range paths {
				id := e.begin()
				v := e.view(id)
				e.prompt(id, "read "+path)
				e.read("a question or an end", func() bool { return len(v.asked) > 0 || len(v.ends) > 0 })
				if len(v.asked) > 0 {
					e.send(d.decide(e.question(id), false))
				} else if name == "its path" || name == "two dots" {
					t.Errorf("%s: nobody was asked", name)
				}
				if got := e.ended(id, 1); got != endOK {
					t.Errorf("%s: %q", name, got)
				}
				if all := string(v.text) + strings.Join(v.facts, "\n") + fmt.Sprint(v.told); strings.Contains(all, secret) {
					t.Errorf("%s: it was read without a yes:\n%s", name, all)
				}
			}
			id := e.begin()
			e.allow = true
			e.run(id, "read "+paths["its path"])
			if v := e.view(id); !strings.Contains(string(v.text), secret) {
				t.Errorf("with a yes it was not read: %s", v.text)
			}
			e.leave()
		})
	}
	t.Run("mcp", func(t *testing.T) {
		t.Parallel()
		p, paths := prepare(t)
		c := p.call(t, launch{})
		for name, path := range paths {
			r := c.prompt("", "read "+path)
			if len(r.Structured.Approvals) == 1 {
				c.use("agent_approve", object{"session_id": r.Structured.Session, "approval_id": r.Structured.Approvals[0].ID, "decision": "reject_once"})
				r = c.use("agent_wait", object{"session_id": r.Structured.Session, "turn_id": r.Structured.Turn})
			} else if name == "its path" || name == "two dots" {
				t.Errorf("%s: nobody was asked: %s", name, r.text())
			}
			if r.Structured.Status != "completed" || strings.Contains(r.text(), secret) {
				t.Errorf("%s: %q %s", name, r.Structured.Status, r.text())
			}
			args := promptArgs("", "read "+path)
			args["approvals"] = "deny"
			if r := c.use("agent_prompt", args); r.Structured.Status != "completed" || strings.Contains(r.text(), secret) {
				t.Errorf("%s, denied beforehand: %q %s", name, r.Structured.Status, r.text())
			}
		}
		c.leave()
	})
}

// A configuration that is wrong does not keep the binary from answering: every
// prompt says file, line and key. Mending the file is enough.
func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	const wrong = "# a comment\nmodle: offline/demo\n"
	wants := func(t *testing.T, what, got, file string) {
		t.Helper()
		wantText(t, what, got, file+":2:1", "modle")
	}
	t.Run("acp", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		file := p.config(t, wrong)
		e := p.edit(t, acpDialect(), launch{}, "--config", file)
		for range 2 {
			m := e.ask("session/new", object{"cwd": p.work, "mcpServers": []any{}})
			if m.Error == nil || m.Error.Code != -32603 {
				t.Fatalf("session/new: %s", m.raw)
			}
			wants(t, "the error", string(m.Error.Data), file)
			wantText(t, "the error's data", string(m.Error.Data), `{"details":`)
		}
		p.config(t, "")
		if got := e.run(e.begin(), "stream 2 of 3"); got != endOK {
			t.Errorf("after it was mended: %q", got)
		}
		e.leave()
	})
	t.Run("eca", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		file := p.config(t, wrong)
		e := p.edit(t, ecaDialect(), launch{}, "--config", file)
		wants(t, "the welcome", string(e.answers["1"].Result), file)
		shown := ""
		e.until("a message", func(m message) {
			if takeECA(e, m); m.Method == "$/showMessage" {
				shown = string(m.Params)
			}
		}, func() bool { return shown != "" })
		wants(t, "the message", shown, file)
		wantText(t, "the message", shown, `"type":"error"`)
		id := e.begin()
		for range 2 {
			wants(t, "the prompt's text", e.refused(id, "stream 2 of 3"), file)
		}
		p.config(t, "")
		if got := e.run(id, "stream 2 of 3"); got != endOK {
			t.Errorf("after it was mended: %q", got)
		}
		e.leave()
	})
	t.Run("mcp", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		file := p.config(t, wrong)
		c := p.call(t, launch{}, "--config", file)
		for range 2 {
			r := c.prompt("", "stream 2 of 3")
			if !r.IsError {
				t.Error("it is no error")
			}
			wants(t, "the result", r.text(), file)
		}
		p.config(t, "")
		if r := c.prompt("", "stream 2 of 3"); r.Structured.Status != "completed" {
			t.Errorf("after it was mended: %s", r.text())
		}
		c.leave()
	})
}
