package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// long are sessions with a long history.
func (b *bench) long() {
	const turns = 2500 // of four events
	home, work := b.home("")
	c := b.start(b.serving("acp"), home, work)
	id, fresh := c.begin(), c.begin()
	_, before := memoryOf(c.pid())
	for n := range turns {
		c.turn(id, small)
		if n == 2 || n == 24 || n == 249 || n == turns-1 {
			_, anonymous := memoryOf(c.pid())
			b.charts.history = append(b.charts.history, point{float64(4 * (n + 1)), (anonymous - before) / 1024})
		}
	}
	c.turn(fresh, small)
	c.turn(fresh, small)
	var figures [2]struct{ turn, post, net sample }
	for range rounds * 8 {
		for i, id := range []string{fresh, id} {
			_, all := c.turn(id, small)
			post := b.post(b.model.lastRequest())
			f := &figures[i]
			f.turn.took(all)
			f.post.took(post)
			f.net.took(all - post)
		}
	}
	b.stop(c)
	rows := [][]string{row("", "turn, ms", "the same request alone", "net", "ratio")}
	for i, name := range []string{"10 events", "10,000 events"} {
		f := &figures[i]
		rows = append(rows, row(name, f.turn.both(), f.post.both(), f.net.both(), times(f.net.median(), figures[0].net.median())))
	}
	b.heading("Long sessions", "Turns in ACP at the end of a short and a long history (n = 16), beside the model's request alone, and the history loaded by another process (n = 9).")
	b.table(rows...)

	loads := [][]string{row("", "load of 10,000 events, ms", "first turn after it", "× load", "next turn")}
	var took, first, next [2]sample
	for range 9 {
		for i, protocol := range []string{"acp", "eca"} {
			c := b.start(b.serving(protocol), home, work)
			began := time.Now()
			if protocol == "acp" {
				c.ask("session/load", object{"sessionId": id, "cwd": work, "mcpServers": []any{}})
			} else {
				c.ask("chat/open", object{"chatId": id})
			}
			took[i].took(time.Since(began))
			_, all := c.turn(id, small)
			first[i].took(all)
			_, all = c.turn(id, small)
			next[i].took(all)
			b.stop(c)
		}
	}
	for i, protocol := range []string{"acp", "eca"} {
		loads = append(loads, row(protocol, took[i].both(), first[i].both(), times(first[i].median(), took[i].median()), next[i].both()))
	}
	b.table(loads...)
}

// post sends a request to the model, and returns how long the whole answer took.
func (b *bench) post(body []byte) time.Duration {
	began := time.Now()
	resp, err := http.Post(b.model.api()+"/chat/completions", "application/json", bytes.NewReader(body))
	check(err)
	_, err = io.Copy(io.Discard, resp.Body)
	check(err)
	check(resp.Body.Close())
	return time.Since(began)
}

// together runs a turn in each session, so many at once.
func (c *client) together(ids []string, atOnce int, text string) {
	for len(ids) > 0 {
		n := min(atOnce, len(ids))
		var all []object
		for _, id := range ids[:n] {
			all = append(all, c.prompting(id, text))
		}
		c.send(all...)
		c.read(n, nil)
		ids = ids[n:]
	}
}

// sessions is the memory of many sessions in one process.
func (b *bench) sessions() {
	const many, rate, chunks, rest = 1000, 50, 100, 11 * time.Second
	rows := [][]string{row("", "idle, KiB each", "after a turn", "streaming", "CPU of a chunk, µs")}
	for _, p := range []program{b.limit, b.serving("acp")} {
		home, work := b.home("")
		c := b.start(p, home, work)
		c.turn(c.begin(), small)
		base, _ := memoryOf(c.pid())
		each := func() float64 { now, _ := memoryOf(c.pid()); return (now - base) / many }
		var ids []string
		chart := func(to *[]point) {
			now, _ := memoryOf(c.pid())
			if p.name != "limit" {
				*to = append(*to, point{float64(len(ids)), now / 1024})
			}
		}
		chart(&b.charts.idle)
		for range 10 {
			for range many / 10 {
				ids = append(ids, c.begin())
			}
			chart(&b.charts.idle)
		}
		time.Sleep(rest)
		idle := each()
		c.together(ids, 50, small)
		time.Sleep(rest)
		turned := each()
		var peak float64
		done, sampled := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(sampled)
			for {
				select {
				case <-time.After(50 * time.Millisecond):
					peak = max(peak, each())
				case <-done:
					return
				}
			}
		}()
		before := cpuOf(c.pid())
		c.together(ids, many, fmt.Sprintf("flood %d %d 24", chunks, rate))
		used := cpuOf(c.pid()) - before
		close(done)
		<-sampled
		b.stop(c)
		rows = append(rows, row(p.name, number(idle), number(turned), number(peak), number(float64(used.Nanoseconds())/1000/many/chunks)))
		if p.name != "limit" {
			b.charts.sessions = []bar{{"idle", idle}, {"after a turn", turned}, {"streaming", peak}}
		}
	}
	b.heading("1,000 sessions", fmt.Sprintf("Resident memory of a process beyond that with one session, for each of %d sessions: new, after a turn each, both after eleven seconds of rest, and at the most while all of them stream %d chunks a second.", many, rate))
	b.table(rows...)
}

// list is the list of sessions among many.
func (b *bench) list() {
	const many = 10_000
	home, work := b.home("")
	c := b.start(b.serving("acp"), home, work)
	const atOnce = 50
	for range many / atOnce {
		var requests []object
		for range atOnce {
			requests = append(requests, c.request("session/new", object{"cwd": work, "mcpServers": []any{}}))
		}
		c.send(requests...)
		var ids []string
		for _, result := range c.answers(requests) {
			ids = append(ids, sessionOf(result))
		}
		c.together(ids, atOnce, small)
		requests = nil
		for _, id := range ids { // each has files open while it is in use
			requests = append(requests, c.request("session/close", object{"sessionId": id}))
		}
		c.send(requests...)
		c.answers(requests)
	}
	b.stop(c)
	var first, later sample
	page := 0
	for range 9 {
		c := b.start(b.serving("acp"), home, work)
		for i := range 3 {
			began := time.Now()
			var res struct{ Sessions []json.RawMessage }
			check(json.Unmarshal(c.ask("session/list", object{}), &res))
			if page = len(res.Sessions); i == 0 {
				first.took(time.Since(began))
			} else {
				later.took(time.Since(began))
			}
		}
		b.stop(c)
	}
	b.heading("Lists", fmt.Sprintf("`session/list` among %d sessions with a turn each, in ms: the first page of a process, and later ones (n = 9 and 18).", many))
	b.table(row("", "first", "later"), row(fmt.Sprintf("%d of %d", page, many), first.both(), later.both()))
}
