package main

import (
	"bytes"
	"fmt"
)

// bar and point are values of charts.
type (
	bar struct {
		name  string
		value float64
	}
	point struct{ x, y float64 }
)

// charts are what the picture shows.
type charts struct {
	latency, cpu, sessions []bar
	idle, history          []point
}

// style follows the reader's choice of light or dark.
const style = `<style>
:root{color-scheme:light dark}
text{font:13px system-ui,sans-serif;fill:#24292f}
.title{font-weight:600;font-size:14px}
.bar{fill:#0969da}.line{fill:none;stroke:#0969da;stroke-width:2}.dot{fill:#0969da}.axis{stroke:#8c959f;stroke-width:1}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar,.dot{fill:#58a6ff}.line{stroke:#58a6ff}.axis{stroke:#6e7681}}
</style>
`

// svg draws the charts below one another, bars on the left and lines on the right.
func (c *charts) svg() []byte {
	var s bytes.Buffer
	const width, left, right = 960, 20, 500
	y := 30
	y = max(bars(&s, left, y, "Latency of text, p50, ms", c.latency), bars(&s, right, y, "Processor time of a chunk, µs", c.cpu)) + 30
	below := bars(&s, left, y, "Memory of each of 1,000 sessions, KiB", c.sessions)
	y = max(below, lines(&s, right, y, "Resident memory, MiB, by idle sessions", c.idle)) + 30
	y = lines(&s, left, y, "Memory beyond that of an empty session, MiB, by events of a session", c.history)
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Latency, processor time and memory">`+"\n", width, y)
	return append(append([]byte(head+style), s.Bytes()...), "</svg>\n"...)
}

// bars draws one bar for each value, and returns where it ends.
func bars(s *bytes.Buffer, x, y int, title string, list []bar) int {
	const names, long, row = 120, 240, 24
	fmt.Fprintf(s, `<text class="title" x="%d" y="%d">%s</text>`+"\n", x, y, title)
	most := 0.0
	for _, b := range list {
		most = max(most, b.value)
	}
	for _, b := range list {
		y += row
		w := long * b.value / max(most, 1e-9)
		fmt.Fprintf(s, `<text x="%d" y="%d">%s</text><rect class="bar" x="%d" y="%d" width="%.1f" height="14" rx="2"/><text x="%.0f" y="%d">%s</text>`+"\n",
			x, y, b.name, x+names, y-11, w, float64(x+names)+w+6, y, number(b.value))
	}
	return y
}

// lines draws a line through points, with both axes from zero, and returns where it ends.
func lines(s *bytes.Buffer, x, y int, title string, list []point) int {
	const wide, high, margin = 340, 130, 40
	fmt.Fprintf(s, `<text class="title" x="%d" y="%d">%s</text>`+"\n", x, y, title)
	y += 20
	var mostX, mostY float64
	for _, p := range list {
		mostX, mostY = max(mostX, p.x), max(mostY, p.y)
	}
	at := func(p point) (float64, float64) {
		return float64(x+margin) + wide*p.x/max(mostX, 1e-9), float64(y) + high*(1-p.y/max(mostY, 1e-9))
	}
	fmt.Fprintf(s, `<path class="axis" fill="none" d="M%d %dv%dh%d"/>`+"\n", x+margin, y, high, wide)
	fmt.Fprintf(s, `<text x="%d" y="%d" text-anchor="end">%s</text><text x="%d" y="%d" text-anchor="end">0</text><text x="%d" y="%d" text-anchor="end">%.0f</text>`+"\n",
		x+margin-6, y+5, number(mostY), x+margin-6, y+high, x+margin+wide, y+high+18, mostX)
	var path bytes.Buffer
	for i, p := range list {
		px, py := at(p)
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], px, py)
		fmt.Fprintf(s, `<circle class="dot" cx="%.1f" cy="%.1f" r="3"/>`, px, py)
	}
	fmt.Fprintf(s, `<path class="line" d="%s"/>`+"\n", path.Bytes())
	return y + high + 20
}
