package acp_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// The commands are announced a moment after the answer to session/new, and again with the first
// prompt, but with no later one.
func TestCommandsAreAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prof := &core.Profile{
			Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act}}},
			Policy: asks,
			Commands: func(context.Context, core.Meta) []core.Command {
				return []core.Command{
					{Name: "review", Description: "Reviews", Arguments: []core.Argument{{Name: "what"}, {Name: "how"}}},
					{Name: "costs", Description: "Tells the costs"},
				}
			},
		}
		g := core.New(core.Config{
			Store: coretest.NewMemory(), NewID: func() string { return "s1" },
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
		})
		peer, stop := serve(t, g)
		newSession(t, peer)
		msg := peer.Until(t, "session/update")
		const want = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"available_commands_update","availableCommands":[` +
			`{"name":"review","description":"Reviews","input":{"hint":"what how"}},{"name":"costs","description":"Tells the costs"}]}}}`
		if msg != want {
			t.Errorf("got  %s\nwant %s", msg, want)
		}
		told := 0
		for id := 2; id < 5; id++ {
			if err := peer.Send(promptLine(id, "say hello")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for peer.Pending() {
				msg, err := peer.Next()
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(msg, "available_commands_update") {
					told++
				}
				synctest.Wait()
			}
		}
		if told != 1 {
			t.Errorf("with three prompts the commands were told %d times, want once", told)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A list of commands that took long to read does not replace one that was read meanwhile.
func TestOlderCommandsAreNotSentLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, readings := make(chan struct{}), atomic.Int32{}
		prof := &core.Profile{
			Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act}}}, Policy: asks,
			Commands: func(context.Context, core.Meta) []core.Command {
				if readings.Add(1) == 1 {
					<-slow
					return []core.Command{{Name: "old"}}
				}
				return []core.Command{{Name: "new"}}
			},
		}
		g := core.New(core.Config{
			Store: coretest.NewMemory(), NewID: func() string { return "s1" },
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
		})
		b := board.New()
		peer, stop := serveWith(t, g, b)
		newSession(t, peer)
		<-time.After(time.Second) // the first reading has begun
		b.Offered(core.Local, "s1")
		if msg := peer.Until(t, "session/update"); !strings.Contains(msg, `"name":"new"`) {
			t.Errorf("the list that was read meanwhile: %s", msg)
		}
		close(slow)
		if msg := peer.Until(t, "session/update"); !strings.Contains(msg, `"name":"new"`) {
			t.Errorf("behind it comes %s", msg)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// When the prompts of an MCP server change, or it goes, the commands are announced again; changes
// without an effect on them are not announced.
func TestCommandsOfServersAreAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var commands atomic.Pointer[[]core.Command]
		commands.Store(new([]core.Command))
		prof := &core.Profile{
			Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act}}}, Policy: asks,
			Commands: func(context.Context, core.Meta) []core.Command { return *commands.Load() },
		}
		g := core.New(core.Config{
			Store: coretest.NewMemory(), NewID: func() string { return "s1" },
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
		})
		b := board.New()
		peer, stop := serveWith(t, g, b)
		newSession(t, peer)
		<-time.After(time.Second)
		server := board.Topic{Kind: "server", Name: "db"}
		steps := []struct {
			item board.Item
			have string // the only current command; "": none
			told bool
		}{
			{board.Server{Name: "db", Status: "starting"}, "", false},
			{board.Server{Name: "db", Status: "running", Prompts: []core.Command{{Name: "explain"}}}, "db:explain", true},
			{board.Server{Name: "db", Status: "running", Why: "x", Prompts: []core.Command{{Name: "explain"}}}, "db:explain", false},
			{board.Server{Name: "db", Status: "running", Prompts: []core.Command{{Name: "show"}}}, "db:show", true},
			{board.Gone{}, "", true},
			{board.Gone{}, "", false},
		}
		for i, step := range steps {
			var list []core.Command
			if step.have != "" {
				list = append(list, core.Command{Kind: core.CommandMCP, Name: step.have})
			}
			commands.Store(&list)
			b.Put(server, step.item)
			synctest.Wait()
			var said []string
			for peer.Pending() {
				msg, err := peer.Next()
				if err != nil {
					t.Fatal(err)
				}
				said = append(said, msg)
				synctest.Wait()
			}
			want := `"sessionUpdate":"available_commands_update","availableCommands":[]`
			if step.have != "" {
				want = `"sessionUpdate":"available_commands_update","availableCommands":[{"name":"` + step.have
			}
			switch {
			case step.told && (len(said) != 1 || !strings.Contains(said[0], want)):
				t.Errorf("step %d: got %q, want %s", i, said, want)
			case !step.told && len(said) > 0:
				t.Errorf("step %d: got %q, want nothing", i, said)
			}
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The notice that the client's MCP servers are not used is sent once, a moment after the answer,
// even if it adds them to several sessions.
func TestServersAreMentionedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil, false)
		peer, stop := serve(t, g)
		const open = `{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"a","command":"a","args":[],"env":[{"name":"KEY","value":"secret"}]}]}}`
		if err := peer.Send(hello, fmt.Sprintf(open, 1)); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, `"id":1`)
		if msg := peer.Until(t, "session/update"); !strings.Contains(msg, "not connected yet: a") {
			t.Errorf("got %s", msg)
		}
		if err := peer.Send(fmt.Sprintf(open, 2)); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, `"id":2`)
		<-time.After(time.Second)
		synctest.Wait()
		if peer.Pending() {
			msg, err := peer.Next()
			t.Errorf("got %s, %v", msg, err)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A session that is loaded with other folders keeps its own, and the client is notified.
func TestLoadingWithOtherFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil, false)
		peer, stop := serve(t, g)
		newSession(t, peer)
		if err := peer.Send(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"s1","cwd":"/w","additionalDirectories":["/v","/w"],"mcpServers":[]}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, `"id":2`)
		if msg := peer.Until(t, "session/update"); !strings.Contains(msg, "it does not have /v]") {
			t.Errorf("got %s", msg)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
