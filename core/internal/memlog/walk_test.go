package memlog

import (
	"errors"
	"strings"
	"testing"

	"dragoman/core/internal/spans"
)

var errDisk = errors.New("disk failure")

// begin walks through stored records, and an error behind them.
func begin(w *Walk[event, string, piece, place], hidden spans.Set, err error, stored ...piece) (ended *bool) {
	ended = new(bool)
	w.Begin(&events, func(yield func(piece, error) bool) {
		defer func() { *ended = true }()
		for _, p := range stored {
			if !yield(p, nil) {
				return
			}
		}
		if err != nil {
			yield(piece{}, err)
		}
	}, func(p place) place {
		p.Seq, p.Off = hidden.Skip(p.Seq, p.Off)
		return p
	})
	return ended
}

func stored(seq, off uint64, ev event) piece { return piece{Epoch: 1, Seq: seq, Off: off, Event: ev} }

// A walk begins inside of a run, leaves out what is hidden and what the reader has, and ends with the store.
func TestWalk(t *testing.T) {
	var w Walk[event, string, piece, place]
	if !w.Ended() {
		t.Error("it has begun")
	}
	ended := begin(&w, spans.Set{{From: 4, To: 6}}, nil,
		stored(2, 0, atom("had")), stored(3, 0, delta("t", "abc")), stored(3, 3, delta("t", "d")), stored(4, 0, atom("hidden")),
		stored(5, 0, atom("hidden")), stored(6, 0, atom("hides")), stored(7, 0, atom("last")))
	recs, next, size, err := w.Read(nil, place{1, 3, 1})
	want(t, "walk", recs, "3.1 t:bc", "3.3 t:d", "7.0 last")
	if next != (place{1, 8, 0}) || size != 2+1+128 || err != nil || !w.Ended() || !*ended {
		t.Errorf("at %v, %d bytes, %v, ended %t", next, size, err, w.Ended())
	}
}

// A walk reads in batches, and can be ended in between.
func TestWalkBatches(t *testing.T) {
	var w Walk[event, string, piece, place]
	long := strings.Repeat("x", Batch-1)
	ended := begin(&w, nil, nil, stored(1, 0, delta("t", long)), stored(2, 0, atom("two")), stored(3, 0, atom("three")))
	recs, next, size, err := w.Read(nil, place{})
	if len(recs) != 2 || next != (place{1, 3, 0}) || size != len(long)+128 || err != nil || w.Ended() {
		t.Fatalf("%d records, at %v, %d bytes, %v", len(recs), next, size, err)
	}
	w.End()
	if !w.Ended() || !*ended {
		t.Error("it goes on")
	}
}

// What was read before an error is not lost, and the error comes with the next walk.
func TestWalkFails(t *testing.T) {
	for what, c := range map[string]struct {
		err  error
		then []piece
	}{"the store": {errDisk, nil}, "a gap": {nil, []piece{stored(9, 0, atom("far"))}}} {
		var w Walk[event, string, piece, place]
		begin(&w, nil, c.err, append([]piece{stored(1, 0, atom("one"))}, c.then...)...)
		recs, next, _, err := w.Read(nil, place{})
		want(t, what, recs, "1.0 one")
		if err != nil || !w.Ended() {
			t.Errorf("%s: %v, ended %t", what, err, w.Ended())
		}
		begin(&w, nil, c.err, c.then...)
		recs, at, _, err := w.Read(nil, next)
		if len(recs) != 0 || at != next || err == nil || !w.Ended() {
			t.Errorf("%s: %d records, at %v, %v", what, len(recs), at, err)
		}
	}
}
