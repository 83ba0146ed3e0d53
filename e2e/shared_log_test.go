//go:build unix

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// sharedPlace is a place whose path is short enough for sockets.
func sharedPlace(t testing.TB) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "shared-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return placeIn(t, dir)
}

// logged is a record of a session's log.
type logged struct {
	Epoch uint64          `json:"e"`
	Seq   uint64          `json:"s"`
	Time  time.Time       `json:"t"`
	Kind  string          `json:"k"`
	Value json.RawMessage `json:"v"`
}

// into decodes the event of a record.
func (r logged) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.Value, v); err != nil {
		t.Fatalf("record %d, %s: %v", r.Seq, r.Kind, err)
	}
}

// logOf reads the log of a session from the disk. Records that a dead owner wrote behind the next
// one's claim are left out.
func (p *place) logOf(t testing.TB, session string) (list []logged) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.data, "sessions", "??", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range logs {
		if list = readLog(t, path, session); list != nil {
			return list
		}
	}
	t.Fatalf("session %s has no log in %s", session, p.data)
	return nil
}

// readLog reads a log; nil: it is another session's.
func readLog(t testing.TB, path, session string) (list []logged) {
	t.Helper()
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	epoch := uint64(0)
	for in := bufio.NewReaderSize(f, 1<<20); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return list // a line without an end is none
		}
		var r logged
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v: %.300s", path, err, line)
		}
		switch {
		case r.Kind == "": // the first line
			continue
		case r.Kind == "opened":
			var opened struct{ Meta struct{ ID string } }
			if r.into(t, &opened); opened.Meta.ID != session {
				return nil
			}
		case r.Kind == "claimed":
			epoch = r.Epoch
			list = slices.DeleteFunc(list, func(old logged) bool { return old.Seq >= r.Seq })
		case r.Epoch < epoch:
			continue
		}
		list = append(list, r)
	}
}

// stagesOf are the states of a call in the log, by what clients call them.
var stagesOf = map[string]int{"proposed": 0, "awaiting": 1, "running": 2, "succeeded": 3, "errored": 3, "rejected": 3, "canceled": 3}

// block is a part of a prompt.
type block struct{ Text string }

// shownOf lists what clients show of a log: what was said, the texts and thoughts, and each call
// with the stage that it has reached. An ACP client is shown neither its own prompts nor those that did not begin.
func shownOf(t testing.TB, log []logged, acp bool, own ...string) (list []element) {
	t.Helper()
	var b board
	queued := map[string]string{}
	for _, r := range log {
		switch r.Kind {
		case "prompt_queued", "turn_started", "steered", "turn_ended":
			var e struct {
				Turn   string
				Prompt []block
			}
			r.into(t, &e)
			said, waits := queued[e.Turn]
			delete(queued, e.Turn)
			switch {
			case r.Kind == "turn_ended":
				if !waits || acp {
					continue
				}
			case len(e.Prompt) == 0:
				continue
			default:
				said = e.Prompt[0].Text
			}
			if r.Kind == "prompt_queued" {
				queued[e.Turn] = said
			} else if !slices.Contains(own, said) {
				b.add(elemSaid, "", said)
			}
		case "text", "thought":
			var e block
			r.into(t, &e)
			b.add(map[string]elementKind{"text": elemText, "thought": elemThought}[r.Kind], "", e.Text)
		case "call":
			var e struct{ ID, State string }
			r.into(t, &e)
			b.call(e.ID, stagesOf[e.State])
		}
	}
	return b.list
}

// board lists the elements that a client shows, in the form in which all clients are compared.
type board struct {
	list []element
	at   map[string]int // where calls are in the list
}

func (b *board) add(kind elementKind, id, text string) {
	if n := len(b.list); n > 0 && b.list[n-1].kind == kind && (kind == elemText || kind == elemThought) {
		b.list[n-1].text += text
		return
	}
	b.list = append(b.list, element{kind, id, text})
}

// call shows a call at its beginning, with the stage that it has reached: a history tells only the end, and not all
// clients are told that a call waits for an answer.
func (b *board) call(id string, stage int) {
	if stage == 1 {
		return
	}
	name := []string{"begins", "", "runs", "has ended"}[stage]
	if i, ok := b.at[id]; ok {
		b.list[i].text = name
		return
	}
	if b.at == nil {
		b.at = map[string]int{}
	}
	b.at[id] = len(b.list)
	b.add(elemState, id, name)
}

// sameAs compares what clients show.
func sameAs(t testing.TB, who string, got, want []element) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i < len(got) && i < len(want) && got[i] == want[i] {
			continue
		}
		at := func(list []element) string {
			if i < len(list) {
				return list[i].String()
			}
			return "nothing"
		}
		t.Errorf("%s shows %d things and the log has %d; number %d is %s, want %s", who, len(got), len(want), i, at(got), at(want))
		t.Logf("it shows %v\nthe log has %v", got[max(0, min(i-3, len(got))):min(len(got), i+12)], want[max(0, min(i-3, len(want))):min(len(want), i+12)])
		return
	}
}

// reached reports whether as much is shown as is wanted.
func reached(got, want []element) bool {
	n := len(want)
	if len(got) == n {
		for i := range n {
			if want[i].kind == elemState && got[i].kind == elemState && got[i] != want[i] { // the call goes on
				return false
			}
		}
	}
	return len(got) > n || len(got) == n && (n == 0 || len(got[n-1].text) >= len(want[n-1].text))
}

// shown lists the elements of a session that an editor has shown.
func (v *view) shown() []element {
	var b board
	for _, e := range v.seen {
		switch e.kind {
		case elemState:
			b.call(e.id, stages[e.text])
		case elemFact, elemCall:
		default:
			b.add(e.kind, e.id, e.text)
		}
	}
	return b.list
}
