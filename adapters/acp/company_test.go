package acp_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// named is an initialize of a client with a name.
func named(name string) string {
	return strings.Replace(hello, `"protocolVersion":1`, `"protocolVersion":1,"clientInfo":{"name":"`+name+`","version":"1"}`, 1)
}

// newSessionAs is newSession of a client with a name.
func newSessionAs(t *testing.T, peer *wiretest.Peer, name string) {
	t.Helper()
	if err := peer.Send(named(name), `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, `"id":1`)
}

// send sends messages.
func send(t *testing.T, peer *wiretest.Peer, messages ...string) {
	t.Helper()
	if err := peer.Send(messages...); err != nil {
		t.Fatal(err)
	}
}

// What another client prompts is shown live with its name, as one piece: as a message of the user between the
// prompts of a client that is known to take it there, and else as a text. A queued one is announced. A replay
// needs no names: all of it is the user's own.
func TestPromptsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil, true)
		zed, stop1 := serve(t, g)
		emacs, stop2 := serve(t, g)
		newSessionAs(t, zed, "Zed")
		send(t, emacs, named("Emacs"), resumeLine)
		emacs.Until(t, `"id":1`)
		const user, text = `"user_message_chunk","content":{"type":"text","text":`, `"agent_message_chunk","content":{"type":"text","text":`
		const thought = `"agent_thought_chunk","content":{"type":"text","text":`
		send(t, emacs, promptLine(2, "say hi"))
		zed.Until(t, user+`"Emacs 1: say hi"}`)
		emacs.Until(t, `"id":2`)

		send(t, zed, promptLine(2, "hang"))
		for line := ""; !strings.Contains(line, text+`"Zed 1: hang\n\n"}`); {
			var err error
			if line, err = emacs.Next(); err != nil || strings.Contains(line, "user_message_chunk") {
				t.Fatalf("between prompts: %s, %v", line, err)
			}
		}
		zed.Until(t, "one moment")
		send(t, emacs, promptLine(3, "say there"))
		zed.Until(t, thought+`"\n[Emacs 1 has queued a prompt: say there]\n"}`)
		send(t, zed, promptLine(3, "say again"))
		synctest.Wait()
		send(t, zed, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`)
		zed.Until(t, `"id":2`)
		zed.Until(t, text+`"\n[Emacs 1: say there]\n"}`)
		zed.Until(t, `"id":3`)
		emacs.Until(t, thought+`"\n[Zed 1 has queued a prompt: say again]\n"}`)
		emacs.Until(t, text+`"again"`)

		send(t, emacs, `{"jsonrpc":"2.0","id":9,"method":"session/load","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`)
		replay := ""
		for !strings.Contains(replay, `"id":9`) {
			line, err := emacs.Next()
			if err != nil {
				t.Fatal(err)
			}
			replay += line
		}
		if strings.Count(replay, user) != 4 || strings.Contains(replay, "Zed 1") || strings.Contains(replay, "Emacs") || strings.Contains(replay, "queued") {
			t.Errorf("the replay names somebody, or lacks a prompt: %s", replay)
		}
		stop1()
		stop2()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Who else is attached is shown after a second, and a client that comes back meanwhile is not. Programs get
// the list at once. A client that is alone gets neither.
func TestOthersAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := newGateway(coretest.NewMemory(), nil, true), board.New()
		peer, stop := serveWith(t, g, b)
		put := func(list ...core.Attendee) {
			b.Put(board.Topic{Kind: "present", Name: "s1", Principal: core.Local}, board.Present{Clients: list})
		}
		emacs, again := core.Attendee{ID: "e", Name: "Emacs"}, core.Attendee{ID: "f", Name: "Emacs"}
		put(emacs)
		newSessionAs(t, peer, "Zed")
		peer.Until(t, `{"sessionUpdate":"session_info_update","_meta":{"dragoman":{"clients":[{"id":"e","name":"Emacs","node":""}]}}}`)
		began := time.Now()
		peer.Until(t, `[Emacs is also attached to this session.]`)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		put()
		put(again)
		<-time.After(5 * time.Second)
		put()
		peer.Until(t, `"_meta":{"dragoman":{"clients":null}}`)
		if line := peer.Until(t, "[Emacs"); !strings.Contains(line, "[Emacs left this session.]") {
			t.Error(line)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A session to which another client is attached is deleted when the user agrees; a client without forms is
// refused. The other one is told.
func TestDeletionWithOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := board.New()
		g := core.New(core.Config{
			Store: coretest.NewMemory(), NewID: func() string { return "s1" }, Listing: b,
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
				return &core.Profile{Policy: asks, Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act}}}}, nil
			}),
		})
		zed, stop1 := serveWith(t, g, b)
		emacs, stop2 := serveWith(t, g, b)
		send(t, zed, strings.Replace(named("Zed"), `"protocolVersion":1`, `"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}}}`, 1),
			`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		zed.Until(t, `"id":1`)
		send(t, emacs, named("Emacs"), resumeLine)
		emacs.Until(t, `"id":1`)
		send(t, emacs, `{"jsonrpc":"2.0","id":2,"method":"session/delete","params":{"sessionId":"s1"}}`)
		if line := emacs.Until(t, `"id":2`); !strings.Contains(line, "Zed 1 is attached to this session.") || !strings.Contains(line, `"error"`) {
			t.Errorf("without a form: %s", line)
		}
		send(t, emacs, promptLine(3, "hang"))
		emacs.Until(t, "one moment")

		for _, answer := range []string{"keep", "delete"} {
			send(t, zed, `{"jsonrpc":"2.0","id":"d","method":"session/delete","params":{"sessionId":"s1"}}`)
			asked := zed.Until(t, `"method":"elicitation/create"`)
			if !strings.Contains(asked, `"requestId":"d","message":"Emacs 1 is attached to this session. Delete it for all?"`) {
				t.Fatalf("the question: %s", asked)
			}
			_, id, _ := strings.Cut(asked, `"id":`)
			id, _, _ = strings.Cut(id, ",")
			send(t, zed, `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{"choice":"`+answer+`"}}}`)
			line := zed.Until(t, `"id":"d"`)
			if has := strings.Contains(line, `"result"`); has != (answer == "delete") {
				t.Errorf("%s: %s", answer, line)
			}
			if answer == "keep" && emacs.Pending() {
				t.Error("a session that was kept has changed")
			}
		}
		emacs.Until(t, `"id":3,"result":{"stopReason":"cancelled"}`)
		emacs.Until(t, "This session was deleted by another client.")
		stop1()
		stop2()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A client that closes a session, or whose connection ends, takes its own prompts along and no others.
func TestClosingLeavesTheOthersTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil, true)
		zed, stop1 := serve(t, g)
		emacs, stop2 := serve(t, g)
		gone, stop3 := serve(t, g)
		newSessionAs(t, zed, "Zed")
		for name, peer := range map[string]*wiretest.Peer{"Emacs": emacs, "Gone": gone} {
			send(t, peer, named(name), resumeLine)
			peer.Until(t, `"id":1`)
		}
		send(t, zed, promptLine(2, "hang"))
		zed.Until(t, "one moment")
		send(t, emacs, promptLine(2, "say mine"))
		zed.Until(t, "Emacs 1 has queued")
		send(t, zed, promptLine(3, "say after"))
		emacs.Until(t, "Zed 1 has queued")
		send(t, gone, promptLine(2, "say never"))
		zed.Until(t, "Gone 1 has queued")

		send(t, emacs, `{"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":"s1"}}`)
		emacs.Until(t, `"id":2,"result":{"stopReason":"cancelled"}`)
		emacs.Until(t, `"id":3,"result":{}`)
		stop3()
		synctest.Wait()
		if st := stateOf(t, g); st.Turn == "" || len(st.Queued) != 1 {
			t.Errorf("turn %q runs, and %d wait", st.Turn, len(st.Queued))
		}
		send(t, zed, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`)
		zed.Until(t, `"id":2,"result":{"stopReason":"cancelled"}`)
		zed.Until(t, `"text":"after"`)
		zed.Until(t, `"id":3,"result":{"stopReason":"end_turn"}`)
		stop1()
		stop2()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func stateOf(t *testing.T, g *core.Gateway) core.State {
	t.Helper()
	s, err := g.Open(t.Context(), core.Local, "s1")
	if err != nil {
		t.Fatal(err)
	}
	return s.State()
}

// gathering is a Sharing that looks at the clients of a session whenever one is attached.
type gathering struct {
	core.LocalSession
	most *int // the largest number of clients at a time
}

func (g gathering) Join(s core.LocalSession) core.Peer { return gathering{s, g.most} }

func (g gathering) Delete(context.Context, string, core.Principal, core.SessionID, core.Deletion) error {
	return nil
}

func (g gathering) Attach(a *core.Attachment) {
	g.LocalSession.Attach(a)
	*g.most = max(*g.most, len(g.Attendees()))
}

func (g gathering) Changed()                        {}
func (g gathering) Linked() bool                    { return false }
func (g gathering) Alone() bool                     { return true }
func (g gathering) Shown(context.Context, core.Pos) {}
func (g gathering) End()                            {}

// A client that opens its session again stays the only one that others see.
func TestOpenedAgainByItsOnlyClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := 0
		prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{}}}}
		g := core.New(core.Config{
			Store: coretest.NewMemory(), Node: "test", Sharing: gathering{most: &most}, NewID: func() string { return "s1" },
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
		})
		peer, stop := serve(t, g)
		newSessionAs(t, peer, "Zed")
		for _, line := range []string{resumeLine, strings.Replace(resumeLine, "resume", "load", 1), resumeLine} {
			send(t, peer, strings.Replace(line, `"id":1`, `"id":2`, 1))
			peer.Until(t, `"id":2,"result"`)
		}
		if most != 1 {
			t.Errorf("%d clients were attached at a time", most)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
