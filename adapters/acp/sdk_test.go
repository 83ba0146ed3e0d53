package acp_test

import (
	"context"
	"encoding/base64"
	"io"
	"testing"

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
