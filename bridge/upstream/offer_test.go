package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/board"
)

// Prompts are commands, and resources can be references, once a session has started their server.
func TestPromptsAndResources(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"stdio", "http", "http2026"} {
		t.Run(way, func(t *testing.T) {
			h := &host{board: board.New()}
			o := Options{Servers: []Server{ways(t)[way]}, Board: h.board}
			idle := New(o)
			t.Cleanup(idle.Close)
			if len(idle.Commands("")) > 0 {
				t.Error("there are commands before anything was started")
			}
			b, s := open(t, h, o) // starts the server
			t.Cleanup(b.Close)
			roots := []string{t.TempDir()}
			toolOf(t, s, "echo")
			for ctx := bridgetest.Patient(t); len(b.Commands("")) == 0; { // they are listed after the tools
				if ctx.Err() != nil {
					t.Fatal("no prompt was listed")
				}
				if _, err := call(t, toolOf(t, s, "echo"), `{"text":""}`); err != nil {
					t.Fatal(err)
				}
			}
			c := b.Commands("")[0]
			if c.Kind != core.CommandMCP || c.Name != "up:greet" || c.Description != "says hello" || len(c.Arguments) != 2 || !c.Arguments[0].Required {
				t.Errorf("command %+v", c)
			}
			text, ok, err := b.Expand(bridgetest.Patient(t), core.Meta{Roots: roots}, "up:greet", " ann with all  my heart ", func(string) {})
			if err != nil || !ok || text != "Greet ann\n\nso: with all  my heart" {
				t.Errorf("expanded: %q, %v, %v", text, ok, err)
			}
			if _, ok, err := b.Expand(bridgetest.Patient(t), core.Meta{Roots: roots}, "up:greet", "", func(string) {}); !ok || err == nil || !strings.Contains(err.Error(), "needs the argument who") {
				t.Errorf("without its argument: %v, %v", ok, err)
			}
			if _, ok, err := b.Expand(bridgetest.Patient(t), core.Meta{Roots: roots}, "other", "", func(string) {}); ok || err != nil {
				t.Errorf("another command: %v, %v", ok, err)
			}
			links := b.List(bridgetest.Patient(t), roots, "one", 10)
			if len(links) != 1 || links[0] != (core.Link{URI: "up://one", Name: "The One", Title: "up"}) {
				t.Errorf("links %+v", links)
			}
			for _, uri := range []string{"up://one", "up://item/7"} {
				if got := b.Read(bridgetest.Patient(t), roots, uri); textOf(got) != "of "+uri {
					t.Errorf("%s: %+v", uri, got)
				}
			}
			if got := textOf(b.Read(bridgetest.Patient(t), roots, "file:///etc/passwd")); !strings.Contains(got, "could not be read") {
				t.Errorf("somebody else's: %s", got)
			}
		})
	}
}

// A server's later offers are offered, and announced.
func TestPromptsAndResourcesFollowTheServer(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"stdio", "http", "sse"} {
		t.Run(way, func(t *testing.T) {
			h := &host{board: board.New()}
			b, s := open(t, h, Options{Servers: []Server{ways(t)[way]}})
			t.Cleanup(b.Close)
			if _, err := call(t, toolOf(t, s, "publish"), `{}`); err != nil {
				t.Fatal(err)
			}
			ctx := bridgetest.Patient(t)
			for since := uint64(0); ; {
				posted, rev, err := h.board.Next(ctx, since)
				if err != nil {
					t.Fatalf("it is not told: %v", err)
				}
				since = rev
				i := slices.IndexFunc(posted, func(p board.Posting) bool { return p.Topic.Name == "up" })
				if item, ok := posted[max(i, 0)].Item.(board.Server); ok && len(item.Prompts) == 2 && len(item.Resources) == 2 {
					break
				}
			}
			if list := b.Commands(""); !slices.ContainsFunc(list, func(c core.Command) bool { return c.Name == "up:later" }) {
				t.Errorf("commands %+v", list)
			}
			if links := b.List(ctx, nil, "later", 10); len(links) != 1 {
				t.Errorf("resources %+v", links)
			}
		})
	}
}

// The prompts of a server that a session's client brings along belong to the session, and are
// requested over its own connection.
func TestPromptsOfAClientsServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &host{
		meta:    core.Meta{ID: "s1", Cwd: t.TempDir()},
		servers: []core.ServerSpec{{Name: "mine", Command: self, Env: []string{bridgetest.PlayVar + "=sdk"}}},
		ask:     func(core.Ask) core.Reply { return core.Reply{Outcome: core.OutcomeAnswered, Option: "start"} },
	}
	b, s := open(t, h, Options{})
	t.Cleanup(b.Close)
	toolOf(t, s, "echo")
	awaitItem(t, h.board, "mine", "running with its prompts", func(item board.Server) bool {
		return item.Status == statusRunning && len(item.Prompts) > 0
	})
	if list := b.Commands("s1"); len(list) != 1 || list[0].Name != "mine:greet" {
		t.Errorf("commands: %+v", list)
	}
	if list := slices.Concat(b.Commands("s2"), b.Commands("")); len(list) > 0 {
		t.Errorf("elsewhere: %+v", list)
	}
	if text, ok, err := b.Expand(bridgetest.Patient(t), h.meta, "mine:greet", "ann", func(string) {}); !ok || err != nil || !strings.HasPrefix(text, "Greet ann") {
		t.Errorf("expanded: %q, %v, %v", text, ok, err)
	}
	if _, ok, _ := b.Expand(bridgetest.Patient(t), core.Meta{ID: "s2"}, "mine:greet", "ann", func(string) {}); ok {
		t.Error("another session has it")
	}
	b.mu.Lock()
	sides := len(b.sides)
	b.mu.Unlock()
	if sides > 0 {
		t.Error("it was started a second time")
	}
	h.servers = nil
	if got := serversOf(t, s); got != "" || len(b.Commands("s1")) > 0 && !gone(t, h.board, "mine") {
		t.Errorf("the client has left, and there are %s, %+v", got, b.Commands("s1"))
	}
}

// gone waits until the board shows nothing of a server any more.
func gone(t *testing.T, b *board.Board, server string) bool {
	t.Helper()
	for ctx := bridgetest.Patient(t); statusNow(t, b, server) != "gone"; {
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}

// The number of a server's connections outside of sessions is limited, however many folders there
// are; one that is at work stays.
func TestConnectionsOutsideOfSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := Server{Name: "x", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{}, errors.New("no license found") }}
		b := New(Options{Servers: []Server{server}})
		defer b.Close()
		in := func(folder int) *upstream {
			t.Helper()
			<-time.After(time.Second)
			u := b.side([]string{fmt.Sprint("/", folder)}, server)
			u.nudge()
			synctest.Wait()
			return u
		}
		open := func() int {
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.sides) != len(b.live["x"]) {
				t.Errorf("%d connections are kept, %d there", len(b.sides), len(b.live["x"]))
			}
			return len(b.sides)
		}
		busy, first := in(0), in(1)
		done := busy.calling(nil)
		for i := 2; i < 3*maxOutside; i++ {
			in(i)
			if n := open(); n != min(i+1, maxOutside) {
				t.Fatalf("%d connections in %d folders", n, i+1)
			}
		}
		if in(0) != busy || in(1) == first {
			t.Error("one at work has ended, or the longest unused one has not")
		}
		if _, err := first.Acquire(t.Context(), false); err == nil || !strings.Contains(err.Error(), whyUnused) {
			t.Error(err)
		}
		done()
		for i := range maxOutside {
			in(100 + i)
		}
		if in(0) == busy || open() != maxOutside {
			t.Error("one that was at work has not ended since")
		}
	})
}
