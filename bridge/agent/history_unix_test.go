//go:build unix

package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/bridge/agent/paths"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

type object = map[string]any

// past writes a session that a scripted agent had by itself.
func past(t *testing.T, o agenttest.Options, id, cwd, title string, updated time.Time, updates ...object) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	_ = enc.Encode(object{"cwd": cwd, "title": title})
	for _, u := range updates {
		_ = enc.Encode(object{"update": u})
	}
	path := filepath.Join(o.Dir, id+".jsonl")
	err := os.WriteFile(path, b.Bytes(), 0o600)
	if err == nil {
		err = os.Chtimes(path, updated, updated)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func chunk(kind, text string) object {
	return object{"sessionUpdate": kind, "content": object{"type": "text", "text": text}}
}

// shelf is the data folder of processes that share sessions, and an agent that had some by itself.
type shelf struct {
	t    *testing.T
	home string
	dir  string // the sessions' folder
	o    agenttest.Options
	rec  record
	gone bool // the agent is not configured any more

	paths map[string]string // of the agent
}

func newShelf(t *testing.T, change ...func(*agenttest.Options)) *shelf {
	t.Helper()
	s := &shelf{t: t, home: t.TempDir(), dir: t.TempDir(), rec: newRecord(t)}
	s.o = agenttest.Options{Dir: t.TempDir(), Load: true, List: true, Record: s.rec.path}
	for _, f := range change {
		f(&s.o)
	}
	return s
}

func (s *shelf) file() string { return filepath.Join(s.home, "agents.json") }

// process returns a gateway of a process of its own, with the backend of its agent.
func (s *shelf) process(change ...func(*agent.Options)) (*room, *agent.Backend) {
	s.t.Helper()
	h := elsewhere.NewHistory(s.file())
	change = append(change, func(o *agent.Options) { o.History, o.Paths = h, s.paths })
	a := scripted(s.t, "scripted", s.o, change...)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r := &room{t: s.t, dir: s.dir, ctx: ctx, profile: &core.Profile{}}
	if !s.gone {
		r.profile.Agents = []core.Agent{a}
	}
	r.gateway = core.New(core.Config{
		Store: elsewhere.Store{
			Principal: core.Local,
			Store:     jsonl.New(filepath.Join(s.home, "sessions")), History: h,
			Agents: func() map[string]elsewhere.Agent {
				if s.gone {
					return nil
				}
				return map[string]elsewhere.Agent{"scripted": {Has: paths.Has(s.paths)}}
			},
		},
		Node:     "test",
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return r.profile, nil }),
	})
	s.t.Cleanup(func() {
		defer cancel()
		if err := r.gateway.Close(ctx); err != nil {
			s.t.Error("close:", err)
		}
	})
	return r, a.Backend.(*agent.Backend)
}

// listed shows the list, as ID: TITLE.
func (r *room) listed() (list []string) {
	r.t.Helper()
	for sum, err := range r.gateway.List(r.ctx, core.Local) {
		if err != nil {
			r.t.Error(err)
		}
		list = append(list, string(sum.ID)+": "+sum.Title)
		if sum.Messages == 0 || sum.Cwd != r.dir {
			r.t.Errorf("%+v", sum)
		}
	}
	return list
}

func (r *room) wantsList(want ...string) {
	r.t.Helper()
	if got := r.listed(); !slices.Equal(got, want) {
		r.t.Errorf("the list is %q, want %q", got, want)
	}
}

// logs counts the logs in the store.
func (s *shelf) logs() (n int) {
	_ = filepath.WalkDir(filepath.Join(s.home, "sessions"), func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".jsonl") && len(filepath.Base(path)) > 30 {
			n++
		}
		return nil
	})
	return n
}

var year = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func TestSessionsOfAnAgentAreListedAndImported(t *testing.T) {
	s := newShelf(t)
	s.dir, _ = filepath.EvalSymlinks(s.dir)
	past(t, s.o, "old", s.dir, "An old one", year)
	past(t, s.o, "rich", s.dir, "A rich one", year.Add(time.Hour),
		chunk("agent_message_chunk", "Welcome."), // before anything was asked
		chunk("user_message_chunk", "Do "), chunk("user_message_chunk", "it."),
		chunk("agent_thought_chunk", "Hm."), chunk("agent_message_chunk", "I "), chunk("agent_message_chunk", "do."),
		object{"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "make all", "kind": "execute", "status": "in_progress", "rawInput": object{"command": "make all"}},
		object{"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "content": []object{{"type": "content", "content": object{"type": "text", "text": "made"}}}},
		object{"sessionUpdate": "tool_call", "toolCallId": "c2", "title": "never ended", "kind": "read", "status": "pending"},
		object{"sessionUpdate": "plan", "entries": []object{{"content": "rest", "status": "pending", "priority": "low"}}},
		object{"sessionUpdate": "usage_update", "used": 5, "size": 100},
		object{"sessionUpdate": "compaction_update", "status": "completed", "summary": []object{{"type": "text", "text": "short"}}},
		object{"sessionUpdate": "subagent_update", "sessionId": "sub", "title": "Sub", "state": object{"state": "running"}},
		object{"sessionUpdate": "subagent_update", "sessionId": "sub", "state": object{"state": "idle", "stopReason": "end_turn"}},
		object{"sessionUpdate": "_scripted/weather", "n": 1},
		chunk("user_message_chunk", "And this?"),
	)
	r, b := s.process()
	r.wantsList()
	if n := s.rec.count("start"); n != 0 {
		t.Errorf("%d agents were started for a list", n)
	}
	list, err := b.List(r.ctx)
	if err != nil || len(list) != 2 || list[0].Session != "rich" {
		t.Fatalf("%+v, %v", list, err)
	}
	rich, old := elsewhere.ImportID("scripted", "rich"), elsewhere.ImportID("scripted", "old")
	r.wantsList(string(rich)+": A rich one", string(old)+": An old one")

	open, err := r.gateway.Has(r.ctx, core.Local, rich)
	if open || err != nil || s.logs() != 0 {
		t.Errorf("looking: %v, %v, %d logs", open, err, s.logs())
	}
	if _, err := r.gateway.Has(r.ctx, core.Local, "scripted:other"); !errors.Is(err, core.ErrNotFound) {
		t.Error(err)
	}
	starts := s.rec.count("start")
	got, err := r.gateway.Open(r.ctx, core.Local, rich)
	if err != nil {
		t.Fatal(err)
	}
	c := r.join(got)
	var lines []string
	for rec, err := range c.at.Records(r.ctx, core.Pos{}, c.at.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := rec.Event.(type) {
		case core.TurnStarted:
			text := ""
			for _, b := range e.Prompt {
				text += fmt.Sprint(b.(core.Text).Text)
			}
			lines = append(lines, "user "+text)
		case core.TextDelta:
			lines = append(lines, "text "+e.Text)
		case core.ThoughtDelta:
			lines = append(lines, "thought "+e.Text)
		case core.CallChanged:
			lines = append(lines, strings.TrimSpace(fmt.Sprint("call ", e.Call.Title, " ", e.Call.State, " ", e.Call.Content)))
		case core.PlanChanged:
			lines = append(lines, "plan "+e.Entries[0].Text)
		case core.Compacted:
			lines = append(lines, "compacted "+e.Summary)
		case core.Foreign:
			lines = append(lines, "foreign "+string(e.Raw))
		case core.TurnEnded:
			lines = append(lines, "end "+string(e.Stop))
		default:
		}
	}
	want := []string{
		"user ", "text Welcome.", "end end_turn",
		"user Do it.", "thought Hm.", "text I do.",
		"call make all proposed []", "call make all running []", "call make all running []", "call make all succeeded [{made}]",
		"call never ended proposed []", "call never ended proposed []", "plan rest", "compacted short",
		"call Sub proposed []", "call Sub running []", "call Sub running []", "call Sub succeeded []", `foreign {"n":1,"sessionUpdate":"_scripted/weather"}`,
		"end end_turn", "user And this?", "end end_turn",
		"call never ended canceled []",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("imported:\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if st := c.at.State(); st.Turn != "" || st.Settings.Agent != "scripted" || st.Title != "A rich one" || len(st.Plan) != 1 || st.Bound.Agent != "scripted" {
		t.Errorf("%+v", st)
	}
	c.reader = c.at.Read(c.at.Head())
	c.says("say more", "more\n")
	if n := s.rec.count("start") - starts; n != 1 {
		t.Errorf("%d starts", n)
	}
	r.wantsList(string(rich)+": A rich one", string(old)+": An old one")

	// One of ours is the agent's as well, and is listed once.
	mine := r.begin("scripted")
	mine.says("say mine\ntitle My own", "mine\n")
	id := string(mine.at.Meta().ID)
	if list, err = b.List(r.ctx); err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	all := []string{id + ": My own", string(rich) + ": A rich one", string(old) + ": An old one"}
	r.wantsList(all...)
	if err := r.gateway.Close(r.ctx); err != nil {
		t.Fatal(err)
	}
	starts = s.rec.count("start")
	r, b = s.process()
	r.wantsList(all...)
	if _, err := r.gateway.Open(r.ctx, core.Local, rich); err != nil {
		t.Error(err)
	}
	if n := s.rec.count("start") - starts; n != 0 {
		t.Errorf("%d agents were started to look at what is here", n)
	}

	// What is deleted here stays away, imported or not.
	for i, id := range []core.SessionID{old, rich} {
		if err := r.gateway.Delete(r.ctx, core.Local, id, core.Deletion{All: true}); err != nil {
			t.Error(err)
		}
		if _, err := b.List(r.ctx); err != nil {
			t.Error(err)
		}
		r.wantsList(slices.DeleteFunc(slices.Clone(all[:3-i]), func(s string) bool { return strings.HasPrefix(s, string(id)) })...)
		if _, err := r.gateway.Open(r.ctx, core.Local, id); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := r.gateway.Close(r.ctx); err != nil {
		t.Fatal(err)
	}
	s.gone = true
	r, _ = s.process()
	r.wantsList(all[0])
}

// An agent's own list can tell which of its sessions were deleted here: ours, imported ones, and those
// that were never opened.
func TestDeletedSessionsAreKnown(t *testing.T) {
	s := newShelf(t)
	for _, id := range []string{"imported", "unopened", "left"} {
		past(t, s.o, id, s.dir, "", year, chunk("user_message_chunk", "Hello"))
	}
	r, b := s.process()
	mine := r.begin("scripted")
	mine.says("say mine", "mine\n")
	list, err := b.List(r.ctx)
	if err != nil || len(list) != 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	imported := elsewhere.ImportID("scripted", "imported")
	if _, err := r.gateway.Open(r.ctx, core.Local, imported); err != nil {
		t.Fatal(err)
	}
	for _, id := range []core.SessionID{mine.at.Meta().ID, imported, elsewhere.ImportID("scripted", "unopened")} {
		if err := r.gateway.Delete(r.ctx, core.Local, id, core.Deletion{All: true}); err != nil {
			t.Error(err)
		}
	}
	h := elsewhere.NewHistory(s.file())
	for _, e := range list {
		if h.Deleted("scripted", e.Session) != (e.Session != "left") {
			t.Errorf("%s: deleted is %t", e.Session, e.Session == "left")
		}
	}
	r.wantsList("scripted:left: ")
}

// Of two agents with one program, a session is listed once, and not if it is one of ours under either, or was
// deleted here. Agents of other programs may have the same ids.
func TestAgentsWithOneProgram(t *testing.T) {
	h := elsewhere.NewHistory(filepath.Join(t.TempDir(), "agents.json"))
	var list []elsewhere.Listed
	for i, id := range []string{"both", "ours"} {
		list = append(list, elsewhere.Listed{Session: id, Cwd: "/w", Updated: year.Add(-time.Duration(i) * time.Hour)})
	}
	for _, name := range []string{"a", "b", "other", "lone"} {
		if err := h.Keep(t.Context(), name, list); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Own(t.Context(), "b", "ours", "mine"); err != nil {
		t.Fatal(err)
	}
	store := elsewhere.Store{Principal: core.Local, Store: jsonl.New(t.TempDir()), History: h, Agents: func() map[string]elsewhere.Agent {
		return map[string]elsewhere.Agent{"a": {Program: "x"}, "b": {Program: "x"}, "other": {Program: "y"}, "lone": {}}
	}}
	wants := func(want ...string) {
		t.Helper()
		var got []string
		for sum, err := range store.List(t.Context(), core.Local) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, string(sum.ID))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	wants("a:both", "lone:both", "lone:ours", "other:both", "other:ours")
	if err := store.Delete(t.Context(), core.Local, "a:both"); err != nil && !errors.Is(err, core.ErrNotFound) {
		t.Error(err)
	}
	wants("lone:both", "lone:ours", "other:both", "other:ours")
}

// A load that fails leaves nothing, and the next one tries again.
func TestAnImportThatFailsIsTriedAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults")
	s := newShelf(t, func(o *agenttest.Options) { o.FaultsFile = file })
	past(t, s.o, "one", s.dir, "", year, chunk("user_message_chunk", "First line\nsecond line"), chunk("agent_message_chunk", "Yes."))
	now := &clock{now: time.Now()}
	r, b := s.process(func(o *agent.Options) { o.Now = now.Now })
	if _, err := b.List(r.ctx); err != nil {
		t.Fatal(err)
	}
	id := elsewhere.ImportID("scripted", "one")
	faults(t, file, map[string]string{"session/load": `update {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"a part"}}; error -32603 no disk`})
	for range 2 {
		if _, err := r.gateway.Open(r.ctx, core.Local, id); err == nil || !strings.Contains(err.Error(), "no disk") {
			t.Errorf("opened with %v", err)
		}
		r.wantsList(string(id) + ": ")
		now.pass(time.Hour)
	}
	faults(t, file, nil)
	got, err := r.gateway.Open(r.ctx, core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	c := r.join(got)
	if said := c.whole(); said != "Yes." || got.State().Messages != 2 || got.State().Title != "First line" {
		t.Errorf("%q, %+v", said, got.State())
	}
	r.wantsList(string(id) + ": First line")
	c.reader = c.at.Read(c.at.Head())
	c.says("say on", "on\n")
}

// Two processes that open a session at once import it once.
func TestTwoProcessesImportASessionOnce(t *testing.T) {
	s := newShelf(t)
	past(t, s.o, "one", s.dir, "One", year, chunk("user_message_chunk", "Hello"), chunk("agent_message_chunk", "Yes."))
	first, b := s.process()
	if _, err := b.List(first.ctx); err != nil {
		t.Fatal(err)
	}
	second, _ := s.process()
	id := elsewhere.ImportID("scripted", "one")
	var wg sync.WaitGroup
	for _, r := range []*room{first, second} {
		wg.Go(func() {
			got, err := r.gateway.Open(r.ctx, core.Local, id)
			if err != nil {
				t.Error(err)
				return
			}
			c := r.join(got)
			text := ""
			for text != "Yes." {
				records, err := c.reader.Next(r.ctx)
				if err != nil {
					t.Error(err)
					return
				}
				for _, rec := range records {
					if e, ok := rec.Event.(core.TextDelta); ok {
						text += e.Text
					}
				}
			}
		})
	}
	wg.Wait()
	if n := s.rec.count("session/load"); n != 1 || s.logs() != 1 {
		t.Errorf("%d loads, %d logs", n, s.logs())
	}
}

// An agent that resumes only is continued without its history. One that can neither is not listed.
func TestAgentsThatCannotLoad(t *testing.T) {
	s := newShelf(t, func(o *agenttest.Options) { o.Load, o.Resume = false, true })
	past(t, s.o, "one", s.dir, "One", year, chunk("user_message_chunk", "Hello"))
	r, b := s.process()
	if _, err := b.List(r.ctx); err != nil {
		t.Fatal(err)
	}
	id := elsewhere.ImportID("scripted", "one")
	got, err := r.gateway.Open(r.ctx, core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	r.wantsList(string(id) + ": One")
	c := r.join(got)
	c.says("say on", "on\n")
	if n := c.notices(); !strings.Contains(n, "cannot show what was said") || s.rec.count("session/resume") != 1 || s.rec.count("session/new") != 0 {
		t.Errorf("%q, %v", n, s.rec.methods())
	}

	s = newShelf(t, func(o *agenttest.Options) { o.Load = false })
	past(t, s.o, "one", s.dir, "One", year)
	r, b = s.process()
	if list, err := b.List(r.ctx); err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	r.wantsList()

	s = newShelf(t, func(o *agenttest.Options) { o.List = false })
	r, b = s.process()
	if _, err := b.List(r.ctx); err == nil || err.Error() != "agent scripted does not list its sessions" {
		t.Error(err)
	}
}

// Our own sessions are listed at once, whatever an agent answers and whatever is in the file.
func TestNothingHidesOurOwnSessions(t *testing.T) {
	for name, c := range map[string]struct {
		file, list string
	}{
		"a damaged file": {file: `{"scripted":`},
		"a late answer":  {list: "wait"},
		"an error":       {list: "error -32603 no"},
		"a bad answer":   {list: "answer-nothing"},
		"a crash":        {list: "crash"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			if c.list != "" {
				s.o.Faults = map[string]string{"session/list": c.list}
			}
			if c.file != "" {
				if err := os.WriteFile(s.file(), []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, _ := s.process()
			mine := r.begin("scripted")
			mine.say("say one")
			id := mine.at.Meta().ID
			r.wantsList(string(id) + ": say one")
			if err := r.gateway.Delete(r.ctx, core.Local, id, core.Deletion{All: true}); err != nil {
				t.Error(err)
			}
			r.wantsList()
		})
	}
}

// Folders of the agent are those of here in the list.
func TestFoldersInListsAreMapped(t *testing.T) {
	s := newShelf(t)
	past(t, s.o, "one", "/there/sub", "One\nwith\x1b[31m more", year)
	past(t, s.o, "two", "relative", "Two", year)
	s.paths = map[string]string{"/here": "/there"}
	r, b := s.process()
	r.dir = "/here/sub"
	if _, err := b.List(r.ctx); err != nil {
		t.Fatal(err)
	}
	got := r.listed()
	if len(got) != 1 || strings.ContainsAny(got[0], "\n\x1b") {
		t.Errorf("%q", got)
	}
}

// A session is listed once, however often the agent lists it, and no page is asked for twice.
func TestRepeatedEntriesAreListedOnce(t *testing.T) {
	for name, page := range map[string]string{
		"twice on a page": `{"sessions":[{"sessionId":"a","cwd":"%[1]s","title":"First"},{"sessionId":"a","cwd":"%[1]s","title":"Second"}]}`,
		"the same page":   `{"sessions":[{"sessionId":"a","cwd":"%[1]s","title":"First"}],"nextCursor":"1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.o.Faults = map[string]string{"session/list": "result " + fmt.Sprintf(page, s.dir)}
			r, b := s.process()
			if list, err := b.List(r.ctx); err != nil || len(list) != 1 {
				t.Errorf("%d entries, %v", len(list), err)
			}
			r.wantsList("scripted:a: First")
			if n := s.rec.count("session/list"); n > 2 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// A malformed entry is left out of an agent's list, and the others stay.
func TestMalformedEntriesAreLeftOut(t *testing.T) {
	s := newShelf(t)
	s.o.Faults = map[string]string{"session/list": fmt.Sprintf(
		`result {"sessions":[null,1,{},{"sessionId":"","cwd":"%[1]s"},{"sessionId":"b","cwd":7},{"sessionId":"a","cwd":"%[1]s","title":null,"updatedAt":"junk"}],"nextCursor":null}`, s.dir)}
	r, b := s.process()
	if _, err := b.List(r.ctx); err != nil {
		t.Error(err)
	}
	r.wantsList("scripted:a: ")
}

// An agent that runs elsewhere cannot make any folder of this machine the workspace of a session, and
// neither can a list that was kept before its paths were configured.
func TestFoldersThatAreNotMapped(t *testing.T) {
	s := newShelf(t)
	s.paths = map[string]string{"/here": "/there"}
	var list []elsewhere.Listed
	for i, cwd := range []string{"/etc", "/", "/there/../home", "/thereabouts", "/here", "/here/sub"} {
		past(t, s.o, fmt.Sprint("s", i), cwd, "", year)
	}
	for i, cwd := range []string{"/etc", "/", "/here/../home", "/hereabouts", "/there"} {
		list = append(list, elsewhere.Listed{Session: fmt.Sprint("s", i), Cwd: cwd})
	}
	if err := elsewhere.NewHistory(s.file()).Keep(t.Context(), "scripted", list); err != nil {
		t.Fatal(err)
	}
	r, b := s.process()
	r.wantsList()
	for i, e := range list {
		if _, err := r.gateway.Open(r.ctx, core.Local, elsewhere.ImportID("scripted", e.Session)); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%d: %s was opened: %v", i, e.Cwd, err)
		}
	}
	if list, err := b.List(r.ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	r.wantsList()
}

// What is kept of an agent's list, and of which sessions are ours, is bounded.
func TestListsAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.json")
	h := elsewhere.NewHistory(path)
	var list []elsewhere.Listed
	for i := range 5000 {
		list = append(list, elsewhere.Listed{Session: fmt.Sprint("s", i), Cwd: "/w", Title: strings.Repeat("t", 200), Updated: year.Add(-time.Duration(i) * time.Hour)})
	}
	if err := h.Keep(t.Context(), "scripted", list); err != nil {
		t.Fatal(err)
	}
	ours := make(map[string]core.SessionID)
	for i := range 6000 {
		ours[fmt.Sprint("o", i)] = "x"
	}
	ours["s3"] = "mine"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]object
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	all["scripted"]["ours"] = ours
	if b, err = json.Marshal(all); err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Own(t.Context(), "scripted", "new", "mine too"); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(path); err != nil || len(b) > 1<<20 || !bytes.Contains(b, []byte("mine too")) || !bytes.Contains(b, []byte(`"s3": "mine"`)) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	store := elsewhere.Store{Principal: core.Local, Store: jsonl.New(t.TempDir()), History: h, Agents: func() map[string]elsewhere.Agent { return map[string]elsewhere.Agent{"scripted": {}} }}
	n, last := 0, time.Now()
	for sum, err := range store.List(t.Context(), core.Local) {
		if err != nil || sum.Updated.After(last) {
			t.Fatal(sum, err)
		}
		n, last = n+1, sum.Updated
	}
	if n != 999 {
		t.Errorf("%d are listed", n)
	}
}
