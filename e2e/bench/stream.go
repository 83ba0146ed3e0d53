package main

import (
	"fmt"
	"time"
)

// stream is the processor time that passing text on takes.
func (b *bench) stream() {
	const chunks = 20_000
	home, work := b.home("")
	subjects := []program{b.limit, b.serving("acp"), b.serving("eca"), b.serving("mcp")}
	used, rate := make([]sample, len(subjects)), make([]sample, len(subjects))
	for range rounds {
		clients, ids := make([]*client, len(subjects)), make([]string, len(subjects))
		for i, p := range subjects {
			clients[i] = b.start(p, home, work)
			ids[i] = clients[i].begin()
			clients[i].turn(ids[i], small)
		}
		for range 5 {
			for i, c := range clients {
				before, began := cpuOf(c.pid()), time.Now()
				c.send(c.prompting(ids[i], fmt.Sprintf("flood %d 0 24", chunks)))
				c.read(1, nil)
				rate[i] = append(rate[i], chunks/time.Since(began).Seconds()/1000)
				used[i] = append(used[i], float64((cpuOf(c.pid())-before).Nanoseconds())/1000/chunks)
			}
		}
		for _, c := range clients {
			b.stop(c)
		}
	}
	rows := [][]string{row("", "CPU of a chunk, µs", "× limit", "1,000 chunks/s")}
	for i, p := range subjects {
		rows = append(rows, row(p.name, used[i].both(), times(used[i].least(), used[0].least()), number(rate[i].part(1))))
		b.charts.cpu = append(b.charts.cpu, bar{p.name, used[i].least()})
	}
	b.heading("Stream", fmt.Sprintf("Turns of %d chunks of 24 bytes, as fast as they come (n = 10). The rate is bounded by the model and the client, which share the machine.", chunks))
	b.table(rows...)
}

// latency is how long text takes from the model to the client.
func (b *bench) latency() {
	home, work := b.home("")
	subjects := []program{b.limit, b.serving("acp"), b.serving("eca")}
	speeds := []struct{ rate, chunks int }{{200, 200}, {2000, 1000}}
	half, most, used := map[string]*sample{}, map[string]*sample{}, map[string]*sample{}
	key := func(p program, rate int) string { return fmt.Sprint(p.name, rate) }
	for range rounds {
		clients, ids := make([]*client, len(subjects)), make([]string, len(subjects))
		for i, p := range subjects {
			clients[i] = b.start(p, home, work)
			ids[i] = clients[i].begin()
			clients[i].turn(ids[i], small)
		}
		for range 5 {
			for _, s := range speeds {
				for i, c := range clients {
					k := key(subjects[i], s.rate)
					if half[k] == nil {
						half[k], most[k], used[k] = &sample{}, &sample{}, &sample{}
					}
					before := cpuOf(c.pid())
					var turn sample
					for _, d := range c.delays(ids[i], fmt.Sprintf("flood %d %d 24", s.chunks, s.rate)) {
						turn.took(d)
					}
					if len(turn) != s.chunks {
						check(fmt.Errorf("%s: %d of %d chunks came", c.name, len(turn), s.chunks))
					}
					*used[k] = append(*used[k], float64((cpuOf(c.pid())-before).Nanoseconds())/1000/float64(s.chunks))
					*half[k], *most[k] = append(*half[k], turn.median()), append(*most[k], turn.part(0.99))
				}
			}
		}
		for _, c := range clients {
			b.stop(c)
		}
	}
	rows := [][]string{row("", "chunks/s", "p50, ms", "× limit", "p99, ms", "× limit", "CPU of a chunk, µs")}
	for _, s := range speeds {
		limit := key(b.limit, s.rate)
		for _, p := range subjects {
			k := key(p, s.rate)
			rows = append(rows, row(
				p.name, fmt.Sprint(s.rate), number(half[k].median()), times(half[k].median(), half[limit].median()),
				number(most[k].median()), times(most[k].median(), most[limit].median()), number(used[k].least()),
			))
			b.charts.latency = append(b.charts.latency, bar{fmt.Sprintf("%s, %d/s", p.name, s.rate), half[k].median()})
		}
	}
	b.heading("Latency of text", "From the model's writing to the client's reading: the medians of ten turns' p50 and p99.")
	b.table(rows...)
}
