package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// bearer is a client over HTTP with a token.
type bearer struct {
	t                       *testing.T
	ctx                     context.Context //nolint:containedctx // of the test
	address, token, session string
}

// open sends a request, and returns the open response.
func (b *bearer) open(method, path, body string) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.ctx, method, b.address+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	if b.session != "" {
		r.Header.Set("Mcp-Session-Id", b.session)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

func (b *bearer) do(method, path, body string) (status int, text string) {
	b.t.Helper()
	res := b.open(method, path, body)
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.token != "" && strings.Contains(string(all), b.token) {
		b.t.Errorf("the answer has the token: %s", all)
	}
	return res.StatusCode, string(all)
}

func (b *bearer) post(body string) (status int, text string) {
	b.t.Helper()
	return b.do(http.MethodPost, "", body)
}

// use calls a tool. params are its other parameters and arguments.
func (b *bearer) use(tool, arguments string) string {
	b.t.Helper()
	_, text := b.post(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`)
	return text
}

// enter begins a session of the protocol. The client says that it can show forms.
func (b *bearer) enter(path string) {
	b.t.Helper()
	hello := strings.Replace(relayHello, `"capabilities":{}`, `"capabilities":{"elicitation":{},"sampling":{}}`, 1)
	b.session = ""
	res := b.open(http.MethodPost, path, hello)
	defer res.Body.Close()
	if b.session = res.Header.Get("Mcp-Session-Id"); res.StatusCode != http.StatusOK || b.session == "" {
		text, _ := io.ReadAll(res.Body) // the status says enough
		b.t.Fatalf("initialize: %d %s", res.StatusCode, text)
	}
	if status, text := b.do(http.MethodPost, path, relayReady); status != http.StatusAccepted {
		b.t.Fatalf("initialized: %d %s", status, text)
	}
}

// bearers serves MCP with tokens, and returns a function that makes a client of one.
func bearers(t *testing.T, p *place) (client func(token string) *bearer, log string) {
	t.Helper()
	log = filepath.Join(p.home, "log")
	ctx, address := serving(t, p, "--root", p.work, "--log-level", "debug", "--log-file", log)
	return func(token string) *bearer { return &bearer{t: t, ctx: ctx, address: address, token: token} }, log
}

var askedFor = regexp.MustCompile(`"session_id":"([^"]+)".*"approval_id":"([^"]+)"`)

// A running server admits a token from its creation until it is revoked, and then ends its streams. The
// same holds for the main token and its file. No log has a token.
func TestTokensOfARunningServer(t *testing.T) {
	p := newPlace(t)
	p.config(t, "model: offline/demo\n")
	client, log := bearers(t, p)
	main := strings.TrimSpace(p.run(t, "", "mcp", "--show-token").out)
	phone, laptop := client(p.created(t, "phone", "--rights", "watch")), client(p.created(t, "laptop", "--rights", "watch"))
	phone.enter("")
	laptop.enter("")
	owner := client(main)
	owner.enter("")
	for name, token := range map[string]string{
		"no token": "", "a prefix": phone.token[:len(phone.token)-1], "more": phone.token + "A", "without its beginning": strings.TrimPrefix(phone.token, "dragoman_"),
		"the name": "phone", "two": phone.token + " " + phone.token,
	} {
		if status, text := client(token).post(relayHello); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	stream, other := phone.open(http.MethodGet, "", ""), laptop.open(http.MethodGet, "", "")
	defer stream.Body.Close()
	defer other.Body.Close()
	if stream.StatusCode != http.StatusOK || other.StatusCode != http.StatusOK {
		t.Fatalf("%d, %d", stream.StatusCode, other.StatusCode)
	}
	if o := p.run(t, "", "token", "revoke", "phone"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	if status, text := phone.post(relayList); status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d %s", status, text)
	}
	if _, err := io.ReadAll(stream.Body); err != nil { // until it ends
		t.Errorf("the stream of a revoked token: %v", err)
	}
	if status, text := laptop.post(relayList); status != http.StatusOK {
		t.Errorf("another token: %d %s", status, text)
	}
	again := client(p.created(t, "phone", "--rights", "watch"))
	if status, text := phone.post(relayList); status != http.StatusUnauthorized {
		t.Errorf("a revoked token, after another of its name was made: %d %s", status, text)
	}
	again.session = phone.session
	if status, text := again.post(relayList); status != http.StatusNotFound {
		t.Errorf("the session of the token before it: %d %s", status, text)
	}
	if err := os.Remove(filepath.Join(p.data, "mcp-token")); err != nil {
		t.Fatal(err)
	}
	next := client(strings.TrimSpace(p.run(t, "", "mcp", "--show-token").out))
	if status, text := owner.post(relayList); next.token == main || status != http.StatusUnauthorized {
		t.Errorf("the old main token: %d %s", status, text)
	}
	next.enter("")
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), "refused a request") {
		t.Fatalf("%s, %v", text, err)
	}
	for _, secret := range []string{main, phone.token, laptop.token, again.token, next.token} {
		if strings.Contains(string(text), strings.TrimPrefix(secret, "dragoman_")[:20]) {
			t.Errorf("the log has a token: %s", text)
		}
	}
}

// The calls and streams of a token end when it is revoked, with servers and without, and in whatever
// state a call is.
func TestOpenCallsOfARevokedToken(t *testing.T) {
	p := newPlace(t)
	p.config(t, "model: offline/demo\nmcp_servers:\n  self: {command: "+strconv.Quote(binary)+", args: [mcp], env: {DRAGOMAN_DATA: "+strconv.Quote(t.TempDir())+"}}\n")
	client, _ := bearers(t, p)
	for i, c := range []struct{ path, rights string }{
		{"", "watch,prompt,answer"}, // the agent alone
		{"", "watch,prompt,answer,act"},
		{"/self", "watch,prompt,answer,act"},
	} {
		name := fmt.Sprint("t", i)
		a := client(p.created(t, name, "--rights", c.rights))
		a.enter(c.path)
		call := a.open(http.MethodPost, c.path, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"run echo hello"}}}`)
		stream := a.open(http.MethodGet, c.path, "")
		defer call.Body.Close()
		defer stream.Body.Close()
		said := ""
		for !strings.Contains(said, "elicitation/create") { // now the call waits for an answer
			some := make([]byte, 1<<10)
			n, err := call.Body.Read(some)
			if said += string(some[:n]); err != nil {
				t.Fatalf("%s, %v: %v", name, c, err)
			}
		}
		if o := p.run(t, "", "token", "revoke", name); o.code != 0 {
			t.Fatalf("%+v", o)
		}
		for what, body := range map[string]io.Reader{"call": call.Body, "stream": stream.Body} {
			if _, err := io.ReadAll(body); err != nil && a.ctx.Err() != nil { // until it ends
				t.Errorf("the %s of %v: %v", what, c, err)
			}
		}
		if status, text := a.do(http.MethodPost, c.path, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`); status != http.StatusUnauthorized {
			t.Errorf("an answer: %d %s", status, text)
		}
	}
}

// What one client has open belongs to its token: another one's cannot use, read, cancel or end it,
// however many rights it has, and does not answer its questions.
func TestClientsAreApart(t *testing.T) {
	p := newPlace(t)
	p.config(t, "model: offline/demo\nmcp_servers:\n  self: {command: "+strconv.Quote(binary)+", args: [mcp], env: {DRAGOMAN_DATA: "+strconv.Quote(t.TempDir())+"}}\n")
	client, _ := bearers(t, p)
	for i, c := range []struct{ path, rights string }{
		{"", "watch,prompt,answer"}, // the agent alone
		{"", "watch,prompt,answer,act"},
		{"/self", "watch,prompt,answer,act"},
	} {
		path := c.path
		a := client(p.created(t, fmt.Sprint("a", i), "--rights", c.rights))
		b := client(p.created(t, fmt.Sprint("b", i), "--rights", c.rights))
		main := client(strings.TrimSpace(p.run(t, "", "mcp", "--show-token").out))
		a.enter(path)
		for _, other := range []*bearer{b, main} {
			other.session = a.session
			for _, method := range []string{http.MethodGet, http.MethodDelete} {
				if status, text := other.do(method, path, ""); status != http.StatusNotFound {
					t.Errorf("%s %s: %d %s", method, path, status, text)
				}
			}
			for _, body := range []string{
				relayList, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`,
			} {
				if status, text := other.do(http.MethodPost, path, body); status != http.StatusNotFound {
					t.Errorf("POST %s %s: %d %s", path, body, status, text)
				}
			}
		}
		if status, text := a.do(http.MethodPost, path, relayList); status != http.StatusOK || !strings.Contains(text, "agent_prompt") {
			t.Errorf("afterwards: %d %s", status, text)
		}
	}
}

// An approval is answered only over a token with the right to answer, in a session that it has started or
// prompted. The answer is recorded under the token's name, whatever the client calls itself.
func TestWhoAnswers(t *testing.T) {
	p := newPlace(t)
	p.config(t, "model: offline/demo\nmcp: {model_answers: soft, servers: []}\n")
	client, _ := bearers(t, p)
	start := func(name, rights string) *bearer {
		c := client(p.created(t, name, "--rights", rights))
		hello := relayHello // which shows no forms
		res := c.open(http.MethodPost, "", hello)
		defer res.Body.Close()
		c.session = res.Header.Get("Mcp-Session-Id")
		if status, text := c.post(relayReady); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, text)
		}
		return c
	}
	a, b := start("alpha", "watch,prompt,answer"), start("beta", "watch,prompt,answer,act")
	silent, watcher := start("silent", "watch,prompt"), start("watcher", "watch")
	said := a.use("agent_prompt", `{"prompt":"run echo hello"}`)
	m := askedFor.FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no approval: %s", said)
	}
	approve := fmt.Sprintf(`{"session_id":%q,"approval_id":%q,"decision":"allow_once"}`, m[1], m[2])
	for name, c := range map[string]struct {
		of   *bearer
		tool string
		want string
	}{
		"answers, in another's session": {b, "agent_approve", "neither started nor prompted"},
		"may not answer":                {silent, "agent_approve", `needs the right answer, which the token \"silent\" does not have`},
		"watches, and answers":          {watcher, "agent_approve", "--rights watch,answer"},
		"cancels another's":             {silent, "agent_cancel", "neither started nor prompted"},
		"watches, and cancels":          {watcher, "agent_cancel", "needs the right prompt or act"},
		"watches, and prompts":          {watcher, "agent_prompt", "needs the right prompt"},
		"watches, and closes":           {watcher, "session_close", "needs the right act"},
		"calls a server's tool":         {silent, "files__read", "needs the right act"},
	} {
		arguments := approve
		if c.tool == "agent_cancel" {
			arguments = fmt.Sprintf(`{"session_id":%q}`, m[1])
		}
		if got := c.of.use(c.tool, arguments); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := watcher.use("session_get", fmt.Sprintf(`{"session_id":%q}`, m[1])); !strings.Contains(got, `"status":"awaiting_approval"`) {
		t.Errorf("the approval is not open any more: %s", got)
	}
	if got := watcher.use("agent_wait", fmt.Sprintf(`{"session_id":%q}`, m[1])); !strings.Contains(got, "does not have the right answer") {
		t.Errorf("the watcher is not told that it cannot answer: %s", got)
	}
	if got := a.use("agent_approve", approve); !strings.Contains(got, "was passed on") {
		t.Errorf("the one who may: %s", got)
	}
	if got := a.use("agent_wait", fmt.Sprintf(`{"session_id":%q}`, m[1])); !strings.Contains(got, `"status":"completed"`) {
		t.Errorf("%s", got)
	}
	if got := silent.use("agent_prompt", `{"prompt":"run echo hello"}`); !strings.Contains(got, "no client is attached that could be asked") {
		t.Errorf("a client that may not answer has to be asked nothing: %s", got)
	}
	if got := p.run(t, "", "sessions", "show", m[1]).out; !strings.Contains(got, "allowed by alpha") || strings.Contains(got, "c 1") {
		t.Errorf("the session shows %s", got)
	}
	logs, err := filepath.Glob(filepath.Join(p.data, "sessions", "*", "*.jsonl"))
	var record string
	for _, path := range logs {
		b, err := os.ReadFile(path)
		if err == nil {
			record += string(b)
		}
	}
	if answer := regexp.MustCompile(`"by":"alpha","principal":"local","caller":"token:[a-z2-7]{8}"`); err != nil || !answer.MatchString(record) {
		t.Errorf("%q, %v: the log is\n%s", logs, err, record)
	}
}

// A token without the right act neither sees nor starts the configured servers.
func TestServersNeedARight(t *testing.T) {
	p := newPlace(t)
	data := filepath.Join(p.home, "inner")
	p.config(t, "model: offline/demo\nmcp_servers:\n  self: {command: "+strconv.Quote(binary)+", args: [mcp], env: {DRAGOMAN_DATA: "+strconv.Quote(data)+"}}\nmcp: {prefix: always}\n")
	client, _ := bearers(t, p)
	without, with := client(p.created(t, "without", "--rights", "watch,prompt,answer")), client(p.created(t, "with", "--rights", "act"))
	without.enter("")
	if _, text := without.post(relayList); strings.Contains(text, "self__") || !strings.Contains(text, "agent_prompt") || strings.Contains(text, "session_close") {
		t.Errorf("%s", text)
	}
	if status, text := without.do(http.MethodPost, "/self", relayHello); status != http.StatusForbidden || !strings.Contains(text, "needs the right act") {
		t.Errorf("%d %s", status, text)
	}
	with.enter("")
	if _, text := with.post(relayList); !strings.Contains(text, "self__session_list") || strings.Contains(text, `"agent_prompt"`) {
		t.Errorf("%s", text)
	}
	if got := with.use("self__session_list", `{}`); !strings.Contains(got, "There are no sessions") {
		t.Errorf("%s", got)
	}
	if got := with.use("session_list", `{}`); !strings.Contains(got, "needs the right watch") {
		t.Errorf("%s", got)
	}
	with.enter("/self")
	audit := regexp.MustCompile(`"client":"with","token":"[a-z2-7]{8}","server":"self","tool":"session_list"`)
	recorded, err := []byte(nil), error(nil)
	for with.ctx.Err() == nil && !audit.Match(recorded) { // it is written a little later
		with.do(http.MethodPost, "/self", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		recorded, err = os.ReadFile(filepath.Join(p.data, "mcp-audit.jsonl"))
	}
	if !audit.Match(recorded) {
		t.Errorf("the audit is %s, %v", recorded, err)
	}
}

// Many guesses at once do not keep a client from being served.
func TestGuessesHinderNobody(t *testing.T) {
	p := newPlace(t)
	p.config(t, "model: offline/demo\nmcp: {servers: []}\n")
	client, _ := bearers(t, p)
	c := client(p.created(t, "phone", "--rights", "watch"))
	c.enter("")
	var guessing sync.WaitGroup
	for range 8 {
		guessing.Go(func() {
			for i := range 250 {
				guess := *c
				guess.token = c.token[:20] + strconv.Itoa(i)
				if status, text := guess.post(relayList); status != http.StatusUnauthorized {
					t.Errorf("%d %s", status, text)
				}
			}
		})
	}
	for range 20 {
		if status, text := c.post(relayList); status != http.StatusOK {
			t.Errorf("%d %s", status, text)
		}
	}
	guessing.Wait()
}
