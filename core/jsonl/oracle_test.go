package jsonl

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/codec"
	"dragoman/core/coretest"
)

// good returns the records of a log whose checksums are right, without those of stale
// owners, by reading each line independently.
func good(b []byte) (records []core.Record) {
	var dec codec.Decoder
	epoch := uint64(0)
	for i, line := range bytes.SplitAfter(b, []byte("\n")) {
		object, ok := unseal(bytes.Clone(bytes.TrimSuffix(line, []byte("\n"))))
		if i == 0 || !ok || !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		r, err := dec.Decode(object)
		if place, perr := codec.Peek(object); err != nil && perr == nil && valueOf(object) == "" {
			r, err = place.Place(), nil
		}
		if err == nil && r.Seq > 0 && r.Epoch >= epoch {
			epoch = r.Epoch
			records = append(records, r)
		}
	}
	return records
}

// checkReported fails unless each good record of the log b is shown, or reported as
// missing, and nothing else is; and unless there is a report of damage at all.
func checkReported(t *testing.T, b []byte, shown []core.Record) {
	t.Helper()
	at, reported := core.Pos{}, false
	for _, r := range shown {
		next, rest, ok, err := at.Splice(r)
		if err != nil || !ok || !reflect.DeepEqual(rest, r) {
			t.Fatalf("record %d.%d (%T) is read behind %v: %v", r.Seq, r.Off, r.Event, at, err)
		}
		at = next
		_, missing := r.Event.(core.Missing)
		reported = reported || missing
	}
	whole := map[uint64]core.Record{}
	for _, r := range coretest.Joined(shown) {
		whole[r.Seq] = r
	}
	hidden := 0
	for _, r := range good(b) {
		if _, ok := r.Event.(core.Missing); !ok && !within(whole[r.Seq], r) {
			hidden++
		}
	}
	if hidden > 0 && !reported {
		t.Fatalf("%d good records are not shown, and nothing reports it", hidden)
	}
}

// within reports whether all of r is contained in a whole record: its kind, and its
// text.
func within(whole, r core.Record) bool {
	if reflect.TypeOf(whole.Event) != reflect.TypeOf(r.Event) {
		_, missing := whole.Event.(core.Missing)
		return missing && r.Event == nil // it cannot be decoded
	}
	_, all, ok := textOf(whole.Event)
	_, part, _ := textOf(r.Event)
	return !ok || r.Off <= uint64(len(all)) && strings.HasPrefix(all[r.Off:], part)
}

func textOf(ev core.Event) (stream, text string, ok bool) {
	v := reflect.ValueOf(ev)
	switch ev.(type) {
	case core.TextDelta, core.ThoughtDelta, core.CallArgs, core.CallOutput:
		return v.Field(0).String(), v.Field(1).String(), true
	}
	return "", "", false
}

// realLog makes a conversation, and returns the path and the content of its log.
func realLog(t testing.TB, s *Store) (log string, whole []byte) {
	t.Helper()
	run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		id, thought := turn.NewMessage(), turn.NewThought()
		call := core.Call{ID: turn.NewCall(), Turn: turn.ID(), Server: core.Native, Tool: "look", Title: "Look", Args: []byte(`{"a":1}`), State: core.Proposed}
		said := []core.Event{
			core.ThoughtStarted{Thought: thought},
			core.ThoughtDelta{Thought: thought, Text: "what is there?"},
			core.ThoughtEnded{Thought: thought},
			core.TextDelta{Message: id, Text: "I look. " + coretest.Awkward},
			core.CallArgs{Call: call.ID, Text: `{"a":1}`},
			core.CallChanged{Call: call},
		}
		if err := turn.Emit(ctx, said...); err != nil {
			return "", err
		}
		if _, err := turn.Invoke(ctx, call); err != nil {
			return "", err
		}
		id = turn.NewMessage()
		return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: id, Text: "It is "}, core.TextDelta{Message: id, Text: "there."}, core.UsageChanged{Turn: turn.ID()})
	}
	look := coretest.Tool{Is: core.Spec{Name: "look", Kind: core.KindRead}}
	g := coretest.Gateway(s, run, coretest.Always(core.Verdict{Effect: core.Allow}), look)
	made, err := g.Create(t.Context(), core.Meta{ID: "s1", Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := made.Attach(core.Client{Name: "tester"})
	r := a.Read(core.Pos{})
	defer r.Close()
	for _, text := range []string{"look", "look again"} {
		if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: text}}}); err != nil {
			t.Fatal(err)
		}
		for ended := false; !ended; {
			recs, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range recs {
				_, end := rec.Event.(core.TurnEnded)
				ended = ended || end
			}
		}
	}
	a.Close()
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	log = s.files(*s.root.Load(), core.Local, "s1").log
	if whole, err = os.ReadFile(log); err != nil {
		t.Fatal(err)
	}
	return log, whole
}

// TestEveryByte changes each byte of a real log, one at a time. No session is silently
// shorter, none is shown as running, and nothing is written.
func TestEveryByte(t *testing.T) {
	dir := inMemory(t)
	s := New(dir)
	log, whole := realLog(t, s)
	sound, refused := len(good(whole)), 0
	for at := 0; at < len(whole); at += 5 {
		b := bytes.Clone(whole)
		b[at] ^= byte(1 << (at % 8))
		put(t, log, b)
		g := coretest.Gateway(New(dir), nil, nil)
		opened, err := g.Open(t.Context(), core.Local, "s1")
		if err != nil {
			if refused++; !strings.Contains(err.Error(), "dragoman sessions repair s1") || at > 600 {
				t.Errorf("byte %d: %v", at, err)
			}
			_ = g.Close(t.Context())
			continue
		}
		if st := opened.State(); st.Turn != "" || len(st.Queued) > 0 {
			t.Errorf("byte %d: a turn runs: %+v", at, st)
		}
		a := opened.Attach(core.Client{Name: "viewer"})
		r := a.Read(core.Pos{})
		var shown []core.Record
		for r.Pos().Before(a.Head()) {
			recs, err := r.Until(t.Context(), a.Head())
			if err != nil {
				t.Fatalf("byte %d: %v", at, err)
			}
			shown = append(shown, recs...)
		}
		r.Close()
		checkReported(t, b, shown)
		missing := 0
		for _, rec := range shown {
			if _, ok := rec.Event.(core.Missing); ok {
				missing++
			}
		}
		if missing == 0 {
			t.Errorf("byte %d: %d of %d records are shown, and nothing reports it", at, len(shown), sound)
		}
		if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "more"}}}); !errors.Is(err, core.ErrReadOnly) || !strings.Contains(err.Error(), log) {
			t.Errorf("byte %d: a prompt: %v", at, err)
		}
		a.Close()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(content(t, log), b) {
			t.Fatalf("byte %d: the log was changed", at)
		}
	}
	if refused == 0 || refused > len(whole)/20 {
		t.Errorf("%d of %d were refused", refused, len(whole)/5)
	}
}

// FuzzLog opens, reads, claims and continues logs with any content.
func FuzzLog(f *testing.F) {
	s := New(f.TempDir())
	j, err := s.Create(f.Context(), core.Meta{ID: "s1", Principal: core.Local})
	if err != nil {
		f.Fatal(err)
	}
	path := j.(*journal).files.log
	fresh, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	line := func(object string) []byte { return seal([]byte(object), 0) }
	text := line(`{"e":1,"s":2,"k":"text","v":{"id":"m","text":"x"}}`)
	f.Add([]byte("{}\n"))
	f.Add(text)
	f.Add(line(`{"e":1,"s":2,"k":"text","f":"` + strings.Repeat("0", 64) + `"}`))
	f.Add(append(line(`{"e":1,"s":9,"k":"text"}`), "x\n\n"...))
	f.Add([]byte(`{"e":1,"s":5,"k":"notice","v":{}}|{"e":2,"s":3,"k":"notice","v":{}}|{"e":2,"s":5,"k":"missing","v":{"records":7}}|`))
	f.Add(bytes.Join([][]byte{text, line(`{"e":1,"s":2,"o":9,"k":"text","v":{"id":"m","text":"\u00e9y"}}`), text, line(`{"e":1,"s":2,"o":3,"k":"text","v":{"id":"n","text":"y"}}`)}, nil))
	f.Add(bytes.Join([][]byte{line(`{"e":2,"s":4,"k":"notice","v":{}}`), line(`{"e":1,"s":5,"k":"notice","v":{}}`), line(`{"e":2,"s":3,"k":"notice","v":{}}`), line(`{"e":2,"s":5,"k":"missing","v":{"records":7}}`), line(`{"e":2,"s":12,"k":"turn_started","v":{"turn":"t"}}`)}, []byte("\xff\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		// A bar seals the text before it, so that the fuzzer can make lines with good
		// checksums.
		var log []byte
		for _, part := range bytes.SplitAfter(b, []byte("|")) {
			object, ok := bytes.CutSuffix(part, []byte("|"))
			if start := len(log); ok && len(object) > 0 {
				log = seal(append(log, object...), start)
			} else {
				log = append(log, part...)
			}
		}
		log = append(bytes.Clone(fresh), log...)
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		read := func(after core.Pos) (records []core.Record) {
			for r, err := range j.Read(t.Context(), after) {
				if err != nil {
					t.Fatal(err)
				}
				records = append(records, r)
			}
			return records
		}
		shown := read(core.Pos{})
		if len(shown) == 0 {
			t.Fatal("the first record is not read")
		}
		checkReported(t, log, shown)
		for i := range min(len(shown), 20) {
			if rest := read(shown[i].End()); len(rest) != len(shown)-i-1 {
				t.Fatalf("%d records behind %v, want %d", len(rest), shown[i].End(), len(shown)-i-1)
			}
		}
		g := coretest.Gateway(s, nil, nil)
		opened, err := g.Open(t.Context(), core.Local, "s1")
		if err != nil {
			t.Fatal(err)
		}
		if st := opened.State(); st.Turn != "" || len(st.Queued) > 0 || len(st.Asks) > 0 {
			t.Fatalf("something runs or waits: %+v", st)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		epoch, err := j.Claim(t.Context())
		if err != nil {
			if !errors.Is(err, core.ErrReadOnly) {
				t.Fatal(err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, log) {
				t.Fatalf("a damaged log was changed (%v)", err)
			}
			if _, err := s.Repair(t.Context(), core.Local, "s1"); err != nil {
				t.Fatal(err)
			}
			checkSame(t, read(core.Pos{}), shown)
			if err := os.Remove(path + ".damaged"); err != nil {
				t.Fatal(err)
			}
			if _, err := j.Claim(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := j.Release(); err != nil {
				t.Fatal(err)
			}
			return
		}
		defer func() { _ = j.Release() }()
		c := j.(*journal).claimed()
		r := core.Record{Epoch: epoch, Seq: c.end.Seq, Event: core.Claimed{Epoch: epoch}}
		if c.end.Off > 0 {
			r.Seq++
		}
		if err := j.Write(t.Context(), []core.Record{r}); err != nil {
			t.Fatal(err)
		}
	})
}
