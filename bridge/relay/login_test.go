package relay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/login/logintest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// wantsLogin is a server that wants a login, and its authority.
func wantsLogin(t *testing.T) (*logintest.Authority, *upstream.Box) {
	t.Helper()
	a := logintest.New(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return bridgetest.SDKServer() }, nil))
	up := upstream.Server{Name: "up", Endpoint: at(bridgetest.Place{URL: a.Resource})}
	return a, upstream.New(upstream.Options{Servers: []upstream.Server{up}, Tokens: &logintest.Memory{}})
}

// A relay uses the login of its server. The client's own key is not handed on, nor
// is what the server says of ours.
func TestRelayWithALogin(t *testing.T) {
	a, b := wantsLogin(t)
	relay, _ := New(b, "up", nil)
	face := relay.HTTP(t.TempDir(), func(*http.Request) access.Holder { return access.Owner(core.Local) })
	defer face.Close()
	ask := func() *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodPost, "/mcp/up", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)).WithContext(bridgetest.Patient(t))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer of-the-client")
		w := httptest.NewRecorder()
		face.ServeHTTP(w, req)
		return w
	}
	w := ask()
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"id":7`) || !strings.Contains(w.Body.String(), "requires a login: dragoman mcp-servers login up") || w.Header().Get("Www-Authenticate") != "" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	if err := b.Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	a.End() // so that it is renewed on the way
	if w = ask(); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"serverInfo"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if slices.Contains(a.Shown(), "Bearer of-the-client") {
		t.Error("the client's key was handed on")
	}
	for _, s := range a.Secrets() {
		if strings.Contains(w.Body.String(), s) || strings.Contains(fmt.Sprint(w.Header()), s) {
			t.Error("the client was told the token")
		}
	}
}

// A client of a relay over a pipe is told that a login is wanted, and goes on when
// there is one.
func TestRelayedClientOutlivesALogin(t *testing.T) {
	_, b := wantsLogin(t)
	relay, _ := New(b, "up", nil)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(bridgetest.Patient(t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = relay.Serve(ctx, core.Local, t.TempDir(), in, out)
	}()
	defer func() { cancel(); <-ended }()
	lines := bufio.NewScanner(fromServer)
	ask := func(want string) {
		t.Helper()
		fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("%s, %v; want %s", lines.Text(), lines.Err(), want)
		}
	}
	ask("requires a login: dragoman mcp-servers login up")
	if err := b.Login(ctx, "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	ask(`"serverInfo"`)
}
