package upstream

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/board"
)

// BenchmarkCalls measures calls of a program's tool: directly by the SDK's client, and as a
// session's tool.
func BenchmarkCalls(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), bridgetest.PlayVar+"=sdk")
		bridgetest.CallEcho(b, &mcp.CommandTransport{Command: cmd})
	})
	box := New(Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}}, Environ: os.Environ(), Wait: bridgetest.Patience})
	b.Run("tool", func(b *testing.B) {
		s, err := box.Open(b.Context(), &host{meta: core.Meta{Cwd: b.TempDir()}, board: board.New()})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		list, err := listed(b.Context(), s)
		if err != nil {
			b.Fatal(err)
		}
		for _, tool := range list {
			if tool.Spec().Name != "echo" {
				continue
			}
			for b.Loop() {
				if _, err := tool.Run(b.Context(), core.Invocation{Args: json.RawMessage(`{"text":"x"}`)}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// manyTools returns a list of n tools, whose descriptions end in a word.
func manyTools(n int, word string) []json.RawMessage {
	list := make([]json.RawMessage, 0, n)
	for i := range n {
		list = append(list, fmt.Appendf(nil, `{"description":"Tool number %d of many. It isn't much.%s","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"the text"},"n":{"type":"integer"}},"required":["text"]},"name":"tool_%d"}`, i, word, i))
	}
	return list
}

// pageOfTools returns a page with a list.
func pageOfTools(list []json.RawMessage) json.RawMessage {
	page, err := json.Marshal(map[string]any{"tools": list})
	if err != nil {
		panic(err)
	}
	return page
}

// BenchmarkLists judges 2,000 tools that are pinned: in a new process, on a new connection, and again
// on one.
func BenchmarkLists(b *testing.B) {
	file := filepath.Join(b.TempDir(), "pins.json")
	list := manyTools(2000, "")
	page := pageOfTools(list)
	view := func(box *Box) *View {
		e, _ := box.Export("up", nil)
		return e.View(nil)
	}
	box := New(Options{Servers: []Server{{Name: "up"}}, PinFile: file})
	v := view(box)
	v.Agreed(list, 0)
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			view(New(Options{Servers: []Server{{Name: "up"}}, PinFile: file})).Agreed(list, 0)
		}
	})
	b.Run("connection", func(b *testing.B) {
		for b.Loop() {
			view(box).Agreed(list, 0)
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			v.Agreed(list, 0)
		}
	})
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			v.Shown("", page)
		}
	})
	b.Run("session", func(b *testing.B) {
		for b.Loop() {
			listed := make([]*listedTool, 0, len(list))
			for _, item := range list {
				l, err := parseTool("up", item)
				if err != nil {
					b.Fatal(err)
				}
				listed = append(listed, l)
			}
			if err := box.pins.look("up", listed); err != nil {
				b.Fatal(err)
			}
		}
	})
}
