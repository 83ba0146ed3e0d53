package e2e

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// endless never ends by itself.
const endless = "stream 100000000"

// demoLine is what the offline model streams, over and over.
const demoLine = "The offline demo streams this line, which has sixty-four bytes.\n"

// streamed is so many bytes of it.
func streamed(n int) []byte {
	return bytes.Repeat([]byte(demoLine), n/len(demoLine)+1)[:n]
}

// wantStream compares a text with what the model streams, byte by byte.
func wantStream(t testing.TB, what string, got []byte, n int) {
	t.Helper()
	want := streamed(n)
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%s: %d bytes, want %d; the first difference is at %d: got %.80q", what, len(got), len(want), at, got[at:min(len(got), at+80)])
}

// A prompt and its cancel in one write: the cancel is never lost, and what stands
// behind it runs.
func TestCancelInOneWrite(t *testing.T) {
	t.Parallel()
	const times = 500
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			e := newPlace(t).edit(t, d, launch{})
			id := e.begin()
			v := e.view(id)
			v.keep = false
			ends := 0
			next := func(want string) {
				t.Helper()
				ends++
				if got := e.ended(id, ends); got != want {
					t.Errorf("turn %d ended as %q, want %q", ends, got, want)
				}
			}
			for i := range times {
				batch := []any{d.prompt(e, id, endless), d.cancel(id)}
				after := i%25 == 24
				if after {
					batch = append(batch, d.prompt(e, id, "stream 2 of 3"))
				}
				e.send(batch...)
				next(endCancelled)
				if after {
					next(endOK)
				}
			}
			e.leave()
		})
	}
}

// ACP can also take a request back by its id.
func TestCancelRequestInOneWrite(t *testing.T) {
	t.Parallel()
	d := acpDialect()
	e := newPlace(t).edit(t, d, launch{})
	id := e.begin()
	e.view(id).keep = false
	for i := range 100 {
		prompt := d.prompt(e, id, endless)
		e.send(prompt, notification("$/cancel_request", object{"requestId": prompt["id"]}))
		if got := e.ended(id, i+1); got != endCancelled {
			t.Fatalf("prompt %d ended as %q", i, got)
		}
	}
	e.leave()
}

// The same over MCP, where a call is taken back, or another tool cancels.
func TestCancelInOneWriteMCP(t *testing.T) {
	t.Parallel()
	const times = 500
	for _, way := range []string{"notifications/cancelled", "agent_cancel"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			c := newPlace(t).call(t, launch{})
			var id string
			for i := range times {
				if i%50 == 0 { // without an id the newest turn is looked for in the whole session
					id = c.prompt("", "stream 2 of 3").Structured.Session
				}
				prompt, req := c.tool("agent_prompt", promptArgs(id, endless))
				if way == "agent_cancel" {
					stop, cancel := c.tool("agent_cancel", object{"session_id": id})
					c.send(req, cancel)
					if r := c.result(stop); !r.Structured.Cancelled {
						t.Errorf("cancel %d: %s", i, r.text())
					}
					if r := c.result(prompt); r.Structured.Status != "cancelled" {
						t.Errorf("prompt %d: %q %s", i, r.Structured.Status, r.text())
					}
					continue
				}
				last, wait := c.tool("agent_wait", object{"session_id": id})
				c.send(req, notification(way, object{"requestId": c.ids - 1}), wait)
				// Of a prompt that was taken back before it began nothing is seen.
				if r := c.result(last); r.Structured.Status != "cancelled" && r.Structured.Status != "completed" {
					t.Errorf("prompt %d: %q %s", i, r.Structured.Status, r.text())
				}
				if m, ok := c.answers[prompt]; ok {
					t.Errorf("a call that was taken back is answered: %s", m.raw)
				}
				if i%25 == 24 { // a prompt behind them is not held up
					if r := c.prompt(id, "stream 2 of 3"); r.Structured.Status != "completed" {
						t.Errorf("the prompt behind: %q %s", r.Structured.Status, r.text())
					}
				}
			}
			c.leave()
		})
	}
	t.Run("new sessions", func(t *testing.T) { // whose ids the caller never learns
		t.Parallel()
		c := newPlace(t).call(t, launch{})
		for range 50 {
			_, req := c.tool("agent_prompt", promptArgs("", endless))
			c.send(req, notification("notifications/cancelled", object{"requestId": c.ids}))
		}
		for running := true; running; { // what was cancelled ends on its own time
			r := c.use("session_list", object{"limit": 200})
			running = strings.Contains(r.text(), "running")
		}
		c.leave()
	})
}

// Two prompts that wait behind each other and one cancel: both end, in order.
func TestCancelEndsWhatIsQueued(t *testing.T) {
	t.Parallel()
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			e := newPlace(t).edit(t, d, launch{})
			id := e.begin()
			v := e.view(id)
			v.keep = false
			e.prompt(id, endless)
			e.read("text", func() bool { return v.length > 0 })
			e.send(d.prompt(e, id, endless), d.prompt(e, id, endless), d.cancel(id), d.prompt(e, id, "stream 2 of 3"))
			switch d.name {
			case "acp": // every prompt is answered
				e.ended(id, 4)
				for i, want := range []string{endCancelled, endCancelled, endCancelled, endOK} {
					if v.ends[i] != want {
						t.Errorf("prompt %d ended as %q, want %q", i+1, v.ends[i], want)
					}
				}
			default: // the chat is idle at the end
				e.read("the last turn's end", func() bool { return len(v.ends) > 0 && v.ends[len(v.ends)-1] == endOK })
			}
			e.leave()
		})
	}
}

// A client that does not read for three seconds: nothing is lost, its cancel is
// heard, and memory stays bounded.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	const (
		stops   = 3 * time.Second
		mostMiB = 150 // with the race detector
	)
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			e := newPlace(t).edit(t, d, launch{})
			a, b, c := e.begin(), e.begin(), e.begin()
			for _, id := range []string{a, b, c} {
				e.view(id).marks = make([]mark, 0, 1<<16)
			}
			e.view(c).keep = false
			e.prompt(a, "stream 200000 of 40")
			e.prompt(b, "stream 50000 of 40")
			e.prompt(c, endless)
			e.read("text of all", func() bool {
				return e.view(a).length > 0 && e.view(b).length > 0 && e.view(c).length > 0
			})
			most, least := e.pause(stops, func() { e.send(d.cancel(c)) })
			began := time.Now()
			if got := e.ended(c, 1); got != endCancelled {
				t.Errorf("the prompt that was cancelled meanwhile ended as %q", got)
			}
			took := time.Since(began)
			for _, id := range []string{a, b} {
				if got := e.ended(id, 1); got != endOK {
					t.Errorf("a session that was not cancelled ended as %q", got)
				}
			}
			wantStream(t, "the first session's text", e.view(a).text, 200_000*40)
			wantStream(t, "the second session's text", e.view(b).text, 50_000*40)
			t.Logf("%s: while nobody read, memory was %.0f to %.0f MiB; the cancel was answered %v after reading began, behind %d bytes of its session",
				d.name, least, most, took.Round(time.Millisecond), e.view(c).length)
			if most > mostMiB {
				t.Errorf("memory grew to %.0f MiB", most)
			}
			e.leave()
		})
	}
}

// The same over MCP: what is long is polled in pages.
func TestClientThatDoesNotReadMCP(t *testing.T) {
	t.Parallel()
	c := newPlace(t).call(t, launch{})
	const size = 40_000 * 40 // not more: each poll begins with the turn
	polled := hear(c.begin("", "stream 40000 of 40"))
	other := c.begin("", endless).Structured
	waited, req := c.request("tools/call", object{"name": "agent_prompt", "arguments": promptArgs("", "stream 400000 of 40"), "_meta": object{"progressToken": "p"}})
	c.send(req)
	var stopped string
	most, least := c.pause(3*time.Second, func() {
		var stop object
		stopped, stop = c.tool("agent_cancel", object{"session_id": other.Session})
		c.send(stop)
	})
	began := time.Now()
	if r := c.result(stopped); !r.Structured.Cancelled {
		t.Errorf("agent_cancel: %s", r.text())
	}
	took := time.Since(began)
	if r := c.use("agent_wait", object{"session_id": other.Session, "turn_id": other.Turn}); r.Structured.Status != "cancelled" {
		t.Errorf("the turn that was cancelled is %q", r.Structured.Status)
	}
	c.poll(polled, "the end", polled.over)
	wantStream(t, "what is polled", polled.text, size)
	r := c.result(waited)
	if r.Structured.Status != "completed" {
		t.Errorf("the call that waited: %q", r.Structured.Status)
	}
	wantStream(t, "the result, as far as it goes", []byte(r.Structured.Text)[:100_000], 100_000)
	t.Logf("mcp: while nobody read, memory was %.0f to %.0f MiB; the cancel was answered %v after reading began", least, most, took.Round(time.Millisecond))
	if most > 150 {
		t.Errorf("memory grew to %.0f MiB", most)
	}
	c.leave()
}

// pause does not read for a while, does something in the middle of it, and says
// how much memory the process had.
func (e *peer) pause(d time.Duration, middle func()) (most, least float64) {
	e.t.Helper()
	look := time.NewTicker(d / 30)
	defer look.Stop()
	for n := range 30 {
		select {
		case <-look.C:
			now := rss(e.cmd.Process.Pid)
			most = max(most, now)
			if least == 0 {
				least = now
			}
			if n == 15 {
				middle()
			}
		case <-e.exited:
			e.t.Fatalf("it ended while nobody read:\n%s", e.stderr())
		}
	}
	return most, least
}

// Sessions that stream at once do not mix, in one process or in two on one data
// folder.
func TestSessionsDoNotMix(t *testing.T) {
	t.Parallel()
	shapes := []struct {
		prompt string
		bytes  int
	}{{"stream 30000 of 7", 30000 * 7}, {"stream 20000 of 13", 20000 * 13}, {"stream 9 of 40000", 9 * 40000}}
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			e := p.edit(t, d, launch{})
			var ids []string
			var batch []any
			for _, s := range shapes {
				id := e.begin()
				ids = append(ids, id)
				batch = append(batch, d.prompt(e, id, s.prompt))
			}
			other := p.edit(t, d, launch{}) // its pipe is full while the first one is read
			id := other.begin()
			other.prompt(id, shapes[0].prompt)
			e.send(batch...)
			for i, s := range shapes {
				if got := e.ended(ids[i], 1); got != endOK {
					t.Errorf("%q ended as %q", s.prompt, got)
				}
				wantStream(t, s.prompt, e.view(ids[i]).text, s.bytes)
			}
			if got := other.ended(id, 1); got != endOK {
				t.Errorf("the other process: %q", got)
			}
			wantStream(t, "the other process", other.view(id).text, shapes[0].bytes)
			for i, s := range shapes { // and so they are stored
				wantStream(t, "loaded: "+s.prompt, other.load(ids[i]).text, s.bytes)
			}
			e.leave()
			other.leave()
		})
	}
}
