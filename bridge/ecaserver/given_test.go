package ecaserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/bridge/ecaserver"
	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/bridge/toolserver"
	"dragoman/core"
	"dragoman/core/coretest"
)

// The message is sent as its words, and what it refers to as contexts.
func TestContexts(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	c := one(t, ecatest.Options{Record: record})
	file := filepath.Join(c.dir, "a.txt")
	c.events = nil
	id, err := c.at.Prompt(c.ctx, core.Prompt{Blocks: []core.Block{
		core.Text{Text: "say "},
		core.Text{Text: "hello"},
		core.Link{URI: "file://" + file},
		core.Link{URI: "file://" + c.dir + "/"},
		core.Link{URI: "https://x.example/"},
		core.Resource{URI: "mcp://x/y", Text: "the text"},
		core.Image{MIME: "image/png", Data: []byte{1, 2, 3}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.ended(id)
	var q struct {
		Message  string           `json:"message"`
		Contexts []map[string]any `json:"contexts"`
	}
	prompts := recorded(t, record, "chat/prompt")
	if len(prompts) != 1 || json.Unmarshal([]byte(prompts[0]), &q) != nil || q.Message != "say hello" || c.text() != "hello\n" {
		t.Fatalf("%q, %q", prompts, c.text())
	}
	got, err := json.Marshal(q.Contexts)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"path":"DIR/a.txt","type":"file"},{"path":"DIR","type":"directory"},{"type":"web","url":"https://x.example/"},` +
		`{"content":"the text","label":"mcp://x/y","type":"text"},{"base64":"AQID","mediaType":"image/png","type":"image"}]`
	if is := strings.ReplaceAll(string(got), c.dir, "DIR"); is != want {
		t.Errorf("got  %s\nwant %s", is, want)
	}
	for want, blocks := range map[string][]core.Block{
		"look at a.txt please":          {core.Text{Text: "look at "}, core.Link{URI: "file://" + file}, core.Text{Text: " please"}},
		"look at the plan and c.go now": {core.Text{Text: "look at "}, core.Link{URI: "file:///b", Name: "the plan"}, core.Text{Text: " and "}, core.Resource{URI: "file:///c.go#L3", Text: "x"}, core.Text{Text: " now"}},
		"/look and see":                 {core.Link{URI: "file://" + file}, core.Text{Text: "/look and see"}, core.Link{URI: "file:///b"}},
		"a.txt x.example":               {core.Link{URI: "file://" + file}, core.Link{URI: "https://x.example"}},
	} {
		if id, err = c.at.Prompt(c.ctx, core.Prompt{Blocks: blocks}); err != nil {
			t.Fatal(err)
		}
		c.ended(id)
		prompts = recorded(t, record, "chat/prompt")
		if json.Unmarshal([]byte(prompts[len(prompts)-1]), &q) != nil || q.Message != want || len(q.Contexts) == 0 {
			t.Errorf("the message is %q with %d contexts, want %q", q.Message, len(q.Contexts), want)
		}
	}
	if _, err := c.at.Prompt(c.ctx, core.Prompt{Blocks: []core.Block{core.Audio{MIME: "audio/wav", Data: []byte{1}}}}); err == nil {
		t.Error("a sound was accepted")
	}
}

// The session's tools are one MCP server of the server's, whose calls are those of our own log.
func TestSessionTools(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pool := toolserver.New(toolserver.Options{Version: "test", Program: []string{self, "session-tools"}})
	defer pool.Close()
	record := filepath.Join(t.TempDir(), "record")
	r := newRoom(t, scripted(t, ecatest.Options{Record: record}, func(o *ecaserver.Options) { o.Tools = pool }))
	r.profile.Toolboxes = []core.Toolbox{coretest.Tools{coretest.Tool{Is: core.Spec{Server: "files", Name: "read", Schema: []byte(`{"type":"object"}`)}}}}
	c := r.begin()
	c.answer = always(reject)
	c.says(`call {"name":"files__read","server":"dragoman-session","origin":"mcp","manual":true,"output":"x"}`+"\nsay done", "done\n")
	if got := c.states(); len(got) != 0 || len(c.asked) != 0 {
		t.Errorf("%q", got)
	}
	if approved := recorded(t, record, "chat/toolCallApprove"); len(approved) != 1 {
		t.Errorf("%q", approved)
	}
	inits := recorded(t, record, "initialize")
	if len(inits) != 1 || !strings.Contains(inits[0], `"initializationOptions":{"mcpServers":{"dragoman-session":{"args":["session-tools"],"command":`) || !strings.Contains(inits[0], toolserver.TokenVar) {
		t.Errorf("%q", inits)
	}
	for _, other := range []string{
		`{"name":"files__read","server":"dragoman","origin":"mcp","manual":true}`, `{"name":"files__write","server":"dragoman-session","origin":"mcp","manual":true}`,
		`{"name":"files__read","server":"dragoman-session","origin":"mcp","manual":true,"details":{"type":"fileChange","path":"/x","diff":""}}`,
	} {
		c.asked = nil
		c.says("call "+other+"\nsay done", "done\n")
		if len(c.asked) != 1 {
			t.Errorf("%s: asked %d times", other, len(c.asked))
		}
	}
}
