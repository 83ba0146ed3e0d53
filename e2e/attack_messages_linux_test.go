package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Clients that are slow, large or many are bounded, and cost the others nothing.
// gate.TestOpenRequests and mcp's TestRoomAndStall are thorough.
func TestAttack22(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.open(t, "")
	pid := h.cmd.Process.Pid
	before := rss(pid)
	var open []net.Conn
	dial := func(head string) net.Conn {
		c, err := net.Dial("tcp", h.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		open = append(open, c)
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, head); err != nil {
			t.Logf("%.60q: %v", head, err) // it was refused before it was read
		}
		return c
	}
	head := "POST /mcp HTTP/1.1\r\nHost: " + h.address + "\r\nAuthorization: Bearer " + h.token + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	refused := func(what, status string, c net.Conn) {
		t.Helper()
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, status) {
			t.Errorf("%s: %q, %v", what, line, err)
		}
	}
	for range 100 {
		dial("POST /mcp HTTP/1.1\r\nHost: ")                   // and no more of the header
		dial(head + "Content-Length: 1000000\r\n\r\n{\"json")  // and no more of the body
		dial(strings.Replace(head, "POST", "GET", 1) + "\r\n") // a stream that nobody reads
	}
	refused("a large header", " 431 ", dial("GET /mcp HTTP/1.1\r\nHost: "+h.address+"\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n"))
	refused("a body that is announced", " 413 ", dial(head+"Content-Length: 1099511627776\r\n\r\n"+strings.Repeat(" ", 9<<20)))
	refused("a body without an end", " 413 ", dial(head+"Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("100000\r\n"+strings.Repeat(" ", 1<<20)+"\r\n", 9)))
	refused("a negative length", " 400 ", dial(head+"Content-Length: -1\r\n\r\n"))
	refused("two lengths", " 400 ", dial(head+"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}    "))
	refused("a length and chunks", " 501 ", dial(head+"Content-Length: 4\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"))

	// One client's sessions are bounded, and push out its own alone.
	out, errs, code := p.run(t, "token", "create", "many")
	if code != 0 {
		t.Fatal(errs)
	}
	many := strings.TrimSpace(out)
	first := h.enter(many)
	for range 250 {
		h.send(http.MethodPost, hello, h.with(many, ""))
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if status, text, _ := h.send(http.MethodPost, list, h.with(many, first)); status != http.StatusNotFound {
		t.Errorf("the first of 251 sessions: %d %.200s", status, text)
	}
	if status, text, _ := h.send(http.MethodPost, list, h.with(h.token, h.session)); status != http.StatusOK {
		t.Errorf("another client's session: %d %.200s", status, text)
	}
	if after := rss(pid); after > before+300 {
		t.Errorf("%.0f MiB were %.0f MiB before", after, before)
	}
	for _, c := range open { // so that nothing waits for them at the end
		c.Close()
	}
	h.close()
}

// twisted are messages that call a method for who reads JSON in one way, and not for who reads it in another. more are
// such parameters.
func twisted(method, params string, more ...string) (list []string) {
	for _, m := range []string{
		`{"jsonrpc":"2.0","id":900,"Method":%M,"params":%P}`,
		`{"jsonrpc":"2.0","id":900,"METHOD":%M,"Params":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":"ping","Method":%M,"params":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":"ping","method":%M,"params":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"params":%P,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":900,"method":"ping","\u006dethod":%M,"params":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"paramſ":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"params":{},"params":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"params":%P,"params":{}}`,
		`{"jsonrpc":"2.0","id":900,"id":901,"method":%M,"params":%P}`,
		`{"jsonrpc":"1.0","id":900,"method":%M,"params":%P}`,
		`{"jsonrpc":"2.0","id":{},"method":%M,"params":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"params":%P`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"params":%P}{}`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"params":%P,}`,
		`{'jsonrpc':'2.0','id':900,"method":%M,"params":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":[%M],"params":%P}`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"params":[%P]}`,
		`{"jsonrpc":"2.0","id":900,"method":%M,"params":%P,"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"{\"jsonrpc\":\"2.0\",\"id\":900,\"meth\xffod\":%M,\"params\":%P}",
	} {
		list = append(list, strings.NewReplacer("%M", strconv.Quote(method), "%P", params).Replace(m))
	}
	for _, params := range more {
		list = append(list, fmt.Sprintf(`{"jsonrpc":"2.0","id":900,"method":%q,"params":%s}`, method, params))
	}
	return list
}

// A message that two parsers read differently is none.
// wire.TestParse, codec.TestUnmarshalIsExact and FuzzPost are thorough.
func TestAttack23(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.open(t, "mcp: {servers: []}\n")
	args := `{"name":"agent_prompt","arguments":{"prompt":"pwned"}}`
	calls := twisted("tools/call", args,
		`{"name":"session_list","name":"agent_prompt","arguments":{"prompt":"pwned"}}`,
		`{"Name":"agent_prompt","arguments":{"prompt":"pwned"}}`,
		`{"name":"agent_prompt","Arguments":{"prompt":"pwned"}}`,
		`{"name":"agent_prompt","arguments":{},"arguments":{"prompt":"pwned"}}`,
		`{"name":"agent_prompt","arguments":{"Prompt":"pwned"}}`,
		`{"name":"Agent_Prompt","arguments":{"prompt":"pwned"}}`,
		`{"name":["agent_prompt"],"arguments":{"prompt":"pwned"}}`,
	)
	for _, body := range calls {
		status, text, _ := h.send(http.MethodPost, body, h.with(h.token, h.session))
		if status < 400 && !strings.Contains(text, "rror") && !strings.Contains(text, `"result":{}`) { // which is that of ping
			t.Errorf("HTTP: %.200s: %d %.300s", body, status, text)
		}
	}

	c := p.call(t, quickly(t), "--config", h.config)
	for _, body := range calls {
		c.send([]byte(body))
	}
	if r := c.prompt("", "of a good client"); r.IsError {
		t.Errorf("MCP: %s", r.text())
	}
	c.stop()
	for _, d := range editors() {
		e := p.edit(t, d, quickly(t), "--config", h.config)
		id := e.begin()
		e.run(id, "of a good client")
		method, params, folded, twice := "session/prompt", `{"sessionId":%q,"prompt":[{"type":"text","text":"pwned"}]}`,
			`{"sessionId":%q,"Prompt":[{"type":"text","text":"pwned"}]}`, `{"sessionId":%q,"prompt":[],"prompt":[{"type":"text","text":"pwned"}]}`
		if d.name == "eca" {
			method, params, folded, twice = "chat/prompt", `{"chatId":%q,"message":"pwned"}`, `{"chatId":%q,"Message":"pwned"}`, `{"chatId":%q,"message":"hi","message":"pwned"}`
		}
		for _, body := range twisted(method, fmt.Sprintf(params, id), fmt.Sprintf(folded, id), fmt.Sprintf(twice, id)) {
			e.send([]byte(body))
		}
		e.prompt(id, "of a good client, again")
		e.read("the end of the good prompt", func() bool { return strings.Count(strings.Join(e.view(id).ends, "\n"), endOK) == 2 })
		e.stop()
	}
	if n := strings.Count(h.model.all(), "of a good client, again"); n < 2 {
		t.Errorf("the model has heard %d good clients of 2", n)
	}
	h.close()
}
