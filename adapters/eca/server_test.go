package eca_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
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

// editor is a client that a test drives.
type editor struct {
	t    *testing.T
	peer *wiretest.Peer
	last int
	seen []message
}

type message struct {
	raw    string
	ID     json.RawMessage
	Method string
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
	}
	Params struct {
		ChatID, Name, Status, Title, Message, Type string
		Role                                       string
		Content                                    map[string]any
		Tools                                      []any
		Chat                                       map[string]any
	}
}

func (m message) is(kind, text string) bool {
	return m.Method == "chat/contentReceived" && m.Params.Content["type"] == kind && strings.Contains(m.raw, text)
}

func finished(chat string) func(message) bool {
	return func(m message) bool { return m.is("progress", `"finished"`) && m.Params.ChatID == chat }
}

const hello = `{"clientInfo":{"name":%q},"capabilities":{},"initializationOptions":{"chatAgent":"code"},"workspaceFolders":[{"uri":"file:///w","name":"w"}],"processId":%s}`

// connect returns a client after the handshake.
func connect(t *testing.T, peer *wiretest.Peer, name string) *editor {
	t.Helper()
	e := &editor{t: t, peer: peer}
	e.ask("initialize", fmt.Sprintf(hello, name, "null"))
	e.tell("initialized", "{}")
	e.until(func(m message) bool {
		return m.Method == "$/progress" && strings.Contains(m.raw, `"finish","taskId":"mcp-servers"`)
	})
	return e
}

func (e *editor) tell(method, params string) { e.send(e.note(method, params)) }

func (e *editor) note(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func (e *editor) request(method, params string) string {
	e.last++
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.last, method, params)
}

func (e *editor) send(lines ...string) {
	e.t.Helper()
	if err := e.peer.Send(lines...); err != nil {
		e.t.Fatal(err)
	}
}

// ask sends a request and returns its answer.
func (e *editor) ask(method, params string) message {
	e.t.Helper()
	e.send(e.request(method, params))
	id := fmt.Sprint(e.last)
	return e.until(func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

func promptOf(chat, text string) string {
	return fmt.Sprintf(`{"chatId":%q,"message":%q}`, chat, text)
}

// say prompts and waits for the end of the turn.
func (e *editor) say(chat, text string) {
	e.t.Helper()
	e.send(e.request("chat/prompt", promptOf(chat, text)))
	e.until(finished(chat))
}

// until reads up to the first wanted message.
func (e *editor) until(wanted func(message) bool) message {
	e.t.Helper()
	for {
		raw, err := e.peer.Next()
		if err != nil {
			e.t.Fatalf("%v; seen:\n%s", err, e.transcript())
		}
		m := message{raw: raw}
		if err := json.Unmarshal([]byte(raw), &m); err != nil {
			e.t.Fatalf("%v: %s", err, raw)
		}
		e.seen = append(e.seen, m)
		if wanted(m) {
			return m
		}
	}
}

func (e *editor) transcript() string {
	var b strings.Builder
	for _, m := range e.seen[max(0, len(e.seen)-30):] {
		b.WriteString(m.raw + "\n")
	}
	return b.String()
}

// text returns all text of the assistant and the system in a chat.
func (e *editor) text(chat string) string {
	var b strings.Builder
	for _, m := range e.seen {
		if m.is("text", "") && m.Params.ChatID == chat && m.Params.Role != "user" {
			b.WriteString(m.Params.Content["text"].(string))
		}
	}
	return b.String()
}

// with runs a test with one gateway and one connection.
func with(t *testing.T, name string, test func(t *testing.T, g *gateway, e *editor)) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil)
		peer, stop := serve(t, g)
		test(t, g, connect(t, peer, name))
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A stop in the same write as its prompt always stops it, even the first prompt of a chat.
func TestStopIsNeverLost(t *testing.T) {
	with(t, "VsCode", func(t *testing.T, _ *gateway, e *editor) {
		for i := range 500 {
			chat := fmt.Sprintf("c%d", i%50)
			e.send(e.request("chat/prompt", promptOf(chat, "hang")), e.note("chat/promptStop", fmt.Sprintf(`{"chatId":%q}`, chat)))
			e.until(finished(chat))
			if last := e.seen[len(e.seen)-3]; !last.is("text", "Prompt stopped") {
				t.Fatalf("prompt %d: it was not stopped:\n%s", i, e.transcript())
			}
		}
	})
}

// A stop ends the running turn and all queued ones, and nothing that comes after it.
func TestStopEndsTheQueue(t *testing.T) {
	for range 100 {
		with(t, "VsCode", func(t *testing.T, _ *gateway, e *editor) {
			e.send(e.request("chat/prompt", promptOf("c", "hang")), e.request("chat/prompt", promptOf("c", "say never")), e.request("chat/prompt", promptOf("c", "say never")),
				e.note("chat/promptStop", `{"chatId":"c"}`), e.request("chat/prompt", promptOf("c", "say after")))
			e.until(func(m message) bool { return m.is("text", `"text":"after"`) })
			e.until(finished("c"))
			text := e.text("c")
			stopped := strings.Count(text, "Prompt stopped") // one for each that has begun
			if strings.Contains(text, "never") || stopped < 1 || stopped > 3 {
				t.Fatalf("said %q:\n%s", text, e.transcript())
			}
			for id := 2; id <= e.last; id++ {
				if n := e.answers(id); n != 1 {
					t.Errorf("prompt %d was answered %d times", id, n)
				}
			}
		})
	}
}

func (e *editor) answers(id int) (n int) {
	for _, m := range e.seen {
		if m.Method == "" && string(m.ID) == fmt.Sprint(id) {
			n++
		}
	}
	return n
}

// A client that does not read for a while loses nothing, and its stop takes effect.
func TestClientThatDoesNotRead(t *testing.T) {
	with(t, "VsCode", func(t *testing.T, _ *gateway, e *editor) {
		long := strings.Repeat("0123456789abcdef", 60_000) // about 1 MB
		e.send(e.request("chat/prompt", promptOf("c", "say "+long+" then hang")))
		<-time.After(3 * time.Second)
		e.tell("chat/promptStop", `{"chatId":"c"}`)
		<-time.After(time.Second)
		e.until(finished("c"))
		if got := e.text("c"); got != long+"\nPrompt stopped\n" {
			t.Errorf("%d bytes arrived of %d", len(got), len(long))
		}
	})
}

// After a thousand turns there are as many goroutines as after the first.
func TestThousandTurns(t *testing.T) {
	with(t, "VsCode", func(t *testing.T, _ *gateway, e *editor) {
		count := func() int {
			<-time.After(2 * time.Second) // the store's flusher ends
			synctest.Wait()
			stacks := make([]byte, 1<<20)
			return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("synctest bubble")) // not Go's own
		}
		e.say("c", "say x")
		before := count()
		if before == 0 {
			t.Fatal("the connection has no goroutine")
		}
		for range 1000 {
			e.say("c", "say x")
			e.seen = nil
		}
		// A goroutine that has ended may be counted for a moment more.
		after := count()
		for looks := 0; after > before && looks < 1000; looks++ {
			after = count()
		}
		if after > before {
			t.Errorf("%d goroutines before, %d after", before, after)
		}
	})
}

// Two clients on one chat: both see the turn, either may decide, a call that the other one
// approved continues, and both are notified of a deletion.
func TestTwoClients(t *testing.T) {
	with(t, "VsCode", func(t *testing.T, g *gateway, a *editor) {
		peer, stop := serve(t, g)
		defer stop()
		b := connect(t, peer, "IntelliJ")
		a.say("c", "say Hello")
		if m := b.ask("chat/open", `{"chatId":"c"}`); m.Result["found"] != true {
			t.Fatalf("open: %s", m.raw)
		}
		a.send(a.request("chat/prompt", promptOf("c", "write a.txt")))
		run := b.until(func(m message) bool { return m.is("toolCallRun", `"manualApproval":true`) })
		id := run.Params.Content["id"]
		b.tell("chat/toolCallApprove", fmt.Sprintf(`{"chatId":"c","toolCallId":%q}`, id))
		a.until(func(m message) bool { return m.is("toolCalled", `"error":false`) })
		a.until(finished("c"))
		b.until(finished("c"))
		a.tell("chat/toolCallReject", fmt.Sprintf(`{"chatId":"c","toolCallId":%q}`, id)) // too late

		// A stop by one client ends the turn of the other.
		a.send(a.request("chat/prompt", promptOf("c", "hang")))
		b.until(func(m message) bool { return m.Method == "chat/statusChanged" && m.Params.Status == "running" })
		b.tell("chat/promptStop", `{"chatId":"c"}`)
		a.until(func(m message) bool { return m.is("text", "Prompt stopped") })
		a.until(finished("c"))

		// A chat cleared by one client is empty for the other.
		if m := a.ask("chat/clear", `{"chatId":"c"}`); m.Error != nil {
			t.Errorf("clear: %s", m.raw)
		}
		b.until(func(m message) bool { return m.Method == "chat/cleared" })

		if m := a.ask("chat/delete", `{"chatId":"c"}`); m.Error == nil || !strings.Contains(m.raw, "IntelliJ is attached to this session.") {
			t.Errorf("delete by a client without questions: %s", m.raw)
		}
		third, stop3 := serve(t, g)
		defer stop3()
		c := &editor{t: t, peer: third}
		c.ask("initialize", strings.Replace(fmt.Sprintf(hello, "Neovim", "null"), `"capabilities":{}`, `"capabilities":{"codeAssistant":{"chatCapabilities":{"askQuestion":true}}}`, 1))
		c.tell("initialized", "{}")
		c.ask("chat/open", `{"chatId":"c"}`)
		for _, answer := range []string{"Keep it", "Delete it for all"} {
			c.send(c.request("chat/delete", `{"chatId":"c"}`))
			asked := c.until(func(m message) bool { return m.Method == "chat/askQuestion" })
			if !strings.Contains(asked.raw, "IntelliJ and VsCode are attached to this session. Delete it for all?") {
				t.Errorf("the question: %s", asked.raw)
			}
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"answer":%q}}`, asked.ID, answer))
			id := fmt.Sprint(c.last)
			m := c.until(func(m message) bool { return m.Method == "" && string(m.ID) == id })
			if kept := m.Error != nil; kept != (answer == "Keep it") {
				t.Errorf("%s: %s", answer, m.raw)
			}
		}
		a.until(func(m message) bool { return m.Method == "chat/deleted" && m.Params.ChatID == "c" })
		b.until(func(m message) bool { return m.Method == "chat/deleted" && m.Params.ChatID == "c" })
		if m := b.ask("chat/open", `{"chatId":"c"}`); m.Result["found"] != false {
			t.Errorf("open after the deletion: %s", m.raw)
		}
	})
}

// Changes on the board, and another configuration, reach the client.
func TestBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prof := profile()
		g := over(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		native := board.Topic{Kind: "server", Name: core.Native}
		g.board.Put(native, board.Server{Name: core.Native, Status: "running", Tools: []core.Spec{{Name: "read_file", Schema: json.RawMessage(`{"type":"object"}`)}}})
		peer, stop := serve(t, g)
		e := connect(t, peer, "VsCode")
		ours := 0
		for _, m := range e.seen {
			if m.Method == "tool/serverUpdated" {
				if ours++; m.Params.Name != "ECA" || len(m.Params.Tools) != 1 {
					t.Errorf("the tools of our own: %s", m.raw)
				}
			}
		}
		if ours != 1 {
			t.Errorf("our own tools were told of %d times", ours)
		}
		g.board.Put(board.Topic{Kind: "server", Name: "db", Workspace: "/elsewhere"}, board.Server{Name: "elsewhere", Status: "failed"})
		g.board.Put(board.Topic{Kind: "server", Name: "db"}, board.Server{Name: "db", Status: "starting"})
		if m := e.until(func(m message) bool { return m.Method == "tool/serverUpdated" }); m.Params.Name != "db" || m.Params.Status != "starting" || m.Params.Type != "mcp" {
			t.Errorf("an MCP server: %s", m.raw)
		}
		e.say("c", "say x")
		next := profile()
		addModel(next, inference.ModelInfo{ID: "acme/huge"})
		prof = next
		g.board.Put(board.Topic{Kind: "models"}, board.Models{})
		isConfig := func(m message) bool { return m.Method == "config/updated" }
		if m := e.until(isConfig); m.Params.ChatID != "" || len(m.Params.Chat["models"].([]any)) != 3 {
			t.Errorf("for all chats: %s", m.raw)
		}
		if m := e.until(isConfig); m.Params.ChatID != "c" {
			t.Errorf("for the chat: %s", m.raw)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The store fails: the turn ends with the reason, the client leaves its loading state, the next
// prompt reports the same, and another chat continues.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		var full atomic.Bool
		store.Before = func(_ context.Context, op string, id core.SessionID) error {
			if full.Load() && op == "write" && id == "bad" {
				return errors.New("no space left on device")
			}
			return nil
		}
		g := newGateway(store, nil)
		peer, stop := serve(t, g)
		e := connect(t, peer, "VsCode")
		e.say("bad", "say x")
		full.Store(true)
		for range 2 {
			e.say("bad", "say y")
			if !strings.Contains(e.text("bad"), "no space left on device") {
				t.Errorf("not told why:\n%s", e.transcript())
			}
			for id := 2; id <= e.last; id++ {
				if e.answers(id) == 0 {
					e.until(func(m message) bool { return string(m.ID) == fmt.Sprint(id) })
				}
			}
		}
		e.say("good", "say z")
		if e.text("good") != "z" {
			t.Errorf("the other chat: %q", e.text("good"))
		}
		stop()
		_ = g.Close(t.Context()) // it returns the store's error
	})
}

// After an answer that the Emacs client waits for, messages pause for a while if a turn runs; for
// other clients they do not.
func TestGapForEmacs(t *testing.T) {
	for name, want := range map[string]time.Duration{"emacs": 15 * time.Millisecond, "VsCode": 0} {
		with(t, name, func(t *testing.T, _ *gateway, e *editor) {
			e.send(e.request("chat/prompt", promptOf("c", "say x then hang")))
			e.until(func(m message) bool { return m.is("text", `"text":"x"`) })
			e.ask("chat/queryCommands", `{"query":""}`)
			begun := time.Now()
			e.ask("chat/queryCommands", `{"query":""}`)
			if got := time.Since(begun); got != want {
				t.Errorf("%s: a gap of %v, want %v", name, got, want)
			}
		})
	}
}

// The connection of a client whose process is missing from the beginning ends after ten seconds in which
// it says nothing, if its document is an early one. One that speaks sees other process ids than we do.
func TestAProcessThatWasNeverThere(t *testing.T) {
	const early = `{"processId":8,"initializationOptions":{"chatBehavior":"agent"},"capabilities":{"codeAssistant":{"chat":true,"editor":{"diagnostics":true}}},"workspaceFolders":[{"uri":"file:///w","name":"w"}]}`
	for _, c := range []struct {
		name, hello string
		speaks      bool
		ends        bool
	}{
		{"early", early, false, true},
		{"early, and speaks", early, true, false},
		{"today", fmt.Sprintf(hello, "VsCode", "8"), false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), nil)
			in, out, peer := wiretest.New(wire.ContentLength)
			srv := eca.New(eca.Options{Gateway: g.Gateway, Principal: core.Local, Cwd: "/w", Alive: func(int) bool { return false }})
			served := make(chan error, 1)
			go func() { served <- srv.Serve(t.Context(), in, out) }()
			e := &editor{t: t, peer: peer}
			e.ask("initialize", c.hello)
			e.tell("initialized", "{}")
			<-time.After(9 * time.Second)
			synctest.Wait()
			if len(served) > 0 {
				t.Errorf("%s: it has ended before ten seconds", c.name)
			}
			if c.speaks {
				e.tell("chat/promptStop", `{"chatId":"c"}`)
			}
			<-time.After(time.Hour)
			synctest.Wait()
			if got := len(served) > 0; got != c.ends {
				t.Errorf("%s: it has ended: %v", c.name, got)
			}
			peer.Hangup()
			if err := <-served; !errors.Is(err, eca.ErrNoShutdown) {
				t.Errorf("%s: Serve returned %v", c.name, err)
			}
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The connection ends when the client's process has ended; a process that never existed has no
// effect.
func TestProcess(t *testing.T) {
	for pid, ends := range map[string]bool{"7": true, "8": false, "1": false, "null": false, "-3": false, "99999999999": false} {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), nil)
			in, out, peer := wiretest.New(wire.ContentLength)
			gone := make(chan struct{})
			srv := eca.New(eca.Options{Gateway: g.Gateway, Principal: core.Local, Cwd: "/w", Alive: func(pid int) bool {
				select {
				case <-gone:
					return false
				default:
					return pid == 7
				}
			}})
			served := make(chan error, 1)
			go func() { served <- srv.Serve(t.Context(), in, out) }()
			e := &editor{t: t, peer: peer}
			e.ask("initialize", fmt.Sprintf(hello, "VsCode", pid))
			close(gone)
			<-time.After(10 * time.Second)
			synctest.Wait()
			select {
			case err := <-served:
				if !ends || !errors.Is(err, eca.ErrNoShutdown) {
					t.Errorf("%s: Serve returned %v", pid, err)
				}
				return
			default:
			}
			if ends {
				t.Errorf("%s: Serve goes on", pid)
			}
			e.tell("exit", "null")
			if err := <-served; !errors.Is(err, eca.ErrNoShutdown) {
				t.Errorf("%s: Serve returned %v behind exit", pid, err)
			}
			peer.Hangup()
		})
	}
}

// Serve ends with ctx, and returns its cause.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil)
		in, out, peer := wiretest.New(wire.ContentLength)
		ctx, cancel := context.WithCancelCause(t.Context())
		served := make(chan error, 1)
		go func() { served <- eca.New(eca.Options{Gateway: g.Gateway, Principal: core.Local}).Serve(ctx, in, out) }()
		e := connect(t, peer, "VsCode")
		e.send(e.request("chat/prompt", promptOf("c", "hang")))
		synctest.Wait()
		cancel(core.ErrShutdown)
		if err := <-served; !errors.Is(err, core.ErrShutdown) {
			t.Errorf("Serve returned %v", err)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestRender(t *testing.T) {
	events := []core.Event{
		core.TurnStarted{Turn: "t1", Message: "m1", Prompt: []core.Block{core.Text{Text: "Hi"}}},
		core.TextDelta{Message: "m2", Text: "Hello"},
		core.TurnEnded{Turn: "t1", Stop: core.StopEnd},
	}
	got := strings.Join(eca.RenderEarly(eca.Doc000, coretest.Records(1, events...), eca.RenderOptions{Chat: "c"}), "\n")
	want := `{"jsonrpc":"2.0","method":"chat/contentReceived","params":{"chatId":"c","role":"system","content":{"type":"progress","state":"running","text":"Waiting model"}}}
{"jsonrpc":"2.0","method":"chat/contentReceived","params":{"chatId":"c","role":"user","content":{"type":"text","text":"Hi\n"}}}
{"jsonrpc":"2.0","method":"chat/contentReceived","params":{"chatId":"c","role":"assistant","content":{"type":"text","text":"Hello"}}}
{"jsonrpc":"2.0","method":"chat/contentReceived","params":{"chatId":"c","role":"system","content":{"type":"progress","state":"finished","text":""}}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := eca.Render(nil, eca.RenderOptions{}); got != nil {
		t.Errorf("of nothing: %q", got)
	}
}

// A chat with a truncated end can be opened, wherever the reading of the rest pauses.
func TestOpenTruncated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		g := newGateway(store, nil)
		peer, stop := serve(t, g)
		connect(t, peer, "VsCode").say("c", "say "+strings.Repeat("0123456789abcdef", 40_000))
		sess, err := g.Open(t.Context(), core.Local, "c")
		if err != nil {
			t.Fatal(err)
		}
		var ends []core.Pos
		var texts []string // up to that end
		text := ""
		r := sess.Attach(core.Client{}).Read(core.Pos{})
		for r.Pos().Before(sess.Head()) {
			recs, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range recs {
				if e, ok := rec.Event.(core.TextDelta); ok {
					text += e.Text
				}
				ends, texts = append(ends, core.Pos{Epoch: rec.Epoch, Seq: rec.Seq + 1}), append(texts, text)
			}
		}
		r.Close()
		stop()
		for i := len(ends) - 1; i > 1; i-- { // each hides a little more than the last
			s, err := g.Open(t.Context(), core.Local, "c")
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{})
			if err := a.Truncate(t.Context(), ends[i]); err != nil {
				t.Fatal(err)
			}
			a.Close()
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
			g = newGateway(store, nil)
			peer, stop := serve(t, g)
			e := connect(t, peer, "VsCode")
			if m := e.ask("chat/open", `{"chatId":"c"}`); m.Result["found"] != true {
				t.Errorf("record %d: %s", i, m.raw)
			}
			got := strings.TrimSuffix(e.text("c"), "\ninterrupted: the process that ran it has ended\n") // if the turn's end is hidden
			if got != texts[i] {
				t.Errorf("record %d: %d bytes are shown, want %d", i, len(got), len(texts[i]))
			}
			stop()
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
