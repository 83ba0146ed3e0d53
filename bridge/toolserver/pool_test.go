package toolserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/wire"
	"dragoman/bridge/bridgetest"
	"dragoman/core"
)

// ask posts an initialize, and returns the status.
func ask(t *testing.T, url string, change func(*http.Request)) int {
	t.Helper()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	change(r)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode == http.StatusUnauthorized && bytes.Contains(body, []byte("files")) {
		t.Errorf("the refusal says %s", body)
	}
	return resp.StatusCode
}

// Only the token of the session opens its server.
func TestTokens(t *testing.T) {
	p := newPool(t)
	a, b := open(t, p, echo), open(t, p, echo)
	url, headers := a.HTTP()
	_, others := b.HTTP()
	token := headers["Authorization"]
	bears := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Authorization"] = values }
	}
	for what, c := range map[string]struct {
		url    string
		change func(*http.Request)
		want   int
	}{
		"its token":       {url, bears(token), http.StatusOK},
		"no token":        {url, bears(), http.StatusUnauthorized},
		"a wrong one":     {url, bears("Bearer x"), http.StatusUnauthorized},
		"another's":       {url, bears(others["Authorization"]), http.StatusUnauthorized},
		"two tokens":      {url, bears("Bearer x", token), http.StatusUnauthorized},
		"another scheme":  {url, bears(strings.Replace(token, "Bearer", "Basic", 1)), http.StatusUnauthorized},
		"no such session": {url + "x", bears(token), http.StatusUnauthorized},
		"no session":      {url[:strings.LastIndex(url, "/")+1], bears(token), http.StatusUnauthorized},
		"in the address":  {url + "?token=" + strings.TrimPrefix(token, "Bearer "), bears(), http.StatusUnauthorized},
		"a web page": {url, func(r *http.Request) {
			bears(token)(r)
			r.Header.Set("Origin", "https://example.com")
		}, http.StatusForbidden},
		"another name for us": {url, func(r *http.Request) {
			bears(token)(r)
			r.Host = "example.com"
		}, http.StatusForbidden},
	} {
		if got := ask(t, c.url, c.change); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
	a.Close()
	if got := ask(t, url, bears(token)); got != http.StatusUnauthorized {
		t.Errorf("a closed session: %d", got)
	}
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("the address is %s", url)
	}
}

// The token is in no argument of the program.
func TestTokenIsNoArgument(t *testing.T) {
	s := open(t, newPool(t), echo)
	command, args, env := s.Stdio()
	if env[TokenVar] == "" || strings.Contains(strings.Join(append(args, command), " "), env[TokenVar]) {
		t.Errorf("%s %q, with %q", command, args, env)
	}
}

// With the pool everything ends: streams, calls and the agent's programs.
func TestClose(t *testing.T) {
	p := newPool(t)
	s := open(t, p, echo)
	began := make(chan struct{}, 2)
	w := &turn{specs: []core.Spec{echo}}
	w.invoke = blocks(began)
	end := begin(t, s, w)
	said := make(chan string, len(ways))
	for _, over := range ways {
		cs := bridgetest.Connected(t, over(t, s), bridgetest.Eras[0], &mcp.ClientOptions{})
		go func() { said <- bridgetest.Said(t, cs, "files__echo", nil) }()
		<-began
	}
	p.Close()
	for range ways {
		if got := <-said; !strings.Contains(got, "error") {
			t.Errorf("a call of a closed pool says %q", got)
		}
	}
	end()
	if _, err := p.Open(Client{}); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("a closed pool opens a session: %v", err)
	}
}

// A pool that nobody uses has no listener.
func TestUnused(t *testing.T) {
	p := newPool(t)
	if p.addr != "" {
		t.Errorf("it listens at %s", p.addr)
	}
	p.Close()
	if _, err := p.Open(Client{}); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("a closed pool opens a session: %v", err)
	}
}
