package acp_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A load takes no more memory for a task that said much, if the client does not read.
func TestALoadWaitsForItsReader(t *testing.T) {
	const count, size = 500, 64 << 10 // 32 MB
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"subagents":{}}}}`
	flood := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		if turn.Meta().Parent == "" {
			return core.StopEnd, invoke(ctx, turn, "spawn", "go")
		}
		for i := range count {
			if err := turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: strings.Repeat(string(rune('a'+i%26)), size)}); err != nil {
				return "", err
			}
		}
		return core.StopEnd, nil
	}
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	store := coretest.NewMemory()
	process := func(t *testing.T, talk func(t *testing.T, send func(...string), until func(string) int)) {
		synctest.Test(t, func(t *testing.T) {
			agent, last := core.Agent{Name: "code", Backend: &coretest.Backend{Run: flood}}, 0
			prof := &core.Profile{
				Agents: []core.Agent{agent}, Subagents: []core.Agent{{Name: "helper", Backend: agent.Backend}},
				Toolboxes: []core.Toolbox{taskTools{}}, Policy: coretest.Always(core.Verdict{Effect: core.Allow}),
			}
			g := core.New(core.Config{
				Store: store, Node: "test", NewID: func() string { last++; return fmt.Sprint("s", last) },
				Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
			})
			peer, stop := serve(t, g)
			send := func(lines ...string) {
				if err := peer.Send(lines...); err != nil {
					t.Fatal(err)
				}
			}
			talk(t, send, func(text string) (n int) {
				for {
					line, err := peer.Next()
					if err != nil {
						t.Fatal(err)
					}
					if n += len(line); strings.Contains(line, text) {
						return n
					}
				}
			})
			stop()
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	process(t, func(_ *testing.T, send func(...string), until func(string) int) {
		send(hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		until(`"id":1`)
		send(promptLine(2, "go"))
		until(`"id":2`)
	})
	process(t, func(t *testing.T, send func(...string), until func(string) int) {
		send(hello)
		until(`"id":0`)
		before := heap()
		send(`{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`)
		synctest.Wait()
		if more := heap() - before; more > 8<<20 {
			t.Errorf("%d MiB are held for a client that does not read", more>>20)
		}
		if n := until(`"id":1,`); n < count*size {
			t.Errorf("it sent %d bytes", n)
		}
	})
}
