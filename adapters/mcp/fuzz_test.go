package mcp_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// FuzzLines sends a server arbitrary lines. It must answer a later ping, write nothing but
// messages, and end with its input.
func FuzzLines(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range ar.Files {
			var lines []string
			for line := range strings.Lines(string(part.Data)) {
				if msg, ours := strings.CutPrefix(line, "-> "); ours {
					lines = append(lines, msg)
				}
			}
			f.Add(strings.Join(lines, ""))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), 0, nil)
			peer, stop := serve(t, mcp.Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()})
			if err := peer.Raw(text + "\n" + `{"jsonrpc":"2.0","id":"last of all","method":"ping"}` + "\n"); err != nil {
				t.Error(err)
			}
			found := false
			for synctest.Wait(); peer.Pending(); synctest.Wait() {
				msg, err := peer.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(msg, `{"jsonrpc":"2.0",`) && !strings.HasPrefix(msg, `[{"jsonrpc":"2.0",`) {
					t.Errorf("not a message: %s", msg)
				}
				found = found || strings.Contains(msg, `"id":"last of all"`)
			}
			if !found {
				t.Error("the ping was not answered")
			}
			stop()
			if err := g.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	})
}
