package e2e

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// port is the binary as it serves MCP over HTTP. Whoever reaches it could prompt its model.
type port struct {
	*site
	t       *testing.T
	place   *place
	model   *puppet
	config  string
	log     string
	address string // host and port
	session string // of a client that the main token admits
}

// pwned is the prompt that attackers send. The tests fail if it reaches the model.
const (
	pwned = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"pwned"}}}`
	hello = `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
)

// open begins to serve.
func (p *place) open(t *testing.T, config string) *port {
	t.Helper()
	h := &port{t: t, place: p, model: newPuppet(t), log: filepath.Join(p.home, "log")}
	h.config = p.config(t, h.model.config()+config)
	var err error
	if h.site, err = p.serve(t.Context(), "--config", h.config, "--log-level", "debug", "--log-file", h.log); err != nil {
		t.Fatal(err)
	}
	h.address = strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp")
	h.session = h.enter(h.token)
	return h
}

// enter begins a session of the protocol.
func (h *port) enter(token string) string {
	h.t.Helper()
	status, text, head := h.send(http.MethodPost, hello, h.with(token, ""))
	id := head.Get("Mcp-Session-Id")
	if id == "" {
		h.t.Fatalf("initialize: %d %s", status, text)
	}
	h.send(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, h.with(token, id))
	return id
}

// with adds a token and a session.
func (h *port) with(token, session string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
	}
}

// send makes a request.
func (h *port) send(method, body string, changes ...func(*http.Request)) (status int, text string, head http.Header) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, change := range changes {
		change(r)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Errorf("%s: %v", method, err)
	}
	return res.StatusCode, string(all), res.Header
}

// close ends it. The model has heard no attack, but hears the same from who may prompt.
func (h *port) close() {
	h.t.Helper()
	if said := h.model.all(); strings.Contains(said, "pwned") {
		h.t.Errorf("the model has heard an attacker: %.2000s", said)
	}
	if status, text, _ := h.send(http.MethodPost, pwned, h.with(h.token, h.session)); !strings.Contains(h.model.all(), "pwned") {
		h.t.Errorf("nobody reaches the model: %d %s", status, text)
	}
	if err := h.stop(); err != nil {
		h.t.Error(err)
	}
}

// A web page reaches nothing, whatever name it has for this machine and whatever it calls itself, not even with
// the token. gate.TestWhoMayComeIn and TestPagesComeInNowhere are thorough.
func TestAttack20(t *testing.T) {
	t.Parallel()
	h := newPlace(t).open(t, "")
	_, number, err := net.SplitHostPort(h.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ host, origin string }{
		{host: "evil.example"},
		{host: "evil.example:" + number},
		{host: "127.0.0.1.evil.example:" + number},
		{host: "localhost.evil.example:" + number},
		{host: "evil.example:" + number, origin: "http://evil.example:" + number}, // a name that was rebound
		{host: "169.254.169.254"},
		{host: "0.0.0.0:" + number},
		{host: "2130706433:" + number},
		{host: "127.1:" + number},
		{origin: "null"},
		{origin: "file://"},
		{origin: "file://" + h.address},
		{origin: "https://evil.example"},
		{origin: "http://localhost:" + number}, // what it calls itself is the number
		{origin: "http://127.0.0.1"},
		{origin: "http://127.0.0.1:1"},
		{origin: "http://" + h.address + ".evil.example"},
		{origin: "http://" + h.address + "@evil.example"},
		{origin: "chrome-extension://abcdefghijklmnop"},
		{origin: "vscode-webview://abc"},
		{origin: "ws://" + h.address},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions} {
			status, text, head := h.send(method, pwned, h.with(h.token, h.session), func(r *http.Request) {
				if c.host != "" {
					r.Host = c.host
				}
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
				if method == http.MethodOptions {
					r.Header.Set("Access-Control-Request-Method", "POST")
					r.Header.Set("Access-Control-Request-Headers", "authorization")
					r.Header.Set("Access-Control-Request-Private-Network", "true")
				}
			})
			if status != http.StatusForbidden {
				t.Errorf("%s %+v: %d %s", method, c, status, text)
			}
			for name := range head {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %+v: %s is %q", method, c, name, head.Get(name))
				}
			}
		}
	}
	for _, path := range []string{"/", "/health", "/metrics", "/debug/pprof/", "/debug/vars", "/sse", "/message", "/mcp/../debug/pprof/", "/mcp/nothing"} {
		status, text, _ := h.send(http.MethodGet, "", h.with(h.token, ""), func(r *http.Request) { r.URL.Path = path })
		if status != http.StatusNotFound {
			t.Errorf("GET %s: %d %s", path, status, text)
		}
	}
	h.close()
}

// A request counts with a whole and valid token in its header, for what the token may do, and with a body of JSON.
// main.TestTokensOfARunningServer and TestWhoAnswers are thorough.
func TestAttack21(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.open(t, "")
	created := func(name string, args ...string) string {
		out, errs, code := p.run(t, append([]string{"token", "create", name}, args...)...)
		if code != 0 {
			t.Fatalf("token create: %s", errs)
		}
		return strings.TrimSpace(out)
	}
	watcher, other := created("watcher", "--rights", "watch"), created("other", "--rights", "watch,prompt,answer,act")
	revoked, brief := created("revoked"), created("brief", "--expires", "1s")
	if _, errs, code := p.run(t, "token", "revoke", "revoked"); code != 0 {
		t.Fatalf("token revoke: %s", errs)
	}
	if !within(5*time.Second, func() bool {
		status, _, _ := h.send(http.MethodPost, hello, h.with(brief, ""))
		return status == http.StatusUnauthorized
	}) {
		t.Error("a token has no end")
	}
	query := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = name + "=" + h.token }
	}
	header := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Authorization"] = values }
	}
	for _, c := range []struct {
		what   string
		change func(*http.Request)
	}{
		{"none", header()},
		{"an empty one", header("Bearer ")},
		{"a word", header("Bearer true")},
		{"a prefix", header("Bearer " + h.token[:len(h.token)-1])},
		{"half", header("Bearer " + h.token[:len(h.token)/2])},
		{"more", header("Bearer " + h.token + "A")},
		{"in small letters", header("Bearer " + strings.ToLower(h.token))},
		{"two in a header", header("Bearer " + h.token + ", Bearer " + h.token)},
		{"two headers", header("Bearer x", "Bearer "+h.token)},
		{"another scheme", header("Basic " + h.token)},
		{"no scheme", header(h.token)},
		{"one that is revoked", header("Bearer " + revoked)},
		{"one that has ended", header("Bearer " + brief)},
		{"its name", header("Bearer watcher")},
		{"in the query", query("token")},
		{"in the query, as OAuth has it", query("access_token")},
		{"in the query, as a header", query("Authorization")},
		{"in a cookie", func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Set("Cookie", "token="+h.token) }},
		{"for a proxy", func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Proxy-Authorization", "Bearer "+h.token)
		}},
		{"rights that it gives itself", func(r *http.Request) {
			header("Bearer x")(r)
			r.Header.Set("X-Forwarded-For", "127.0.0.1")
			r.Header.Set("X-Dragoman-Rights", "act")
		}},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			status, text, _ := h.send(method, pwned, h.with(h.token, h.session), c.change)
			if status != http.StatusUnauthorized || strings.Contains(text, h.token) {
				t.Errorf("%s with %s: %d %s", method, c.what, status, text)
			}
		}
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json", "application/json-seq", ""} {
		status, text, _ := h.send(http.MethodPost, pwned, h.with(h.token, h.session), func(r *http.Request) { r.Header.Set("Content-Type", kind) })
		if status < 400 || status >= 500 {
			t.Errorf("a body of %q: %d %s", kind, status, text)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodHead} {
		status, text, _ := h.send(method, pwned, h.with(h.token, ""), func(r *http.Request) { r.URL.RawQuery = "prompt=pwned" })
		if status < 400 {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}

	// The session of another's token, and a token with fewer rights.
	if status, text, _ := h.send(http.MethodPost, pwned, h.with(other, h.session)); status != http.StatusNotFound {
		t.Errorf("another's session: %d %s", status, text)
	}
	own := h.enter(watcher)
	for _, tool := range []string{"agent_prompt", "agent_approve", "agent_cancel", "session_close", "session_delete"} {
		body := strings.Replace(pwned, "agent_prompt", tool, 1)
		if status, text, _ := h.send(http.MethodPost, body, h.with(watcher, own)); !strings.Contains(text, "needs the right") && !strings.Contains(text, `"error"`) {
			t.Errorf("a watcher's %s: %d %s", tool, status, text)
		}
	}
	h.close()
	holdsNot(t, h.log, h.token, watcher, other, revoked, brief)

	for _, args := range [][]string{{"--http", "0.0.0.0:0", "--no-auth"}, {"--http", ":0", "--no-auth"}, {"--http", "[::]:0", "--no-auth"}, {"--no-auth"}} {
		if out, errs, code := p.run(t, append([]string{"mcp"}, args...)...); code == 0 {
			t.Errorf("%q: %s%s", args, out, errs)
		}
	}
}

// holdsNot fails if a file is not there, or has one of some texts.
func holdsNot(t testing.TB, path string, secrets ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Error(err)
	}
	for _, secret := range secrets {
		if i := bytes.Index(text, []byte(secret)); i >= 0 {
			t.Errorf("%s has a secret behind %q", path, text[max(0, i-300):i])
		}
	}
}

// Addresses of this machine and of local networks are reached in no spelling, by no tool and by no command, and a
// rule about a name holds for no other one. web.TestFetchRefusesPrivate and policy.TestURLRules are thorough.
func TestAttack29(t *testing.T) {
	t.Parallel()
	needInstalled(t, "curl")
	s := besiege(t, "policy: {default: allow, allow: [{url: '*'}], deny: [{url: bad.example}]}\n")
	var hits atomic.Int32
	near := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		io.WriteString(w, s.secret) //nolint:errcheck // nobody gets it
	}))
	t.Cleanup(near.Close)
	_, number, err := net.SplitHostPort(near.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.permission = "allow_once"
	var lines strings.Builder
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "127.0.1", "127.127.127.127", "2130706433", "0x7f000001", "0x7f.0.0.1", "017700000001", "0177.0.0.1",
		"0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[64:ff9b::7f00:1]", "user@127.0.0.1", "a.example@127.0.0.1", "a.example%40127.0.0.1", "127.0.0.1%00.a.example",
		"①②⑦.⓪.⓪.①", "127。0。0。1", "127.0.0.1#@a.example", "a.example\\@127.0.0.1", "localhost.localdomain", "ip6-localhost",
	} {
		url := "http://" + host + ":" + number + "/"
		if told := s.do("web_fetch", object{"url": url}); strings.Contains(told, s.secret) {
			t.Errorf("%s was fetched: %s", url, told)
		}
		lines.WriteString("curl -sS -g --max-time 2 --noproxy '' '" + url + "'; ")
	}
	if told := s.run(lines.String()); !strings.Contains(told, "not a public address") {
		t.Errorf("the proxy of commands has refused nothing: %s", told)
	}
	for _, url := range []string{"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://10.0.0.1/", "http://192.168.0.1/", "http://100.64.0.1/", "http://[fe80::1]/"} {
		if told := s.do("web_fetch", object{"url": url}); !strings.Contains(told, "not on the public network") {
			t.Errorf("%s: %s", url, told)
		}
	}
	for _, url := range []string{"http://BAD.example/", "https://bad.example./", "http://user:pw@bad.example/x", "http://bad.example:8080/", "http://bad%2eexample/"} {
		if told := s.do("web_fetch", object{"url": url}); !strings.Contains(told, "rule") && !strings.Contains(told, "refused") && !strings.Contains(told, "not a valid URL") {
			t.Errorf("%s, which a rule denies: %s", url, told)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests have arrived", n)
	}
	if res, err := http.Get(near.URL); err != nil || res.Body.Close() != nil || hits.Load() != 1 {
		t.Errorf("it is not there to be reached: %v", err)
	}
	s.over()
}
