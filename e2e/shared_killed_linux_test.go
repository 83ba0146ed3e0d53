package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// deed is something that a client of a crew has done.
type deed struct {
	kind  string // prompt, title, agent, answer
	what  string // a text, title, agent or approval that is one of a kind
	by    string
	of    *hand
	acked bool
	error string // it was refused
	wait  bool   // it is not answered yet
	sent  time.Time
	told  time.Time // when it was answered
}

// crew are clients that use one session, each in a process of its own, and what they have done.
type crew struct {
	t     *testing.T
	p     *place
	rnd   *rand.Rand
	flags []string
	id    string
	hands []*hand
	deeds []*deed
	kills int
	names int

	agent  string // that was chosen when it was checked last
	before int    // deeds before that
}

// hand is a client of a crew.
type hand struct {
	*seat
	crew *crew
	open map[string]*deed // by request
	seen int              // of the messages that were kept
}

const crewConfig = "agents: {a0: {}, a1: {}, a2: {}, a3: {}, a4: {}, a5: {}, a6: {}, a7: {}, a8: {}, a9: {}}\n"

func newCrew(t *testing.T, seed uint64, kinds ...string) *crew {
	t.Helper()
	c := &crew{t: t, p: sharedPlace(t), rnd: rand.New(rand.NewPCG(seed, seed))}
	c.flags = []string{"--config", c.p.config(t, crewConfig)}
	maker := c.hire(kinds[0])
	c.id = maker.editor.begin()
	maker.join(c.id)
	maker.prompt("stream 2 of 30")
	maker.editor.ended(c.id, 1)
	c.hands = append(c.hands, maker)
	for _, kind := range kinds[1:] {
		c.hands = append(c.hands, c.hire(kind))
	}
	return c
}

func (c *crew) hire(kind string) *hand {
	c.t.Helper()
	h := &hand{seat: c.p.sitWith(c.t, kind, quickly(c.t), object{}, c.flags...), crew: c, open: map[string]*deed{}}
	if c.id != "" {
		h.join(c.id)
	}
	h.seen = len(h.kept)
	return h
}

// lives reports whether the process was not killed.
func (h *hand) lives() bool { return slices.Contains(h.crew.hands, h) }

// one makes a text that is one of a kind.
func (c *crew) one(format string) string {
	c.names++
	return fmt.Sprintf(format, c.names)
}

// do sends a request, if the process still reads.
func (h *hand) do(kind, what string, req object) {
	d := &deed{kind: kind, what: what, of: h, by: fmt.Sprint(h.name, " ", h.cmd.Process.Pid), wait: true, sent: time.Now()}
	h.open[fmt.Sprint(req["id"])] = d
	h.crew.deeds = append(h.crew.deeds, d)
	_, _ = h.in.Write(h.frames(req)) // it may be gone
}

// prompts sends a prompt.
func (h *hand) prompts(text string) {
	switch {
	case h.caller != nil:
		_, req := h.caller.tool("agent_prompt", object{"session_id": h.id, "prompt": text, "wait_seconds": 0})
		h.do("prompt", text, req)
	default:
		if h.name == "acp" {
			h.own = append(h.own, text)
		}
		h.do("prompt", text, h.editor.dialect.prompt(h.editor, h.id, text))
	}
}

// sets renames the session, chooses its agent or looks for approvals.
func (h *hand) sets() {
	switch h.name {
	case "acp":
		agent := h.crew.one("a%d")
		agent = "a" + agent[len(agent)-1:]
		_, req := h.request("session/set_config_option", object{"sessionId": h.id, "configId": "agent", "value": agent})
		h.do("agent", agent, req)
	case "eca":
		title := h.crew.one("title %d")
		_, req := h.request("chat/update", object{"chatId": h.id, "title": title})
		h.do("title", title, req)
	case "mcp":
		h.looks()
	}
}

// looks has a caller look for approvals, which it then gives.
func (h *hand) looks() {
	if _, waits := h.open["look"]; h.caller == nil || waits {
		return
	}
	id, req := h.caller.tool("agent_wait", object{"session_id": h.id, "wait_seconds": 0})
	h.open["look"], h.open[id] = nil, nil
	_, _ = h.in.Write(h.frames(req))
}

// hears takes what has come, and answers what is asked.
func (h *hand) hears() {
	for {
		m, ok := h.ahead.now()
		if !ok {
			return
		}
		if h.editor != nil {
			h.editor.dialect.take(h.editor, m)
			for _, q := range h.editor.view(h.id).asked {
				_, _ = h.in.Write(h.frames(h.editor.dialect.decide(q, true)))
			}
			h.editor.view(h.id).asked = nil
		}
		if m.Method != "" || m.ID == nil {
			continue
		}
		d, ok := h.open[string(m.ID)]
		delete(h.open, string(m.ID))
		if ok {
			h.learns(d, m)
		}
	}
}

// learns notes the answer to a request.
func (h *hand) learns(d *deed, m message) {
	var r result
	if m.Error == nil && h.caller != nil {
		if err := json.Unmarshal(m.Result, &r); err != nil {
			h.t.Fatalf("%s: %v", m.raw, err)
		}
	}
	if d == nil { // it has looked
		delete(h.open, "look")
		for _, a := range r.Structured.Approvals {
			_, req := h.caller.tool("agent_approve", object{"session_id": h.id, "approval_id": a.ID, "decision": "allow_once"})
			h.do("answer", a.ID, req)
		}
		return
	}
	d.wait, d.told = false, m.at
	switch {
	case m.Error != nil:
		d.error = m.Error.String()
	case r.IsError:
		d.error = r.text()
	default:
		d.acked = true
	}
	if d.acked = d.acked || strings.Contains(d.error, "interrupted: "); !d.acked {
		h.t.Logf("refused: %s %s %q: %.300s", d.by, d.kind, d.what, d.error)
	}
}

// hear has all hands hear.
func (c *crew) hear() {
	for _, h := range c.hands {
		h.hears()
	}
}

// owner returns the hand whose process owns the session; nil: none.
func (c *crew) owner() *hand {
	files, err := filepath.Glob(filepath.Join(c.p.data, "sessions", "??", "*.owner"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range files {
		var o struct{ PID int }
		text, err := os.ReadFile(filepath.Clean(name))
		if err != nil || json.Unmarshal(text, &o) != nil {
			continue
		}
		for _, h := range c.hands {
			if h.cmd.Process.Pid == o.PID {
				return h
			}
		}
	}
	return nil
}

// kill kills a hand's process and takes what it has still said.
func (c *crew) kill(h *hand) {
	h.peer.kill()
	h.left(patience)
	<-h.ahead.over
	h.hears()
	for _, d := range h.open {
		if d != nil {
			d.wait = false
		}
	}
	c.hands = slices.DeleteFunc(c.hands, func(o *hand) bool { return o == h })
	c.kills++
}

// during has the hands hear until a time has passed.
func (c *crew) during(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		c.hear()
	}
}

// settle hears until everything is answered, nothing runs and all show the same, and returns the log.
func (c *crew) settle() (log []logged) {
	c.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	why := ""
	for end := time.Now().Add(patience); ; <-look.C {
		c.hear()
		if why, log = c.unsettled(); why == "" {
			return log
		}
		if time.Now().After(end) {
			for _, h := range c.hands {
				c.t.Logf("%s %d\n%s", h.name, h.cmd.Process.Pid, strings.Join(h.last, "\n"))
			}
			for _, r := range log[max(0, len(log)-30):] {
				c.t.Logf("%d %s %.300s", r.Seq, r.Kind, r.Value)
			}
			c.t.Fatalf("it does not come to rest: %s", why)
		}
	}
}

func (c *crew) unsettled() (why string, log []logged) {
	for _, h := range c.hands {
		h.looks()
		for _, d := range h.open {
			if d != nil && d.wait {
				why = fmt.Sprintf("%s waits for an answer to %s %q", d.by, d.kind, d.what)
			}
		}
	}
	log = c.p.logOf(c.t, c.id)
	open := map[string]bool{}
	for _, r := range log {
		var e struct{ Turn string }
		switch r.Kind {
		case "turn_started", "prompt_queued":
			r.into(c.t, &e)
			open[e.Turn] = true
		case "turn_ended":
			r.into(c.t, &e)
			delete(open, e.Turn)
		}
	}
	if why == "" && len(open) > 0 {
		why = fmt.Sprintf("turns %v have not ended", open)
	}
	for _, h := range c.hands {
		if want := shownOf(c.t, log, h.name == "acp", h.own...); why == "" && h.editor != nil && !reached(h.editor.view(c.id).shown(), want) {
			why = fmt.Sprintf("%s %d shows %d of %d things", h.name, h.cmd.Process.Pid, len(h.editor.view(c.id).shown()), len(want))
		}
	}
	return why, log
}

// works has all hands prompt, set options and rename, at random.
func (c *crew) works() {
	for _, i := range c.rnd.Perm(len(c.hands)) {
		h := c.hands[i]
		for range 1 + c.rnd.IntN(3) {
			if c.rnd.IntN(3) > 0 {
				h.prompts(c.one([]string{
					"think of %d then stream 40 of 30", "stream 300 of 300 then think of %d", "run touch made-%d", "read notes.txt then run echo %d then stream 5 of 30",
				}[c.rnd.IntN(4)]))
			}
			if c.rnd.IntN(2) > 0 {
				h.sets()
			}
		}
	}
}

// within is a random time.
func (c *crew) within(most time.Duration) time.Duration {
	return time.Duration(c.rnd.Int64N(int64(most)))
}

// points are the moments at which owners are killed. Each returns the processes that are to be started again.
var points = []func(c *crew){
	func(c *crew) { // between orders and their answers
		owner := c.owner()
		c.works()
		c.during(c.within(4 * time.Millisecond))
		c.kill(owner)
	},
	func(c *crew) { // while turns run, texts are written and approvals wait
		owner := c.owner()
		c.works()
		c.during(c.within(120 * time.Millisecond))
		c.kill(owner)
	},
	func(c *crew) { // the next owner as well
		owner := c.owner()
		c.works()
		c.during(c.within(30 * time.Millisecond))
		c.kill(owner)
		c.works()
		for end := time.Now().Add(patience); c.owner() == nil && time.Now().Before(end); {
			c.hear()
		}
		c.during(c.within(8 * time.Millisecond))
		if next := c.owner(); next != nil {
			c.kill(next)
		}
	},
	func(c *crew) { // and another one, which may be about to claim the session
		owner := c.owner()
		c.works()
		c.during(c.within(10 * time.Millisecond))
		c.kill(owner)
		c.during(c.within(6 * time.Millisecond))
		c.kill(c.hands[c.rnd.IntN(len(c.hands))])
	},
}

// The owners of a session are killed while others use it: those go on, and what they were told holds.
func TestSharedKilled(t *testing.T) {
	t.Parallel()
	killedShared(t, 7, func(kills int) bool { return kills < 10 })
}

func TestTortureSharedKilled(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("DRAGOMAN_TORTURE"))
	if err != nil {
		t.Skip("make torture runs this")
	}
	end, total := time.Now().Add(d), 0
	for seed := uint64(1); !t.Failed() && (total < 100 || time.Now().Before(end)); seed++ {
		total += killedShared(t, seed, func(kills int) bool { return kills < 20 })
	}
	t.Logf("%d processes were killed in all", total)
}

// killedShared takes one session through a number of deaths.
func killedShared(t *testing.T, seed uint64, again func(kills int) bool) int {
	kinds := []string{"acp", "eca", "mcp", "acp"}
	c := newCrew(t, seed, kinds...)
	began := time.Now()
	var longest time.Duration
	for round := 0; again(c.kills); round++ {
		if c.owner() == nil { // it was claimed for nothing but to close a turn
			c.hands[0].prompts(c.one("think of %d"))
			c.settle()
		}
		points[round%len(points)](c)
		from := time.Now()
		log := c.settle()
		longest = max(longest, time.Since(from))
		if c.check(log); t.Failed() {
			t.Logf("seed %d, round %d", seed, round)
			break
		}
		for _, kind := range kinds {
			count := func(kind string, list []string) (n int) {
				for _, k := range list {
					if k == kind {
						n++
					}
				}
				return n
			}
			var have []string
			for _, h := range c.hands {
				have = append(have, h.name)
			}
			if count(kind, have) < count(kind, kinds) {
				c.hands = append(c.hands, c.hire(kind))
			}
		}
	}
	counts := map[string]int{}
	for _, d := range c.deeds {
		switch {
		case d.acked:
			counts[d.kind+" acknowledged"]++
		case d.error != "":
			counts[d.kind+" refused"]++
		default:
			counts[d.kind+" unanswered"]++
		}
	}
	log := c.p.logOf(t, c.id)
	if t.Failed() {
		for _, r := range log {
			t.Logf("%d %d %s %.200s", r.Epoch, r.Seq, r.Kind, r.Value)
		}
	}
	t.Logf("seed %d: %d processes were killed in %v; %v; %d records; the longest way to rest took %v",
		seed, c.kills, time.Since(began).Round(time.Millisecond), counts, len(log), longest.Round(time.Millisecond))
	for _, h := range c.hands {
		h.leave()
	}
	return c.kills
}

// chosen checks that an agent is one that can be the chosen one: of the choices that were acknowledged, none
// that was sent later than it was acknowledged.
func (c *crew) chosen(agent string) {
	c.t.Helper()
	var may []string
	for i, d := range c.deeds {
		old := d.kind != "agent" || d.acked && slices.ContainsFunc(c.deeds[i+1:], func(o *deed) bool { return o.kind == d.kind && o.acked && o.sent.After(d.told) })
		if old = old || i < c.before && c.agent != d.what; !old {
			may = append(may, d.what)
		}
	}
	if agent != c.agent && !slices.Contains(may, agent) || agent == c.agent && c.agent != "" && !slices.Contains(may, agent) {
		c.t.Errorf("the agent is %q, want one of %q", agent, may)
	}
	c.agent, c.before = agent, len(c.deeds)
}

// check compares what the clients were told with the log, and with what they show.
func (c *crew) check(log []logged) {
	c.t.Helper()
	turns := map[string][]string{} // by text
	ends, asks, answers, titles := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	started := map[string]int{}
	steered := map[string]int{}
	agent, epoch := "", uint64(0)
	for i, r := range log {
		if i > 0 && r.Seq != log[i-1].Seq+1 && (r.Seq != log[i-1].Seq || r.Kind != log[i-1].Kind) { // a run may be in pieces
			c.t.Errorf("record %d follows record %d", r.Seq, log[i-1].Seq)
		}
		var e struct {
			Turn, Title, Ask string
			Prompt           []block
			Settings         struct{ Agent string }
		}
		switch r.Kind {
		case "claimed":
			if r.Epoch != epoch+1 {
				c.t.Errorf("epoch %d follows %d", r.Epoch, epoch)
			}
			epoch = r.Epoch
		case "prompt_queued", "turn_started":
			r.into(c.t, &e)
			if r.Kind == "turn_started" {
				started[e.Turn]++
			}
			if text := e.Prompt[0].Text; !slices.Contains(turns[text], e.Turn) {
				turns[text] = append(turns[text], e.Turn)
			}
		case "steered":
			r.into(c.t, &e)
			steered[e.Prompt[0].Text]++
		case "turn_ended":
			r.into(c.t, &e)
			ends[e.Turn]++
		case "asked":
			var e struct{ Ask struct{ ID string } }
			r.into(c.t, &e)
			asks[e.Ask.ID]++
		case "answered":
			var e struct {
				Ask   string
				Reply struct{ Decision string }
			}
			r.into(c.t, &e)
			answers[e.Ask]++
			if e.Reply.Decision != "" {
				answers[e.Ask+" decided"]++
			}
		case "title":
			r.into(c.t, &e)
			titles[e.Title]++
		case "settings":
			r.into(c.t, &e)
			agent = e.Settings.Agent
		}
	}
	for id, n := range ends {
		if n != 1 || started[id] > 1 {
			c.t.Errorf("turn %s has begun %d times and ended %d times", id, started[id], n)
		}
	}
	for id := range asks {
		if answers[id] != 1 {
			c.t.Errorf("approval %s is settled %d times", id, answers[id])
		}
	}
	for _, d := range c.deeds {
		n := 0
		switch d.kind {
		case "prompt":
			n = len(turns[d.what]) + steered[d.what]
			if n == 1 && d.acked && d.of.lives() && steered[d.what]+started[turns[d.what][0]] == 0 {
				c.t.Errorf("%s: prompt %q has not begun, though its client lives", d.by, d.what)
			}
		case "title":
			n = titles[d.what]
		case "answer":
			n = answers[d.what+" decided"]
		case "agent":
			continue
		}
		if n > 1 || n == 0 && d.acked || n == 1 && strings.Contains(d.error, "busy") {
			c.t.Errorf("%s: %s %q is there %d times; acknowledged: %v; error: %q", d.by, d.kind, d.what, n, d.acked, d.error)
		}
	}
	c.chosen(agent)
	for _, h := range c.hands {
		h.showsAll(log)
	}
}
