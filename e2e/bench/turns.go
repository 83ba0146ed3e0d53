package main

import (
	"time"
)

const rounds = 2

// small is a small turn: one chunk.
const small = "flood 1 0 20"

// starts is from the start of a process to its first answer, fifteen times a round.
func (b *bench) starts() {
	home, work := b.home("")
	subjects := []program{b.bare, b.limit, b.serving("acp"), b.serving("eca"), b.serving("mcp")}
	took, resident, anonymous := make([]sample, len(subjects)), make([]sample, len(subjects)), make([]sample, len(subjects))
	for range rounds * 15 {
		for i, p := range subjects {
			c := b.start(p, home, work)
			took[i].took(c.answered.Sub(c.began))
			r, a := memoryOf(c.pid())
			resident[i], anonymous[i] = append(resident[i], r/1024), append(anonymous[i], a/1024)
			b.stop(c)
		}
	}
	rows := [][]string{row("", "ms", "× bare", "resident, MiB", "× bare", "anonymous, MiB")}
	for i, p := range subjects {
		rows = append(rows, row(
			p.name, took[i].both(), times(took[i].least(), took[0].least()),
			number(resident[i].median()), times(resident[i].median(), resident[0].median()), number(anonymous[i].median()),
		))
	}
	b.heading("Start", "From the start of the process to the answer to `initialize` (n = 30), and the memory then.")
	b.table(rows...)
}

// turns are small turns, and the sessions that they begin.
func (b *bench) turns() {
	home, work := b.home("")
	subjects := []program{b.limit, b.serving("acp"), b.serving("eca"), b.serving("mcp")}
	type figures struct{ newFirst, newLater, first, later, cpu sample }
	all := make([]figures, len(subjects))
	const few, many = 5, 20
	for range rounds * 8 {
		for i, p := range subjects {
			c, f := b.start(p, home, work), &all[i]
			begin := func() (id string, d time.Duration) {
				began := time.Now()
				id = c.begin()
				return id, time.Since(began)
			}
			id, d := begin()
			f.newFirst.took(d)
			for range few {
				_, d := begin()
				f.newLater.took(d)
			}
			first, _ := c.turn(id, small)
			f.first.took(first)
			for range few {
				first, _ := c.turn(id, small)
				f.later.took(first)
			}
			before := cpuOf(c.pid())
			for range many {
				c.turn(id, small)
			}
			f.cpu.took((cpuOf(c.pid()) - before) / many)
			b.stop(c)
		}
	}
	limit := &all[0]
	rows := [][]string{row("", "session/new, first", "later", "first text, first turn", "× limit", "later turn", "× limit", "CPU of a turn", "× limit")}
	for i, p := range subjects {
		f := &all[i]
		if p.speaks != "acp" {
			f.newFirst, f.newLater = nil, nil // there is no such request
		}
		rows = append(rows, row(
			p.name, f.newFirst.both(), f.newLater.both(),
			f.first.both(), times(f.first.median(), limit.first.median()), f.later.both(), times(f.later.median(), limit.later.median()),
			f.cpu.both(), times(f.cpu.least(), limit.cpu.least()),
		))
	}
	b.heading("Small turns", "In ms: a new session, from a prompt to the first text of the answer, which for MCP is the result (n = 16 for first ones, 80 for later ones), and the processor time of a turn (16 × 20 turns). The prompt is on the disk by then.")
	b.table(rows...)
}
