package pump

import (
	"bytes"
	"context"
	"time"
)

// What a client gets that may put what it reads into a queue of its own, and end the connection when that
// is full (acp-go-sdk: 1,024 messages). It reads all the time, so the pipe does not show how far it is.
const (
	// Gathering is the Pace of such a client's text, above calmTexts pieces a second.
	Gathering = 12 * time.Millisecond
	calmTexts = 200
	// calmBurst is the number of pieces that may come at once.
	calmBurst = 20
	// pastBurst is the number of messages about the past that are written at once, pastSlice at a time.
	// Before each further one there is a pause: 2,000 a second, and fewer where pauses last longer, because
	// there the client's work does, too. They count together until there were none for pastOver.
	pastBurst = 800
	pastSlice = 20
	pastPause = 500 * time.Microsecond
	pastOver  = 2 * time.Second
)

// calm measures whether text comes slowly.
type calm struct {
	over float64 // pieces that were more than calmTexts allows
	at   time.Time
}

// passes notes n pieces, and reports whether they are few enough.
func (c *calm) passes(n int) bool {
	now := time.Now()
	c.over = max(c.over-calmTexts*now.Sub(c.at).Seconds(), 0) + float64(n)
	c.at = now
	few := c.over <= calmBurst
	c.over = min(c.over, calmBurst+4) // when it is slow again, that shows soon
	return few
}

// past counts the messages about the past.
type past struct {
	n    int
	last time.Time
}

// wrote notes messages.
func (p *past) wrote(n int) { p.n, p.last = p.n+n, time.Now() }

// full reports whether there is to be a pause before the next message.
func (p *past) full() bool {
	if p.n >= pastBurst && time.Since(p.last) > pastOver {
		p.n = 0
	}
	return p.n >= pastBurst
}

// enough reports whether encoded messages are to be written before there are more.
func (p *past) enough(lines []byte) bool {
	n := bytes.Count(lines, []byte("\n"))
	return len(lines) > room || n >= pastSlice || n > 0 && p.n+n >= pastBurst
}

// pause waits before the next message about the past, if there is one to be written.
func (p *Pump) pause(ctx context.Context) error {
	if !p.past.full() {
		return nil
	}
	t := time.NewTimer(pastPause)
	defer t.Stop()
	select {
	case <-t.C:
		p.past.n, p.past.last = pastBurst-1, time.Now()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// putPast writes messages about the past, with pauses if they are many.
func (p *Pump) putPast(lines []byte) {
	for len(lines) > 0 && p.err == nil {
		if err := p.pause(context.Background()); err != nil {
			return
		}
		end, n := 0, 0
		for end < len(lines) && p.past.n+n < pastBurst {
			end += bytes.IndexByte(lines[end:], '\n') + 1
			n++
		}
		p.put(lines[:end])
		p.past.wrote(n)
		lines = lines[end:]
	}
}

// PutPart writes messages before a feed's Encode returns, which has many for one record. It waits for a
// client that does not read.
func (p *Pump) PutPart(ctx context.Context, lines []byte) error {
	if p.Queues {
		p.putPast(lines)
	} else {
		p.put(lines)
	}
	if p.err != nil {
		return p.err
	}
	return p.out.Room(ctx, room)
}
