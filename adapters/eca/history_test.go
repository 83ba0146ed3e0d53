package eca

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dragoman/adapters/eca/offer"
	"dragoman/core"
	"dragoman/core/coretest"
)

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		w        window
		total    int
		from, to int
	}{
		{window{-1, -1, -1}, 9, 0, 9},
		{window{3, -1, -1}, 9, 6, 9},
		{window{30, -1, -1}, 9, 0, 9},
		{window{3, 6, -1}, 9, 3, 6},
		{window{3, 2, -1}, 9, 0, 2},
		{window{3, 0, -1}, 9, 0, 0},
		{window{3, 99, -1}, 9, 6, 9},
		{window{3, -1, 2}, 9, 3, 6},
		{window{3, -1, 7}, 9, 8, 9},
		{window{3, -1, 99}, 9, 9, 9},
		{window{3, 8, 2}, 9, 5, 8},
		{window{-1, 8, 2}, 9, 3, 8},
		{window{-1, 2, 8}, 9, 9, 9},
		{window{3, -1, -1}, 0, 0, 0},
	} {
		if from, to := c.w.of(c.total); from != c.from || to != c.to {
			t.Errorf("%+v of %d: %d to %d, want %d to %d", c.w, c.total, from, to, c.from, c.to)
		}
	}
}

func TestCursor(t *testing.T) {
	for raw, want := range map[string]int{``: -1, `null`: -1, `""`: -1, ` "7" `: 7, `7`: 7, `0`: 0, `-1`: -2, `"x"`: -2, `{}`: -2, `7.5`: -2, `99999999999`: -2, `[7]`: -2} {
		got, err := cursor("before", json.RawMessage(raw))
		if err != nil {
			got = -2
		}
		if got != want {
			t.Errorf("%s: got %d, want %d", raw, got, want)
		}
	}
}

// The pages of a chat, read from either end, contain all of it.
func TestPagesAreTheWhole(t *testing.T) {
	records := coretest.Records(1, coretest.Samples()...)
	all, count := newPager(), 0
	for _, r := range records {
		all.item(r.Event)
	}
	want := linesOf(records, nil)
	for limit := 1; limit <= all.n+1; limit++ {
		var back, forth []string
		for before := all.n; before > 0; count++ {
			from, to := window{limit, before, -1}.of(all.n)
			back = append(back, linesOf(records, &page{pager: newPager(), from: from, to: to, total: all.n})...)
			before = from
		}
		for from, to := 0, min(limit, all.n); from < to; from, to = (window{limit, -1, to - 1}.of(all.n)) {
			forth = append(forth, linesOf(records, &page{pager: newPager(), from: from, to: to, total: all.n})...)
		}
		slices.Sort(back)
		slices.Sort(forth)
		if !slices.Equal(back, want) || !slices.Equal(forth, want) {
			t.Errorf("pages of %d: %d and %d lines, want %d", limit, len(back), len(forth), len(want))
		}
	}
	if count <= all.n {
		t.Errorf("%d pages in all", count)
	}
}

// linesOf returns the lines of a page, sorted.
func linesOf(records []core.Record, p *page) (list []string) {
	v := newView("c1", nil, "", offer.New(nil))
	for _, r := range records {
		lines := string(encode(nil, v, r))
		if p == nil || p.shows(r.Event) {
			list = append(list, slices.Collect(strings.Lines(lines))...)
		}
	}
	slices.Sort(list)
	return list
}

// Any window of a client is a valid part of the chat.
func FuzzWindow(f *testing.F) {
	f.Add(3.0, `"6"`, `null`, uint16(9))
	f.Add(-1.5, `7`, `"2"`, uint16(0))
	f.Fuzz(func(t *testing.T, limit float64, before, after string, total uint16) {
		w, _, err := windowOf(&limit, json.RawMessage(before), json.RawMessage(after))
		if err != nil {
			return
		}
		if from, to := w.of(int(total)); from < 0 || to < from || to > int(total) || w.limit > 0 && to-from > w.limit {
			t.Errorf("%+v of %d: %d to %d", w, total, from, to)
		}
	})
}
