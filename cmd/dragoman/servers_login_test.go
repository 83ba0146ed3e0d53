package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
	"dragoman/core/control"
)

// loginServer is an MCP server that requires a login, and its authorization server.
type loginServer struct {
	*httptest.Server

	mu      sync.Mutex // guards the fields below
	access  string     // the valid token; "": none
	refresh string
	given   int
	asked   []string // the requested grants
}

func newGuarded(t *testing.T) *loginServer {
	g := &loginServer{}
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, status int, format string, args ...any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, format, args...)
	}
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, `{"issuer":%[1]q,"authorization_endpoint":"%[1]s/authorize","token_endpoint":"%[1]s/token","registration_endpoint":"%[1]s/register","revocation_endpoint":"%[1]s/revoke","code_challenge_methods_supported":["S256"]}`, g.URL)
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, _ *http.Request) { reply(w, 201, `{"client_id":"c"}`) })
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=the-code&state="+q.Get("state"), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		grant := r.PostFormValue("grant_type")
		g.asked = append(g.asked, grant)
		if grant == "refresh_token" && r.PostFormValue("refresh_token") != g.refresh || grant == "authorization_code" && r.PostFormValue("code") != "the-code" {
			reply(w, 400, `{"error":"invalid_grant"}`)
			return
		}
		g.given++
		g.access, g.refresh = fmt.Sprintf("hunter-a%d", g.given), fmt.Sprintf("hunter-r%d", g.given)
		reply(w, 200, `{"access_token":%q,"token_type":"bearer","expires_in":3600,"refresh_token":%q}`, g.access, g.refresh)
	})
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, _ *http.Request) { g.end() })
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		good := g.access != "" && r.Header.Get("Authorization") == "Bearer "+g.access
		g.mu.Unlock()
		if !good {
			w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"g","version":"1"}}`,
			"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
		}[m.Method]
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		reply(w, 200, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

// end makes the token expire.
func (g *loginServer) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.access = ""
}

// grants lists the requests for a token.
func (g *loginServer) grants() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.asked, " ")
}

func (g *loginServer) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.access == ""
}

// A user's way: the list shows that a login is required; the login is stored, renewed silently,
// and revoked.
func TestServerLogin(t *testing.T) {
	g, p := newGuarded(t), newPlace(t)
	p.servers(t, `{"mcpServers": {"tracker": {"url": "`+g.URL+`/mcp"}}}`)
	list := func(want string) {
		t.Helper()
		r := p.run(t, "", "mcp-servers", "list")
		if r.code != 0 || !strings.Contains(strings.Join(strings.Fields(r.out), " "), want) || strings.Contains(r.out+r.errs, "hunter") {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	list("tracker requires-auth " + g.URL + "/mcp mcp.json it requires a login: dragoman mcp-servers login tracker")
	if r := p.run(t, "", "mcp-servers", "logout", "tracker"); r.code != 0 || r.out != "There is no stored login to tracker.\n" {
		t.Errorf("%+v", r)
	}
	out := p.logInTo(t, "tracker")
	if !strings.Contains(out, "You are logged in to tracker. The login is stored unencrypted in ") {
		t.Error(out)
	}
	list("tracker running " + g.URL + "/mcp mcp.json 1 tool")
	g.end()
	list("tracker running " + g.URL + "/mcp mcp.json 1 tool")
	if got := g.grants(); got != "authorization_code refresh_token" {
		t.Errorf("asked for: %s", got)
	}
	files, err := filepath.Glob(filepath.Join(p.data, "mcp-logins", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if r := p.run(t, "", "mcp-servers", "logout", "tracker"); r.code != 0 || r.out != "The login to tracker is removed.\n" || !g.over() {
		t.Errorf("%+v", r)
	}
	list("tracker requires-auth")
	p.logInTo(t, "tracker")
	if r := p.run(t, "", "mcp-servers", "remove", "tracker"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if left, err := os.ReadDir(filepath.Join(p.data, "mcp-logins")); err != nil || len(left) != 0 {
		t.Errorf("left of a server that is no more: %v, %v", left, err)
	}
	if r := p.run(t, "", "mcp-servers", "login", "trcker"); r.code != 1 || !strings.Contains(r.errs, "the configuration has no server of that name") {
		t.Errorf("%+v", r)
	}
}

// An editor has the browser opened, and shows the address.
func TestEditorLogsIn(t *testing.T) {
	g, p := newGuarded(t), newPlace(t)
	a := newApp(&program.Environment{Lookup: p.lookup, Err: io.Discard}, nil)
	o := a.profiled()
	var err error
	if o.Log, err = setup.OpenLog(o.Env); err != nil {
		t.Fatal(err)
	}
	defer o.Log.Close()
	process := setup.New(o)
	defer process.Close()
	profiles := process.Client(setup.ClientOptions{Principal: core.Local, People: true})
	if err := profiles.Configure([]byte(`{"mcp_servers":{"tracker":{"url":"` + g.URL + `/mcp"}}}`)); err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	opened := ""
	a.Browse = func(address string) error {
		opened = address
		go func() {
			resp, err := http.Get(address)
			if err == nil {
				err = resp.Body.Close()
			}
			left <- err
		}()
		return nil
	}
	shown := ""
	profile, err := profiles.Profile(t.Context(), []string{p.work})
	if err != nil {
		t.Fatal(err)
	}
	user := core.Client{Principal: core.Local, Role: core.Decide}
	if err := control.Of(profile).Do(t.Context(), user, []string{p.work}, "tracker", control.Login{Show: func(address string) { shown = address }}); err != nil {
		t.Fatal(err)
	}
	if err := <-left; err != nil || shown == "" || shown != opened || g.grants() != "authorization_code" {
		t.Errorf("%v; shown %q, opened %q, %s", err, shown, opened, g.grants())
	}
	if err := control.Of(profile).Do(t.Context(), user, []string{p.work}, "tracker", control.Logout{}); err != nil || !g.over() {
		t.Errorf("%v", err)
	}
}

// logInTo logs in, and returns the standard output.
func (p *place) logInTo(t *testing.T, server string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := p.command(ctx, "mcp-servers", "login", server, "--no-browser")
	var out strings.Builder
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	for in := bufio.NewScanner(errs); in.Scan(); {
		said += in.Text() + "\n"
		if address := strings.TrimSpace(in.Text()); strings.HasPrefix(address, "http://") {
			resp, err := http.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("the browser sees %s", text)
			}
		}
	}
	if err := cmd.Wait(); err != nil || strings.Contains(out.String()+said, "hunter") {
		t.Errorf("%v: %s%s", err, out.String(), said)
	}
	return out.String()
}
