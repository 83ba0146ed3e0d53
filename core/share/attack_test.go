package share_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/share"
)

// object is a JSON object.
type object = map[string]any

// stranger is a connection to the socket of a process, with lines of JSON as they are.
type stranger struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	key  string
	ids  int
	kept map[int]answer
}

func (p *process) stranger() *stranger {
	p.t.Helper()
	path, key, _ := strings.Cut(p.sharing.Address(), " ")
	conn, err := net.Dial("unix", path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	return &stranger{t: p.t, conn: conn, in: bufio.NewReader(conn), key: key, kept: map[int]answer{}}
}

// answer is a message to a stranger.
type answer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (a answer) error() string {
	if a.Error == nil {
		return ""
	}
	return a.Error.Message
}

// send makes a request without waiting for its answer.
func (s *stranger) send(method string, params any) (id int) {
	s.t.Helper()
	s.ids++
	line, err := json.Marshal(object{"jsonrpc": "2.0", "id": s.ids, "method": method, "params": params})
	if err == nil {
		_, err = s.conn.Write(append(line, '\n'))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return s.ids
}

// receive reads the answer to a request.
func (s *stranger) receive(id int) (a answer) {
	s.t.Helper()
	for {
		if a, ok := s.kept[id]; ok {
			return a
		}
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		a = answer{}
		if err := json.Unmarshal(line, &a); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		if a.Method == "" {
			s.kept[a.ID] = a
		}
	}
}

func (s *stranger) ask(method string, params any) answer {
	s.t.Helper()
	return s.receive(s.send(method, params))
}

// well makes a request that must succeed.
func (s *stranger) well(method string, params any) json.RawMessage {
	s.t.Helper()
	a := s.ask(method, params)
	if a.Error != nil {
		s.t.Fatalf("%s: %s", method, a.error())
	}
	return a.Result
}

// over reports whether the other side ends the connection.
func (s *stranger) over() bool {
	_, err := io.Copy(io.Discard, s.in)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func (s *stranger) hello() object {
	return object{"version": 1, "key": s.key, "config": "config", "node": "stranger"}
}

// enter says hello, opens the session and attaches a client.
func (s *stranger) enter(client object) *stranger {
	s.t.Helper()
	s.well("hello", s.hello())
	s.well("open", object{"principal": "local", "session": "s"})
	s.well("attach", with(object{"id": "x", "name": "Stranger", "principal": "local", "role": "decide", "asks": true, "questions": true}, client))
	return s
}

// with returns an object with other members.
func with(o, more object) object {
	for name, v := range more {
		o[name] = v
	}
	return o
}

func order(key string, more object) object {
	return with(object{"client": "x", "key": key, "until": time.Now().Add(time.Minute)}, more)
}

func promptOrder(key, text string) object {
	return order(key, object{"prompt": object{"blocks": []any{object{"type": "text", "text": text}}, "key": "prompt " + key}})
}

// lives checks that a process still serves its clients.
func (p *process) lives(a *core.Attachment) {
	p.t.Helper()
	before := len(p.backend.Heard())
	prompt(p.t, a, "still there")
	until(p.t, "the owner answers", func() bool { return len(p.backend.Heard()) == before+1 && a.State().Turn == "" })
}

// waits checks that an approval waits, and that nothing was decided.
func waits(t *testing.T, a *core.Attachment, ask core.Ask, after string) {
	t.Helper()
	if p := a.Pending(); len(p) != 1 || p[0].ID != ask.ID {
		t.Errorf("%s: what waits is %+v", after, p)
	}
}

// A connection that does not name the key, the version and the configuration gets nothing.
func TestStrangersAreRefused(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", asking)
	a := one.open(core.Client{Name: "Zed"})
	prompt(t, a, "go")
	ask := asked(t, a)
	allow := order("k", object{"settle": object{"ask": ask.ID, "reply": object{"outcome": "decided", "decision": "allow_once"}}})
	for name, change := range map[string]object{
		"no key": {"key": ""}, "another key": {"key": strings.Repeat("a", 26)}, "a part of the key": {"key": "$"}, "another version": {"version": 2},
		"no version": {"version": nil}, "another configuration": {"config": "/other"}, "no configuration": {"config": ""},
	} {
		s := one.stranger()
		if change["key"] == "$" {
			change["key"] = s.key[:len(s.key)-1]
		}
		if a := s.ask("hello", with(s.hello(), change)); a.Error == nil {
			if a = s.ask("open", object{"principal": "local", "session": "s"}); a.Error == nil {
				t.Errorf("%s: it may open the session", name)
			}
		}
		for _, m := range []struct {
			method string
			params object
		}{
			{"open", object{"principal": "local", "session": "s"}},
			{"attach", object{"id": "x", "principal": "local", "role": "decide"}},
			{"do", allow},
			{"delete", object{"principal": "local", "session": "s"}},
			{"detach", object{"id": "x"}},
			{"rpc.serverInfo", object{}},
			{"nothing", object{}},
		} {
			if name == "another configuration" && m.method == "delete" { // the configuration says nothing of whose the sessions are
				continue
			}
			if a := s.ask(m.method, m.params); a.Error == nil && m.method != "detach" {
				t.Errorf("%s: %s is answered: %s", name, m.method, a.Result)
			}
		}
		waits(t, a, ask, name)
	}
	s := one.stranger()
	s.well("hello", s.hello())
	for _, p := range []object{{"principal": "other", "session": "s"}, {"principal": "", "session": "s"}, {"principal": "local", "session": ""}, {"principal": "local", "session": "../s"}} {
		if a := s.ask("open", p); a.Error == nil {
			t.Errorf("%v is opened", p)
		}
	}
	waits(t, a, ask, "other sessions")
}

// The log names the client that was attached, whatever its messages say, and a client cannot make events that
// are not a client's.
func TestForgedNames(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", asking)
	a := one.open(core.Client{Name: "Zed"})
	turn := prompt(t, a, "go")
	ask := asked(t, a)

	for name, claim := range map[string]object{"another principal": {"principal": "root"}, "no principal": {"principal": ""}} {
		s := one.stranger()
		s.well("hello", s.hello())
		s.well("open", object{"principal": "local", "session": "s"})
		if r := s.ask("attach", with(object{"id": "x", "name": "x", "role": "decide", "asks": true}, claim)); r.Error == nil {
			t.Errorf("a client with %s is attached", name)
		}
	}

	s := one.stranger().enter(object{"caller": "caller 1"})
	if r := s.ask("do", order("program", object{"settle": object{"ask": ask.ID, "reply": object{"outcome": "decided", "decision": "allow_once", "remember": "everything", "by": "Zed", "caller": "", "principal": "root"}}})); r.Error != nil {
		t.Fatal(r.error())
	}
	all := strings.Join(shown(t, a, turn), "\n")
	if !strings.Contains(all, "By:Stranger Principal:local Caller:caller 1") || strings.Contains(all, "Principal:root") {
		t.Error(all)
	}
	for kind, v := range map[string]object{
		"settings": {"settings": object{"model": "a/b"}, "by": "Zed"}, "archived": {"archived": true, "by": "Zed"}, "title": {"title": "New", "auto": true},
		"flagged": {"message": "m1-2", "text": "x", "by": "Zed"},
	} {
		s.well("do", order(kind, object{"append": object{"events": []any{object{"e": 1, "s": 99, "k": kind, "v": v}}}}))
	}
	for kind, v := range map[string]object{
		"answered": {"ask": "q", "reply": object{"outcome": "decided", "decision": "allow_once", "by": "Zed"}}, "turn_started": {"turn": "t9"}, "turn_ended": {"turn": "t9"},
		"call": {"id": "c9", "state": "running"}, "claimed": {"epoch": 99}, "opened": {"meta": object{}}, "prompt_queued": {"turn": "t9"}, "asked": {"ask": object{}}, "bound": {}, "nonsense": {}, "truncated": {"after": "1-2-0"},
	} {
		if r := s.ask("do", order(kind, object{"append": object{"events": []any{object{"e": 1, "s": 99, "k": kind, "v": v}}}})); r.Error == nil {
			t.Errorf("an event of the kind %s is appended", kind)
		}
	}
	all = ""
	for rec, err := range a.Records(t.Context(), core.Pos{Seq: 14}, a.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%+v\n", rec.Event)
	}
	if strings.Contains(all, "By:Zed") || !strings.Contains(all, "By:Stranger") || strings.Contains(all, "t9") || strings.Contains(all, "c9") || strings.Contains(all, "Auto:true") {
		t.Error(all)
	}
}

// A client that only watches gives no orders.
func TestObserversGiveNoOrders(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", asking)
	a := one.open(core.Client{Name: "Zed"})
	prompt(t, a, "go")
	ask := asked(t, a)
	for _, role := range []string{"observe", "admin", "DECIDE", "decide "} {
		s := one.stranger().enter(object{"role": role})
		for what, is := range map[string]object{
			"settle":   {"settle": object{"ask": ask.ID, "reply": object{"outcome": "decided", "decision": "allow_once"}}},
			"prompt":   {"prompt": object{"blocks": []any{object{"type": "text", "text": "forged"}}, "key": "k"}},
			"steer":    {"steer": []any{object{"type": "text", "text": "forged"}}},
			"cancel":   {"cancel": object{}},
			"append":   {"append": object{"events": []any{object{"e": 1, "s": 9, "k": "title", "v": object{"title": "forged"}}}}},
			"truncate": {"truncate": object{"seq": 2}},
			"prepare":  {"prepare": true},
			"choose":   {"choose": object{"id": "model", "value": "x"}},
			"adopt":    {"prompt": object{"blocks": []any{}, "key": "k", "adopt": "t1-1"}},
		} {
			if r := s.ask("do", order(role+what, is)); r.Error == nil {
				t.Errorf("%q: %s is carried out: %s", role, what, r.Result)
			}
		}
		for _, other := range []string{"", "y", a.Client().ID} { // clients that are not this connection's
			if r := s.ask("do", with(order(role+other, object{"cancel": object{}}), object{"client": other})); r.Error == nil {
				t.Errorf("an order of client %q is carried out", other)
			}
		}
	}
	waits(t, a, ask, "orders of an observer")
	if st := a.State(); st.Turn == "" || st.Title == "forged" || len(st.Queued) > 0 {
		t.Errorf("%+v", st)
	}
}

// An order that comes again is carried out once, and one that comes too late not at all.
func TestOrdersAreCarriedOutOnce(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", nil)
	a := one.open(core.Client{Name: "Zed"})
	shown(t, a, prompt(t, a, "first"))
	s := one.stranger().enter(nil)
	var ids []int
	for range 20 {
		ids = append(ids, s.send("do", promptOrder("k", "once")))
	}
	var turns []string
	for _, id := range ids {
		var is struct{ Turn string }
		if err := json.Unmarshal(s.receive(id).Result, &is); err != nil || is.Turn == "" {
			t.Fatal(err)
		}
		turns = append(turns, is.Turn)
	}
	again := one.stranger().enter(nil) // another connection: the prompt has a key of its own
	var is struct{ Turn string }
	if err := json.Unmarshal(again.well("do", promptOrder("k", "once")), &is); err != nil {
		t.Fatal(err)
	}
	for _, turn := range append(turns, is.Turn) {
		if turn != turns[0] {
			t.Errorf("the prompt is turn %s and turn %s", turns[0], turn)
		}
	}
	for _, until := range []time.Time{time.Now().Add(-time.Second), {}} {
		if r := s.ask("do", with(promptOrder(fmt.Sprint("late ", until), "late"), object{"until": until})); !strings.Contains(r.error(), "too late") {
			t.Errorf("a late order: %q, %s", r.error(), r.Result)
		}
	}
	one.lives(a)
	if heard := strings.Join(one.backend.Heard(), ","); heard != "first,once,still there" {
		t.Errorf("the agent has heard %s", heard)
	}
}

// A client that is attached twice at once is one client.
func TestClientsAreAttachedOnce(t *testing.T) {
	at := newPlace(t)
	var both, ended sync.WaitGroup
	both.Add(2)
	ended.Add(2)
	one := at.start(t, "one", func(p *process, o *share.Options) {
		o.Profiles = func(core.Principal, json.RawMessage) (core.Profiles, func(), error) {
			both.Done()
			both.Wait()
			return nil, ended.Done, nil
		}
	})
	a := one.open(core.Client{Name: "Zed"})
	one.lives(a)
	s := one.stranger()
	s.well("hello", s.hello())
	s.well("open", object{"principal": "local", "session": "s"})
	var ids []int
	for range 2 {
		ids = append(ids, s.send("attach", object{"id": "x", "name": "Stranger", "principal": "local", "role": "decide", "visible": true, "profiles": object{}}))
	}
	for _, id := range ids {
		s.receive(id)
	}
	s.well("detach", object{"id": "x"})
	ended.Wait()
	until(t, "it has left", func() bool {
		one.mu.Lock()
		defer one.mu.Unlock()
		return len(one.present) == 1
	})
}

// Settings that a client does not change stay as another has set them meanwhile.
func TestSettingsOfOthersStay(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", nil)
	a := one.open(core.Client{Name: "Zed"})
	was := core.Settings{Model: "old/m", Trust: true}
	if err := a.Set(t.Context(), was); err != nil {
		t.Fatal(err)
	}
	s := one.stranger().enter(nil)
	now := core.Settings{Model: "new/m"}
	if err := a.Set(t.Context(), now); err != nil { // which the other process has not read yet
		t.Fatal(err)
	}
	wanted := was
	is := promptOrder("k", "hello")
	is["was"], is["prompt"].(object)["settings"] = was, wanted
	s.well("do", is)
	if got := a.State().Settings; got != now {
		t.Errorf("after a prompt that changes nothing: %+v", got)
	}
	wanted.Effort = "high"
	event := object{"e": 1, "s": 9, "k": "settings", "v": object{"settings": wanted}}
	s.well("do", order("l", object{"was": was, "append": object{"events": []any{event}}}))
	now.Effort = "high"
	if got := a.State().Settings; got != now {
		t.Errorf("after a change of the effort: %+v", got)
	}
}

// The same holds for a process that becomes the owner before it has read all of the last one's log.
func TestSettingsOfTheLastOwnerStay(t *testing.T) {
	at := newPlace(t)
	one, two := at.start(t, "one", nil), at.start(t, "two", nil)
	a := one.open(core.Client{Name: "Zed"})
	was, now := core.Settings{Model: "old/m"}, core.Settings{Model: "new/m"}
	if err := a.Set(t.Context(), was); err != nil {
		t.Fatal(err)
	}
	b := two.open(core.Client{Name: "Emacs"})
	until(t, "the other process has read it", func() bool { return b.State().Settings == was })
	one.sharing.Close() // the other process looks at the log now and then alone
	err := a.Set(t.Context(), now)
	if err := errors.Join(err, one.store.Close()); err != nil { // it has died
		t.Fatal(err)
	}
	p := say("hello")
	p.Settings = &was
	if _, err := b.Prompt(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := b.State().Settings; got != now {
		t.Errorf("after a prompt that changes nothing: %+v", got)
	}
}

// Lines that are too long or make no sense end their connection at most.
func TestSenselessLines(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", asking)
	a := one.open(core.Client{Name: "Zed"})
	prompt(t, a, "go")
	ask := asked(t, a)
	for _, line := range []string{
		"", "{", "null", "[]", "\x00\xff", `{"jsonrpc":"2.0","id":1,"method":"do"}`, `{"jsonrpc":"2.0","id":1,"method":"hello","params":[1,2,3]}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","id":1,"method":"hello"},{"jsonrpc":"2.0","id":1,"method":"hello"}]`,
		`{"jsonrpc":"2.0","id":1,"method":"hello","params":` + strings.Repeat("[", 20_000) + "}",
	} {
		for _, enters := range []bool{false, true} {
			s := one.stranger()
			if enters {
				s.enter(nil)
			}
			if _, err := io.WriteString(s.conn, line+"\n"); err != nil {
				t.Fatal(err)
			}
			s.conn.Close()
		}
		waits(t, a, ask, fmt.Sprintf("%.40q", line))
	}
	s := one.stranger() // it has not said who it is
	if _, err := io.WriteString(s.conn, strings.Repeat("x", 1<<20)); err == nil && !s.over() {
		t.Error("a mebibyte of a stranger is kept")
	}
	s = one.stranger().enter(nil) // a bomb of orders
	var bomb strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&bomb, `{"jsonrpc":"2.0","id":%d,"method":"do","params":{"client":"x","key":"b%d","until":"2099-01-01T00:00:00Z","settle":{"ask":"q%d","reply":{}}}}`+"\n", 1000+i, i, i)
	}
	go io.WriteString(s.conn, bomb.String()) //nolint:errcheck // the answers show that it was read
	if r := s.receive(2999); r.Error == nil {
		t.Errorf("an answer to nothing: %s", r.Result)
	}
	waits(t, a, ask, "a bomb")
	if err := a.Decide(t.Context(), ask.ID, core.RejectOnce, ""); err != nil {
		t.Fatal(err)
	}
}

// Connections that say nothing are few at a time, and end.
func TestSilentConnections(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", func(_ *process, o *share.Options) { o.Greeting = 200 * time.Millisecond })
	a := one.open(core.Client{Name: "Zed"})
	one.lives(a)
	before := descriptors(t)
	var all []*stranger
	for range 1000 {
		all = append(all, one.stranger())
	}
	if n := descriptors(t) - before - len(all); n > 100 { // ours are in the same process
		t.Errorf("%d silent connections are open", n)
	}
	one.lives(a)
	for _, s := range all {
		if !s.over() {
			t.Fatal("a silent connection stays")
		}
		s.conn.Close()
	}
	two := at.start(t, "two", nil)
	b := two.open(core.Client{Name: "Emacs"})
	shown(t, a, prompt(t, b, "second"))
}

// descriptors counts the open files of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// A process attaches a bounded number of clients to a session.
func TestClientsOfAProcessAreBounded(t *testing.T) {
	one := newPlace(t).start(t, "one", nil)
	a := one.open(core.Client{Name: "Zed"})
	shown(t, a, prompt(t, a, "first"))
	s := one.stranger().enter(nil)
	refused := ""
	for i := 0; refused == "" && i < 1000; i++ {
		refused = s.ask("attach", object{"id": fmt.Sprint("more ", i), "name": "one more", "principal": "local", "role": "decide"}).error()
	}
	if !strings.Contains(refused, "may attach 256 clients") {
		t.Errorf("refused: %q", refused)
	}
	one.lives(a)
}

// A process that takes nothing holds up no approval of another one.
func TestStoppedProcessHoldsUpNobody(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", asking)
	a := one.open(core.Client{Name: "Zed"})
	s := one.stranger().enter(nil)
	line, err := json.Marshal(object{"jsonrpc": "2.0", "id": 99, "method": "do", "params": order("k", object{"client": "nobody"})})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the answers have filled the connection, and the owner reads no more
		if err = s.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err == nil {
			_, err = s.conn.Write(append(line, '\n'))
		}
	}
	var times []time.Duration
	for range 3 {
		turn := prompt(t, a, "go")
		ask := asked(t, a)
		began := time.Now()
		if err := a.Decide(t.Context(), ask.ID, core.AllowOnce, ""); err != nil {
			t.Fatal(err)
		}
		until(t, "the turn ends", func() bool { return a.State().Turn == "" })
		times = append(times, time.Since(began))
		shown(t, a, turn)
	}
	if slices.Max(times) > 3*time.Second || slices.Min(times) > 150*time.Millisecond {
		t.Errorf("calls ran %v after they were allowed", times)
	}
}
