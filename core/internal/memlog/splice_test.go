package memlog

import "testing"

func TestSplice(t *testing.T) {
	run := func(seq, off uint64, text string) piece {
		return piece{Epoch: 1, Seq: seq, Off: off, Event: delta("t", text)}
	}
	one := func(seq uint64) piece { return piece{Epoch: 1, Seq: seq, Event: atom("x")} }
	three := piece{Epoch: 1, Seq: 2, Event: event{text: "lost", span: 3}}
	for _, c := range []struct {
		name string
		at   place
		r    piece
		want string // "": nothing of it
		next place
		gap  bool
	}{
		{"the first one", place{}, one(1), "1.0 x", place{1, 2, 0}, false},
		{"the next one", place{1, 4, 0}, one(4), "4.0 x", place{1, 5, 0}, false},
		{"one that it has", place{1, 4, 0}, one(3), "", place{1, 4, 0}, false},
		{"one too far", place{1, 4, 0}, one(5), "", place{1, 4, 0}, true},
		{"a run", place{1, 4, 0}, run(4, 0, "abc"), "4.0 t:abc", place{1, 4, 3}, false},
		{"the rest of a run", place{1, 4, 2}, run(4, 0, "abc"), "4.2 t:c", place{1, 4, 3}, false},
		{"a later part of a run", place{1, 4, 2}, run(4, 2, "cd"), "4.2 t:cd", place{1, 4, 4}, false},
		{"a part that overlaps", place{1, 4, 2}, run(4, 1, "bcd"), "4.2 t:cd", place{1, 4, 4}, false},
		{"a part that it has", place{1, 4, 3}, run(4, 0, "abc"), "", place{1, 4, 3}, false},
		{"a part too far", place{1, 4, 2}, run(4, 3, "d"), "", place{1, 4, 2}, true},
		{"what follows a run", place{1, 4, 2}, one(5), "5.0 x", place{1, 6, 0}, false},
		{"what follows that", place{1, 4, 2}, one(6), "", place{1, 4, 2}, true},
		{"several in one", place{1, 2, 0}, three, "2.0 lost", place{1, 5, 0}, false},
		{"the last of several", place{1, 4, 0}, three, "4.0 lost", place{1, 5, 0}, false},
		{"several that it has", place{1, 5, 0}, three, "", place{1, 5, 0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, rest, ok, err := Splice(&events, c.at, c.r)
			if next != c.next || ok != (c.want != "") || (err != nil) != c.gap {
				t.Errorf("at %v, ok %v, %v", next, ok, err)
			}
			if ok && rest.String() != c.want {
				t.Errorf("it gets %q", rest)
			}
			if end := End(&events, rest); ok && end != next {
				t.Errorf("the rest ends at %v", end)
			}
		})
	}
}

// What is in front of a position is cut between characters.
func TestBefore(t *testing.T) {
	run := piece{Epoch: 1, Seq: 4, Off: 2, Event: delta("t", "aäb")}
	for _, c := range []struct {
		upto place
		r    piece
		want string
		ok   bool
	}{
		{place{1, 4, 2}, run, "", false},
		{place{1, 4, 3}, run, "a", true},
		{place{1, 4, 4}, run, "a", true},
		{place{1, 4, 5}, run, "aä", true},
		{place{1, 4, 99}, run, "aäb", true},
		{place{1, 5, 0}, run, "aäb", true},
		{place{1, 4, 0}, piece{Epoch: 1, Seq: 4, Event: atom("x")}, "", false},
		{place{1, 5, 0}, piece{Epoch: 1, Seq: 4, Event: atom("x")}, "x", true},
		{place{1, 5, 0}, piece{Epoch: 1, Event: atom("live")}, "", false},
	} {
		if ev, ok := Before(&events, c.r, c.upto); ev.text != c.want || ok != c.ok {
			t.Errorf("in front of %v: %q, %v", c.upto, ev.text, ok)
		}
	}
}
