package acp_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"dragoman/adapters/acp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// sdkClient is a client made with the Go library, which reads lines of 10 MiB at most.
type sdkClient struct {
	sdk.Client // its other methods are not called

	updates chan sdk.SessionUpdate
}

func (c sdkClient) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	c.updates <- n.Update
	return nil
}

// A session with an image of 9 MB, a line of 12 MB if it were shown whole, can be loaded by a client
// that reads no such line.
func TestTheGoLibraryLoadsASessionWithALargeImage(t *testing.T) {
	g := newGateway(coretest.NewMemory(), nil, false)
	connect := func() (conn *sdk.ClientSideConnection, updates chan sdk.SessionUpdate, stop func()) {
		in, to := io.Pipe()
		from, out := io.Pipe()
		served := make(chan error, 1)
		server := acp.New(acp.Options{Gateway: g, Principal: core.Local})
		go func() { served <- server.Serve(context.WithoutCancel(t.Context()), in, out) }()
		updates = make(chan sdk.SessionUpdate, 100)
		conn = sdk.NewClientSideConnection(sdkClient{updates: updates}, to, from)
		if _, err := conn.Initialize(t.Context(), sdk.InitializeRequest{ProtocolVersion: 1, ClientInfo: &sdk.Implementation{Name: "t", Version: "1"}}); err != nil {
			t.Fatal(err)
		}
		return conn, updates, func() {
			_ = to.Close() // a pipe's Close returns no error
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	}

	writer, _, stop := connect()
	created, err := writer.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "/w", McpServers: []sdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	image := sdk.ImageBlock(base64.StdEncoding.EncodeToString(make([]byte, 9<<20)), "image/png")
	if _, err := writer.Prompt(t.Context(), sdk.PromptRequest{SessionId: created.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock("say yes"), image}}); err != nil {
		t.Fatal(err)
	}
	stop()

	reader, updates, stop := connect()
	if _, err := reader.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: created.SessionId, Cwd: "/w", McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	for {
		u := <-updates
		if u.UserMessageChunk == nil || u.UserMessageChunk.Content.ResourceLink == nil {
			continue
		}
		l := u.UserMessageChunk.Content.ResourceLink
		if l.Size == nil || *l.Size != 9<<20 || l.MimeType == nil || *l.MimeType != "image/png" {
			t.Errorf("the link to the image is %+v", l)
		}
		break
	}
	stop()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// busyClient is a client made with the Go library, whose handler takes a while for each update. The library
// ends the connection when more than 1,024 updates wait for it.
type busyClient struct {
	sdk.Client // its other methods are not called

	takes time.Duration
	seen  atomic.Int64 // updates
	said  atomic.Int64 // bytes of the agent's messages
	done  chan struct{}
}

func (c *busyClient) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	if c.takes > 0 {
		<-time.After(c.takes)
	}
	c.seen.Add(1)
	if m := n.Update.AgentMessageChunk; m != nil && m.Content.Text != nil {
		if c.said.Add(int64(len(m.Content.Text.Text))); strings.HasSuffix(m.Content.Text.Text, "the end") {
			close(c.done)
		}
	}
	return nil
}

// connectBusy connects a busyClient to a gateway.
func connectBusy(t *testing.T, g *core.Gateway, takes time.Duration) (conn *sdk.ClientSideConnection, c *busyClient, stop func()) {
	in, to := io.Pipe()
	from, out := io.Pipe()
	served := make(chan error, 1)
	server := acp.New(acp.Options{Gateway: g, Principal: core.Local})
	go func() { served <- server.Serve(context.WithoutCancel(t.Context()), in, out) }()
	c = &busyClient{takes: takes, done: make(chan struct{})}
	conn = sdk.NewClientSideConnection(c, to, from)
	if _, err := conn.Initialize(t.Context(), sdk.InitializeRequest{ProtocolVersion: 1}); err != nil {
		t.Fatal(err)
	}
	return conn, c, func() {
		_ = to.Close() // a pipe's Close returns no error
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// look is a turn that reads a file and runs a command, or says very much.
func look(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
	said, _ := turn.Prompt()[0].(core.Text)
	if n, ok := strings.CutPrefix(said.Text, "flood "); ok {
		pieces, err := strconv.Atoi(n)
		m := turn.NewMessage()
		for range pieces {
			if err == nil {
				err = turn.Emit(ctx, core.TextDelta{Message: m, Text: "some "})
			}
		}
		if err != nil {
			return "", err
		}
		return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: m, Text: "the end"})
	}
	var events []core.Event
	for i, kind := range []core.CallKind{core.KindRead, core.KindExecute} {
		c := core.Call{ID: turn.NewCall(), Turn: turn.ID(), Server: core.Native, Tool: string(kind), Kind: kind, State: core.Proposed, Args: []byte(`{"a":1}`)}
		events = append(events, core.CallChanged{Call: c})
		c.State, c.Title = core.Running, "Look"
		events = append(events, core.CallChanged{Call: c}, core.CallOutput{Call: c.ID, Text: "hello\n"})
		c.State, c.Content = core.Succeeded, []core.Block{core.Text{Text: strings.Repeat("hello\n", 20)}}
		events = append(events, core.CallChanged{Call: c}, core.UsageChanged{Turn: turn.ID(), Context: i, Window: 1000})
	}
	for _, ev := range append(events, core.TextDelta{Message: turn.NewMessage(), Text: "That is it."}) {
		if err := turn.Emit(ctx, ev); err != nil {
			return "", err
		}
	}
	return core.StopEnd, nil
}

// The Go library opens sessions of 200 and 2,000 turns, whatever its handler takes; DRAGOMAN_LOADS times each
// instead of once.
func TestTheGoLibraryOpensLongSessions(t *testing.T) {
	t.Parallel()
	loads, err := strconv.Atoi(cmp.Or(os.Getenv("DRAGOMAN_LOADS"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, turns := range []int{200, 2000} {
		g := coretest.Gateway(coretest.NewMemory(), look, nil)
		writer, _, stop := connectBusy(t, g, 0)
		created, err := writer.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "/w", McpServers: []sdk.McpServer{}})
		if err != nil {
			t.Fatal(err)
		}
		for range turns {
			if _, err := writer.Prompt(t.Context(), sdk.PromptRequest{SessionId: created.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock("look")}}); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		t.Run(strconv.Itoa(turns), func(t *testing.T) {
			for _, takes := range []time.Duration{0, 100 * time.Microsecond, 300 * time.Microsecond} {
				t.Run(takes.String(), func(t *testing.T) {
					t.Parallel()
					for n := range loads {
						reader, c, stop := connectBusy(t, g, takes)
						if _, err := reader.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: created.SessionId, Cwd: "/w", McpServers: []sdk.McpServer{}}); err != nil {
							t.Fatalf("load %d after %d updates: %v", n, c.seen.Load(), err)
						}
						// What a turn leaves: a message of the user, two calls and an answer; and the usage and the title once.
						if seen := c.seen.Load(); seen < int64(4*turns) || seen > int64(4*turns+5) {
							t.Errorf("load %d: %d updates for %d turns", n, seen, turns)
						}
						stop()
					}
				})
			}
		})
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// An answer of 20,000 small pieces, as fast as they come, is no flood for the Go library.
func TestTheGoLibraryTakesAFastAnswer(t *testing.T) {
	t.Parallel()
	const pieces = 20_000
	g := coretest.Gateway(coretest.NewMemory(), look, nil)
	for _, takes := range []time.Duration{0, 300 * time.Microsecond} {
		conn, c, stop := connectBusy(t, g, takes)
		created, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "/w", McpServers: []sdk.McpServer{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: created.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock(fmt.Sprint("flood ", pieces))}}); err != nil {
			t.Fatalf("after %d updates: %v", c.seen.Load(), err)
		}
		<-c.done
		if said := c.said.Load(); said != int64(pieces*len("some ")+len("the end")) {
			t.Errorf("%d bytes of the answer came", said)
		}
		stop()
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
