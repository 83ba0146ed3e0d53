package eca_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/eca"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// testServer is a server of a test, with its result at the end.
type testServer struct {
	*editor
	store *coretest.Memory
	g     *gateway
	end   chan error
}

// begin connects a client; folders are its workspace.
func begin(t *testing.T, prof func(roots []string) *core.Profile, folders ...string) *testServer {
	t.Helper()
	return beginAs(t, `{"name":"VsCode"}`, prof, folders...)
}

// beginAs is begin for a client that identifies itself.
func beginAs(t *testing.T, info string, prof func(roots []string) *core.Profile, folders ...string) *testServer {
	t.Helper()
	s := &testServer{store: coretest.NewMemory(), end: make(chan error, 1)}
	s.g = over(core.Config{Store: s.store, Profiles: coretest.Profiles(func(_ context.Context, roots []string) (*core.Profile, error) { return prof(roots), nil })})
	in, out, peer := wiretest.New(wire.ContentLength)
	srv := eca.New(eca.Options{Gateway: s.g.Gateway, Board: s.g.board, Principal: core.Local, Cwd: "/cwd", Shutdown: s.g.Close})
	go func() { s.end <- srv.Serve(t.Context(), in, out) }()
	s.editor = &editor{t: t, peer: peer}
	list := []string{}
	for _, f := range folders {
		list = append(list, fmt.Sprintf(`{"uri":"file://%s","name":"x"}`, f))
	}
	s.ask("initialize", fmt.Sprintf(`{"processId":null,"clientInfo":%s,"capabilities":{},"workspaceFolders":[%s]}`, info, strings.Join(list, ",")))
	s.tell("initialized", "{}")
	s.until(func(m message) bool { return strings.Contains(m.raw, `"finish","taskId":"mcp-servers"`) })
	return s
}

func (s *testServer) close() {
	s.peer.Hangup()
	<-s.end
	_ = s.g.Close(context.Background()) // a failure in the test also fails here
}

// ends lists the reasons for the ends of a stored session's turns.
func (s *testServer) ends(id core.SessionID) (ends []core.StopReason) {
	s.t.Helper()
	j, err := s.store.Open(s.t.Context(), core.Local, id)
	if err != nil {
		s.t.Fatal(err)
	}
	defer j.Close()
	for r, err := range j.Read(s.t.Context(), core.Pos{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e, ok := r.Event.(core.TurnEnded); ok {
			ends = append(ends, e.Stop)
		}
	}
	return ends
}

func same(prof *core.Profile) func([]string) *core.Profile {
	return func([]string) *core.Profile { return prof }
}

// A shutdown is answered when all turns have ended as cancelled and are stored, including queued
// ones and those that wait for a person; exit then ends Serve with nil.
func TestShutdownStoresFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, same(profile()), "/w")
		s.send(s.request("chat/prompt", promptOf("a", "hang")), s.request("chat/prompt", promptOf("a", "say never")), s.request("chat/prompt", promptOf("b", "write a.txt")))
		s.until(func(m message) bool { return m.is("toolCallRun", `"manualApproval":true`) })
		m := s.ask("shutdown", "null")
		if m.Error != nil || !strings.Contains(m.raw, `"result":null`) {
			t.Errorf("the answer: %s", m.raw)
		}
		for id, want := range map[core.SessionID]int{"a": 2, "b": 1} {
			if ends := s.ends(id); len(ends) != want || slices.ContainsFunc(ends, func(e core.StopReason) bool { return e != core.StopCanceled }) {
				t.Errorf("%s is stored as %v", id, ends)
			}
		}
		if m := s.ask("chat/list", "{}"); m.Error == nil || m.Error.Code != -32600 {
			t.Errorf("behind shutdown: %s", m.raw)
		}
		s.tell("exit", "null")
		if err := <-s.end; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		s.peer.Close()
	})
}

// A tool that does not end in time is not waited for.
func TestShutdownDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stubborn := make(chan struct{})
		prof := profile()
		prof.Agents[0].Backend = &coretest.Backend{Run: func(context.Context, *core.Turn) (core.StopReason, error) {
			<-stubborn
			return core.StopEnd, nil
		}}
		s := begin(t, same(prof), "/w")
		s.send(s.request("chat/prompt", promptOf("a", "whatever")))
		s.until(func(m message) bool { return m.is("progress", "running") })
		begun := time.Now()
		if m := s.ask("shutdown", "{}"); m.Error != nil {
			t.Errorf("the answer: %s", m.raw)
		}
		if took := time.Since(begun); took > 2500*time.Millisecond { // by the test's own clock
			t.Errorf("it was answered after %v", took)
		}
		close(stubborn)
		s.close()
		if ends := s.ends("a"); len(ends) != 1 || ends[0] != core.StopCanceled {
			t.Errorf("the turn is stored as %v", ends)
		}
	})
}

// The answer to shutdown reports a log that cannot be written.
func TestShutdownReportsAFailedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, same(profile()), "/w")
		var full atomic.Bool
		s.store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if full.Load() && op == "write" {
				return errors.New("no space left on device")
			}
			return nil
		}
		s.send(s.request("chat/prompt", promptOf("a", "say x then hang")))
		s.until(func(m message) bool { return m.is("text", `"text":"x"`) })
		full.Store(true)
		m := s.ask("shutdown", "null")
		if m.Error == nil || !strings.Contains(m.Error.Message, "no space left on device") {
			t.Errorf("the answer: %s", m.raw)
		}
		s.tell("exit", "{}")
		if err := <-s.end; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		s.peer.Close()
	})
}

// Serve returns nil only if the client has requested a shutdown, whether it then sends exit or
// just leaves.
func TestResultOfServe(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(*testServer)
		want  error
	}{
		"exit":              {func(s *testServer) { s.tell("exit", "null") }, eca.ErrNoShutdown},
		"end of input":      {func(s *testServer) { s.peer.Hangup() }, eca.ErrNoShutdown},
		"death":             {func(s *testServer) { s.peer.Close() }, eca.ErrNoShutdown},
		"shutdown and exit": {func(s *testServer) { s.ask("shutdown", "null"); s.tell("exit", "null") }, nil},
		"in one write":      {func(s *testServer) { s.send(s.request("shutdown", "null"), s.note("exit", "null")) }, nil},
		"shutdown and end":  {func(s *testServer) { s.ask("shutdown", "null"); s.peer.Hangup() }, nil},
		"unread answer":     {func(s *testServer) { s.send(s.request("shutdown", "null")); s.peer.Close() }, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := begin(t, same(profile()), "/w")
			s.send(s.request("chat/prompt", promptOf("a", "hang")))
			s.until(func(m message) bool { return m.is("progress", "running") })
			c.leave(s)
			if err := <-s.end; !errors.Is(err, c.want) {
				t.Errorf("%s: Serve returned %v", name, err)
			}
			s.peer.Close()
			_ = s.g.Close(t.Context()) // again, even after a shutdown
			if ends := s.ends("a"); len(ends) != 1 || ends[0] == core.StopInterrupted {
				t.Errorf("%s: the turn is stored as %v", name, ends)
			}
		})
	}
}

// The folders of the workspace determine the offer, the folder of new chats, and the listed
// chats; existing chats keep their folders. Without any it is the process's folder.
func TestFoldersChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profs := map[string]*core.Profile{}
		s := begin(t, func(roots []string) *core.Profile {
			key := strings.Join(roots, " ")
			if profs[key] == nil {
				prof := profile()
				for _, r := range roots {
					addModel(prof, inference.ModelInfo{ID: "of" + r + "/model"})
				}
				profs[key] = prof
			}
			return profs[key]
		})
		change := func(added, removed string) []any {
			folders := func(path string) string {
				if path == "" {
					return ""
				}
				return fmt.Sprintf(`{"uri":"file://%s/","name":"x"}`, path)
			}
			s.tell("workspace/didChangeWorkspaceFolders", fmt.Sprintf(`{"event":{"added":[%s],"removed":[%s]}}`, folders(added), folders(removed)))
			m := s.until(func(m message) bool { return m.Method == "config/updated" && m.Params.ChatID == "" })
			return m.Params.Chat["models"].([]any)[2:]
		}
		list := func() (ids []string) {
			m := s.ask("chat/list", "{}")
			for _, c := range m.Result["chats"].([]any) {
				ids = append(ids, c.(map[string]any)["id"].(string))
			}
			return ids
		}
		cwd := func(id core.SessionID) []string {
			sess, err := s.g.Open(t.Context(), core.Local, id)
			if err != nil {
				t.Fatal(err)
			}
			return sess.Meta().Roots
		}
		want := func(what string, got, want any) {
			t.Helper()
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got %v, want %v", what, got, want)
			}
		}
		s.say("c1", "say x")
		want("the folder of a chat without any", cwd("c1"), "[/cwd]")
		want("the offer of /v w", change("/v%20w", ""), "[of/v w/model]")
		want("the chats of /v w", list(), "[]")
		s.say("c1", "say it goes on")
		s.say("c2", "say x")
		want("the folder of the chat that was there", cwd("c1"), "[/cwd]")
		want("the folder of the new chat", cwd("c2"), "[/v w]")
		want("the offer of two", change("/u", ""), "[of/v w/model of/u/model]")
		<-time.After(time.Second)
		s.say("c3", "say x")
		want("the folders of a chat of two", cwd("c3"), "[/v w /u]")
		want("the chats of two", list(), "[c3 c2]")
		want("the offer of /u", change("", "/v%20w"), "[of/u/model]")
		want("the chats of /u", list(), "[c3]")
		want("the offer of none", change("", "/u"), "[of/cwd/model]")
		want("the chats of none", list(), "[c1]")
		s.close()
	})
}

// MCP servers are announced while they concern the client's folders, and removed when they no
// longer do, or are dropped.
func TestServersOfFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prof, f := profile(), newFleet()
		prof.Servers = f
		s := begin(t, same(prof), "/v")
		db, everywhere := board.Topic{Kind: "server", Name: "db", Workspace: "/w"}, board.Topic{Kind: "server", Name: "web"}
		s.g.board.Put(db, board.Server{Name: "db", Status: "running", Tools: []core.Spec{{Name: "query", Schema: json.RawMessage(`{"type":"object"}`)}}})
		s.g.board.Put(everywhere, board.Server{Name: "web", Status: "starting"})
		isServer := func(m message) bool { return strings.HasPrefix(m.Method, "tool/server") }
		expect := func(method, name, status string) {
			t.Helper()
			if m := s.until(isServer); m.Method != method || m.Params.Name != name || m.Params.Status != status {
				t.Errorf("got %s, want %s of %s %s", m.raw, method, name, status)
			}
		}
		expect("tool/serverUpdated", "web", "starting")
		s.tell("workspace/didChangeWorkspaceFolders", `{"event":{"added":[{"uri":"file:///w","name":"w"}],"removed":[]}}`)
		expect("tool/serverUpdated", "db", "running")
		s.tell("workspace/didChangeWorkspaceFolders", `{"event":{"added":[],"removed":[{"uri":"file:///w","name":"w"}]}}`)
		expect("tool/serverRemoved", "db", "")
		if n := f.moves.Load(); n != 2 {
			t.Errorf("the servers were told %d times that the folders have changed", n)
		}
		s.g.board.Drop(db) // it was removed before
		s.g.board.Drop(everywhere)
		expect("tool/serverRemoved", "web", "")
		s.close()
	})
}
