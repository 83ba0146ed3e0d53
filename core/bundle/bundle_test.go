package bundle_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/bundle"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// store returns a store with nothing in it.
func store(t *testing.T) *jsonl.Store {
	t.Helper()
	s := jsonl.New(t.TempDir())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// kept stores a session as an owner would, with cut output by name.
func kept(t *testing.T, s *jsonl.Store, m core.Meta, spills map[string]string, events ...core.Event) {
	t.Helper()
	m.Principal = core.Local
	if m.Cwd == "" {
		m.Cwd, m.Roots = "/w", []string{"/w"}
	}
	if m.Created.IsZero() {
		m.Created = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	}
	j, err := s.Create(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := j.Claim(t.Context())
	if err == nil {
		err = j.Write(t.Context(), coretest.Records(epoch, append([]core.Event{core.Opened{Meta: m}, core.Claimed{Epoch: epoch}}, events...)...))
	}
	for name, text := range spills {
		w, _, spillErr := j.Spill(name)
		if err = errors.Join(err, spillErr); err == nil {
			_, err = io.WriteString(w, text)
			err = errors.Join(err, w.Close())
		}
	}
	if err = errors.Join(err, j.Release(), j.Close()); err != nil {
		t.Fatal(err)
	}
}

// export returns a session's file.
func export(t *testing.T, s bundle.Source, id core.SessionID) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := bundle.Write(t.Context(), &b, s, core.Local, id, "dragoman test", now); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// into imports a file.
func into(t *testing.T, s *jsonl.Store, file []byte, o bundle.Options) (bundle.Info, error) {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = now
	}
	o.By, o.Principal = "test", core.Local
	a := s.Receive()
	info, err := bundle.Read(t.Context(), bytes.NewReader(file), o, a)
	if err != nil {
		return info, errors.Join(err, a.Abort())
	}
	return info, a.Commit(t.Context())
}

func imported(t *testing.T, s *jsonl.Store, file []byte) bundle.Info {
	t.Helper()
	info, err := into(t, s, file, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func records(t *testing.T, s core.Store, id core.SessionID) (list []core.Record) {
	t.Helper()
	j, err := s.Open(t.Context(), core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range j.Read(t.Context(), core.Pos{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return list
}

func spilled(t *testing.T, s core.Store, id core.SessionID, name string) string {
	t.Helper()
	j, err := s.Open(t.Context(), core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	f, err := j.Spilled(core.SpillRef + name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close(), j.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unpacked returns the lines of a file.
func unpacked(t *testing.T, file []byte) string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// packed makes a file of lines, with the right checksum at their end.
func packed(t *testing.T, lines ...string) []byte {
	t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	sum := sha256.Sum256([]byte(text))
	return zipped(t, text+`e "`+hex.EncodeToString(sum[:])+"\"\n")
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err == nil {
		_, err = io.WriteString(zip, text)
	}
	if err = errors.Join(err, zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func quoted(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func head(ids ...string) string {
	return `h {"format":"dragoman session","version":1,"sessions":` + quoted(ids) + `}`
}

// opened is the first record of a session; more are members of its Meta.
func opened(id, more string) string {
	return `r {"e":0,"s":1,"t":"2026-01-02T15:04:05Z","k":"opened","v":{"meta":{"id":` + quoted(id) + `,"principal":"ann","created":"2026-01-02T15:04:05Z"` + more + `}}}`
}

const folder = `,"cwd":"/w","roots":["/w"]`

// Everything comes back: records with their numbers, large values, cut output, and tasks of tasks.
func TestRoundTrip(t *testing.T) {
	from, to := store(t), store(t)
	large := core.Notice{Text: strings.Repeat("large ", 100_000)}
	for i, m := range []core.Meta{{ID: "main"}, {ID: "task", Parent: "main", ParentAgent: "code"}, {ID: "inner", Parent: "task"}, {ID: "other"}} {
		events := append(coretest.Conversation(uint64(i), 6)[1:], large)
		call := core.Call{ID: "c0", Turn: "t0", Server: core.Native, Tool: "spawn_agent", State: core.Succeeded, Child: "task"}
		events = append(events, core.TitleChanged{Title: "The title"})
		kept(t, from, m, map[string]string{"one.txt": "one\n", "Two.txt": strings.Repeat("\x00two\n", 50_000)}, append(events, core.CallChanged{Call: call})...)
	}
	info := imported(t, to, export(t, from, "main"))
	if info.ID != "main" || fmt.Sprint(info.Sessions) != "[main task inner]" || info.Title != "The title" || fmt.Sprint(info.Roots) != "[/w]" || info.Missing != 0 {
		t.Errorf("%+v", info)
	}
	for _, id := range info.Sessions {
		was, is := records(t, from, id), records(t, to, id)
		if len(is) != len(was)+1 || !reflect.DeepEqual(is[len(was)].Event, core.Archived{By: "test"}) || !is[len(was)].Time.Equal(now) {
			t.Fatalf("%s: %d records, were %d; the last is %+v", id, len(is), len(was), is[len(is)-1])
		}
		for i := range was {
			was[i].Event = withoutRights(was[i].Event)
			if !reflect.DeepEqual(was[i], is[i]) {
				t.Fatalf("%s: record %d is\n%+v, was\n%+v", id, i, is[i], was[i])
			}
		}
		if spilled(t, to, id, "one.txt") != "one\n" || len(spilled(t, to, id, "Two.txt")) != 250_000 {
			t.Errorf("%s: cut output has changed", id)
		}
	}
	for sum, err := range to.List(t.Context(), core.Local) {
		if err != nil || !sum.Updated.Equal(now) || sum.ID == "other" {
			t.Errorf("%+v, %v", sum, err)
		}
	}
	// A second time there is nothing left to change.
	third := store(t)
	imported(t, third, export(t, to, "main"))
	for _, id := range info.Sessions {
		was, is := records(t, to, id), records(t, third, id)
		if !reflect.DeepEqual(was, is[:len(was)]) {
			t.Errorf("%s has changed on the second way", id)
		}
	}
}

// withoutRights is an event of a Conversation as it is imported.
func withoutRights(ev core.Event) core.Event {
	switch e := ev.(type) {
	case core.TurnStarted:
		e.Key = ""
		e.Origin.Principal = core.Local
		return e
	case core.PromptQueued:
		e.Key = ""
		e.Origin.Principal = core.Local
		return e
	case core.Steered:
		e.Origin.Principal = core.Local
		return e
	case core.Answered:
		e.Reply.Remember, e.Reply.Principal = "", core.Local
		return e
	case core.ThoughtEnded:
		e.Sealed = nil
		return e
	case core.CallChanged:
		var content []core.Block
		for _, b := range e.Call.Content {
			if d, ok := b.(core.Diff); ok {
				d.Shown = true
				b = d
			}
			content = append(content, b)
		}
		e.Call.Content = content
		return e
	}
	return ev
}

// A copy has other ids, also where records name them.
func TestCopy(t *testing.T) {
	s := store(t)
	kept(t, s, core.Meta{ID: "main"}, nil,
		core.CallChanged{Call: core.Call{ID: "c1", State: core.Succeeded, Child: "task"}},
		core.CallChanged{Call: core.Call{ID: "c2", State: core.Succeeded, Child: "elsewhere"}},
		core.Moved{To: "task"}, core.Moved{To: "elsewhere"})
	kept(t, s, core.Meta{ID: "task", Parent: "main", ParentAgent: "plan"}, nil)
	file := export(t, s, "main")
	if _, err := into(t, s, file, bundle.Options{}); !errors.Is(err, core.ErrExists) {
		t.Errorf("over itself: %v", err)
	}
	info, err := into(t, s, file, bundle.Options{
		IDs:     func([]core.SessionID) ([]core.SessionID, error) { return []core.SessionID{"main2", "task2"}, nil },
		Folders: func([]string) ([]string, error) { return []string{"/x", "/y"}, nil },
	})
	if err != nil || info.ID != "main2" {
		t.Fatalf("%+v, %v", info, err)
	}
	var got []string
	for _, r := range append(records(t, s, "main2"), records(t, s, "task2")...) {
		switch e := r.Event.(type) {
		case core.Opened:
			got = append(got, fmt.Sprint(e.Meta.ID, " of ", e.Meta.Parent, e.Meta.ParentAgent, e.Meta.Cwd, e.Meta.Roots))
		case core.CallChanged:
			got = append(got, "child "+string(e.Call.Child))
		case core.Moved:
			got = append(got, "to "+string(e.To))
		case core.Notice:
			got = append(got, e.Text)
		}
	}
	want := "main2 of /x[/x /y]|child task2|child |to task2|The user went on in another session.|task2 of main2plan/x[/x /y]"
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

// A task that is exported alone becomes a session of its own.
func TestTaskAlone(t *testing.T) {
	from, to := store(t), store(t)
	kept(t, from, core.Meta{ID: "main"}, nil)
	kept(t, from, core.Meta{ID: "task", Parent: "main", ParentAgent: "plan", From: core.Source{Agent: "claude", Session: "x"}}, nil)
	imported(t, to, export(t, from, "task"))
	m := records(t, to, "task")[0].Event.(core.Opened).Meta
	if m.Parent != "" || m.ParentAgent != "" || m.From != (core.Source{}) {
		t.Errorf("%+v", m)
	}
}

// A session is exported while its owner writes: the file has the beginning of its log.
func TestExportBesideItsOwner(t *testing.T) {
	s, to := store(t), store(t)
	m := core.Meta{ID: "main", Principal: core.Local, Cwd: "/w", Roots: []string{"/w"}, Created: time.Unix(1, 0)}
	j, err := s.Create(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := j.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const most = 20_000 // a test that it ends: the owner writes faster than others read
	half, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for seq := uint64(2); seq < most; seq++ {
			if err := j.Write(t.Context(), []core.Record{{Epoch: epoch, Seq: seq, Time: now, Event: core.Notice{Text: fmt.Sprint(seq)}}}); err != nil {
				ended <- err
				break
			}
			if seq == 1000 {
				close(half)
			}
		}
		close(ended)
	}()
	select {
	case <-half:
	case err := <-ended:
		t.Fatal(err)
	}
	file := export(t, jsonl.New(s.Dir()), "main") // as another process does
	if err := bundle.Check(t.Context(), bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	imported(t, to, file)
	was, is := records(t, s, "main"), records(t, to, "main")
	if n := len(is) - 1; n < 1000 || !reflect.DeepEqual(is[1:n], was[1:n]) {
		t.Errorf("%d records of %d, or others", n, len(was))
	}
}
