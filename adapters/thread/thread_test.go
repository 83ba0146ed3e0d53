package thread_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonscan"
)

// serveIn is serve for threads in a folder, with a gateway of its own.
func serveIn(t *testing.T, dir string) (peer *wiretest.Peer, stop func()) {
	t.Helper()
	g := newGateway(coretest.NewMemory())
	peer, hangup := serve(t, g, dir)
	return peer, func() {
		hangup()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The methods for files are answered too: only for the thread's folder, and only for files that
// the policy allows to read.
func TestThreadFiles(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"a.txt": "one\ntwo\nthree", "sub/deep/b.txt": "b\n", "sub/c.go": "c", "x.key": "secret", "sub/y.key": "", "keys.key/in.txt": "", ".git/config.txt": "", "bin": "\xff\x00\x01",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "o.txt"), []byte("out"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "o.txt"), filepath.Join(dir, "link.txt")); err != nil {
		t.Skip(err)
	}
	peer, stop := serveIn(t, dir)
	defer stop()
	ask := func(method, params string) string {
		t.Helper()
		if err := peer.Send(fmt.Sprintf(`{"id":7,"method":%q,"params":%s}`, method, params)); err != nil {
			t.Fatal(err)
		}
		answer, err := peer.Next()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	ask("createThread", "null")
	path := func(name string) string { return string(jsonscan.AppendString(nil, filepath.Join(dir, name))) }
	for _, c := range []struct{ method, params, want string }{
		{"readTextFile", `"path":` + path("a.txt"), `"content":"one\ntwo\nthree"`},
		{"readTextFile", `"path":"a.txt"`, `"content":"one\ntwo\nthree"`},
		{"readTextFile", `"path":"a.txt","lineOffset":1,"lineLimit":1`, `"content":"two\n"`},
		{"readTextFile", `"path":"a.txt","lineOffset":2,"lineLimit":9`, `"content":"three"`},
		{"readTextFile", `"path":"a.txt","lineOffset":0,"lineLimit":0`, `"content":""`},
		{"readTextFile", `"path":"a.txt","lineOffset":4`, `"content":""`},
		{"readTextFile", `"path":"a.txt","lineOffset":-1`, `-32602`},
		{"readTextFile", `"path":"bin"`, `use readBinaryFile`},
		{"readTextFile", `"path":"none"`, `-32002`},
		{"readTextFile", `"path":"sub"`, `not a regular file`},
		{"readTextFile", `"path":"x.key"`, `may not be read: it is a key`},
		{"readTextFile", `"path":"../o.txt"`, `outside of the thread's folder`},
		{"readTextFile", `"path":"link.txt"`, `outside of the thread's folder`},
		{"readTextFile", `"path":""`, `-32602`},
		{"readBinaryFile", `"path":"bin"`, `"content":"/wAB"`},
		{"readBinaryFile", `"path":"bin","byteOffset":1,"byteLimit":1`, `"content":"AA=="`},
		{"readBinaryFile", `"path":"bin","byteOffset":9`, `"content":""`},
		{"stat", `"path":"sub"`, `{"exists":true,"isDirectory":true}`},
		{"stat", `"path":"a.txt"`, `{"exists":true,"isDirectory":false}`},
		{"stat", `"path":"none/at/all"`, `{"exists":false,"isDirectory":false}`},
		{"stat", `"path":"a.txt/below"`, `{"exists":false,"isDirectory":false}`},
		{"stat", `"path":"x.key"`, `may not be read`},
		{"stat", `"path":"/etc/passwd"`, `outside of the thread's folder`},
		{"globSearch", `"pattern":"**/*.txt"`, `"matches":[` + path("a.txt") + `,` + path("sub/deep/b.txt") + `]`},
		{"globSearch", `"pattern":"sub/*"`, `"matches":[` + path("sub/c.go") + `]`},
		{"globSearch", `"pattern":"sub/**"`, `"matches":[` + path("sub/c.go") + `,` + path("sub/deep/b.txt") + `]`},
		{"globSearch", `"pattern":"**/*.key"`, `"matches":[]`},
		{"globSearch", `"pattern":"keys.key/*"`, `"matches":[]`},
		{"globSearch", `"pattern":"../*"`, `-32602`},
		{"globSearch", `"pattern":"[a"`, `-32602`},
	} {
		got := ask(c.method, `{"threadId":"s1",`+c.params+`}`)
		if c.method == "globSearch" && strings.Contains(got, "matches") {
			var res struct{ Result struct{ Matches []string } }
			if err := json.Unmarshal([]byte(got), &res); err != nil {
				t.Fatal(err)
			}
			slices.Sort(res.Result.Matches)
			list, err := json.Marshal(res.Result.Matches)
			if err != nil {
				t.Fatal(err)
			}
			got = `"matches":` + string(list)
			got = strings.ReplaceAll(got, `"`+filepath.Join(dir, "link.txt")+`",`, "") // a link is listed, but not followed
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.method, c.params, got, c.want)
		}
	}
	version := func() string {
		_, v, _ := strings.Cut(ask("readTextFile", `{"threadId":"s1","path":"a.txt"}`), `"version":`)
		return v[:strings.IndexByte(v, ',')]
	}
	was := version()
	if err := os.Chtimes(filepath.Join(dir, "a.txt"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if now := version(); now == was {
		t.Errorf("the version is %s before and after a change", now)
	}
}

// A peer that acknowledges nothing still gets its answers: the first one late, the next ones at
// once.
func TestThreadPeerWithoutAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer, stop := serveIn(t, "/w")
		if err := peer.Send(`{"id":1,"method":"createThread"}`, `{"id":2,"method":"sendMessage","params":{"threadId":"s1","message":{"role":"user","chunks":[{"type":"text","chunk":"say one"}]}}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, "streamMessageChunk")
		synctest.Wait()
		if peer.Pending() {
			t.Error("answered before the chunk was acknowledged")
		}
		peer.Until(t, `{"id":2,"result":null}`)
		if err := peer.Send(`{"id":3,"method":"sendMessage","params":{"threadId":"s1","message":{"role":"user","chunks":[{"type":"text","chunk":"say two"}]}}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, "streamMessageChunk")
		synctest.Wait()
		if !peer.Pending() {
			t.Error("it is still waited for")
		}
		peer.Until(t, `{"id":3,"result":null}`)
		stop()
	})
}

// When a peer leaves, its turn ends and nothing is left of it.
func TestThreadPeerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		g := newGateway(store)
		peer, stop := serve(t, g, "/w")
		if err := peer.Send(`{"id":1,"method":"createThread"}`, `{"id":2,"method":"sendMessage","params":{"threadId":"s1","message":{"role":"user","chunks":[{"type":"text","chunk":"hang"}]}}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, "streamMessageChunk")
		s, err := g.Open(t.Context(), core.Local, "s1")
		if err != nil {
			t.Fatal(err)
		}
		stop()
		<-time.After(2 * time.Minute)
		if _, err := s.Attach(core.Client{Name: "late"}).Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "hi"}}}); !errors.Is(err, core.ErrClosed) {
			t.Errorf("its session is held still: %v", err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// documented lists the members of every message in the documents of 2025: optional ones end with
// ?, and no others may occur.
var documented = map[string]string{
	"getThreads": "threads", "createThread": "threadId", "openThread": "null", "getThreadEntries": "entries", "sendMessage": "null",
	"streamMessageChunk": "null", "readTextFile": "version content", "readBinaryFile": "version content", "stat": "exists isDirectory", "globSearch": "matches",
	"params streamMessageChunk": "threadId chunk", "params readTextFile": "threadId path lineOffset? lineLimit?",
	"params readBinaryFile": "threadId path byteOffset? byteLimit?", "params stat": "threadId path", "params globSearch": "threadId pattern",
	"thread": "id title modifiedAt", "message": "type role chunks", "readFile": "type path content", "chunk": "type chunk", "error": "code message",
}

// The thread protocol's conversation has the members of its document, and no others.
func TestThreadMembers(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/thread.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range ar.Files {
		asked := map[string]string{} // by id, of the peer
		for line := range strings.Lines(string(f.Data)) {
			var m struct {
				ID             json.RawMessage
				Method         string
				Params, Result json.RawMessage
				Error          json.RawMessage
			}
			if len(line) < 4 {
				continue
			}
			if err := json.Unmarshal([]byte(line[3:]), &m); err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasPrefix(line, "-> ") && m.Method != "":
				asked[string(m.ID)] = m.Method
			case !strings.HasPrefix(line, "<- "):
			case m.Method != "":
				members(t, line, json.RawMessage(line[3:]), "id method params")
				members(t, line, m.Params, documented["params "+m.Method])
			case m.Error != nil:
				members(t, line, json.RawMessage(line[3:]), "id error")
				members(t, line, m.Error, documented["error"])
			default:
				members(t, line, json.RawMessage(line[3:]), "id result")
				members(t, line, m.Result, documented[asked[string(m.ID)]])
				var parts struct {
					Threads, Entries []json.RawMessage
				}
				if err := json.Unmarshal(m.Result, &parts); err != nil {
					t.Fatal(err)
				}
				for _, e := range parts.Threads {
					members(t, line, e, documented["thread"])
				}
				for _, e := range parts.Entries {
					var entry struct {
						Type   string
						Chunks []json.RawMessage
					}
					if err := json.Unmarshal(e, &entry); err != nil {
						t.Fatal(err)
					}
					members(t, line, e, documented[entry.Type])
					for _, c := range entry.Chunks {
						members(t, line, c, documented["chunk"])
					}
				}
			}
		}
	}
}

// members checks the names of an object's members.
func members(t *testing.T, line string, raw json.RawMessage, want string) {
	t.Helper()
	if want == "null" {
		if string(raw) != "null" {
			t.Errorf("%s is not null in %s", raw, line)
		}
		return
	}
	var have map[string]json.RawMessage
	if err := json.Unmarshal(raw, &have); err != nil || want == "" {
		t.Errorf("%s in %s: %v", raw, line, err)
		return
	}
	for name := range strings.FieldsSeq(want) {
		bare := strings.TrimSuffix(name, "?")
		if v, ok := have[bare]; !ok && bare == name || bytes.Equal(v, []byte("null")) && name != "result" {
			t.Errorf("%s lacks %s in %s", raw, name, line)
		}
		delete(have, bare)
	}
	for name := range have {
		t.Errorf("%s is not in the document: %s", name, line)
	}
}
