package terminal

import (
	"bufio"
	"bytes"
	"context"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// maxEarlier limits the lines of the earlier conversation that are shown.
const maxEarlier = 40

// catchUp reads what there is in the session that was entered. It shows the last part of what was
// said to a person, and what waits for an answer. The reader goes on behind it.
func (c *chat) catchUp(ctx context.Context) error {
	last := &lastLines{most: maxEarlier}
	s := c.newScreen(bufio.NewWriter(last))
	if c.options.Attach {
		s.me = c.name()
	}
	open := map[core.CallID]core.Call{}
	for head := c.att.Head(); c.reader.Pos().Before(head); {
		at := c.reader.Pos()
		recs, err := c.reader.Take(ctx)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			c.follow(rec.Event)
			switch e := any(rec.Event).(type) {
			case core.CallChanged:
				open[e.Call.ID] = e.Call
				if e.Call.State.Ended() {
					delete(open, e.Call.ID)
				}
			case core.Truncated:
				clear(open)
			}
			s.earlier(rec)
		}
		if len(recs) == 0 && c.reader.Pos() == at {
			break
		}
	}
	s.start()
	if err := s.flush(); err != nil {
		return err
	}
	if c.tty {
		if last.left > 0 {
			c.screen.line(c.screen.Faint("… " + display.Counted(last.left, "earlier line") + "; /export FILE writes all of them"))
		}
		c.screen.start()
		c.screen.write(last.text())
		c.screen.lost()
	}
	for _, a := range c.att.Pending() {
		c.wants(a)
		if call, ok := open[a.Call]; ok && call.State == core.Awaiting {
			c.screen.call(call)
		}
	}
	return c.screen.flush()
}

// earlier shows a record of the past, shorter than a new one.
func (s *screen) earlier(r core.Record) {
	switch e := any(r.Event).(type) {
	case core.TurnStarted:
		s.said(s.speaker(e.Origin), e.Prompt)
	case core.Steered:
		s.said(s.speaker(e.Origin), e.Prompt)
	case core.TextDelta, core.PlanChanged, core.TurnEnded, core.Missing, core.Compacted:
		s.record(r)
	case core.CallChanged:
		if e.Call.State.Ended() {
			s.line(s.Faint(callLine(e.Call)))
		}
	}
}

// speaker returns the client of a prompt for a label; empty: it needs no name.
func (s *screen) speaker(o core.Origin) string {
	if s.me == "" || o.Client == s.me {
		return ""
	}
	return o.Client
}

// said shows a prompt, with the name of the client if there is one.
func (s *screen) said(who string, prompt []core.Block) {
	label := "> "
	if who != "" {
		label = display.Line(who, maxName) + ": "
	}
	for _, b := range prompt {
		if t, ok := b.(core.Text); ok {
			text, more := display.FirstLines(display.Printable(t.Text), 5)
			if more > 0 {
				text += "\n… " + display.Counted(more, "more line")
			}
			s.line(s.Strong(label) + strings.ReplaceAll(text, "\n", "\n  "))
		} else {
			text, _ := display.FirstLines(blockText(b), 1)
			s.line(s.Faint("  with " + display.Line(text, 100)))
		}
	}
}

// lastLines keeps the last lines that are written to it.
type lastLines struct {
	most  int
	left  int // lines that are no longer there
	lines [][]byte
}

// Write implements io.Writer.
func (l *lastLines) Write(b []byte) (int, error) {
	for part := range bytes.SplitAfterSeq(b, []byte("\n")) {
		if n := len(l.lines); n > 0 && !bytes.HasSuffix(l.lines[n-1], []byte("\n")) {
			l.lines[n-1] = append(l.lines[n-1], part...)
		} else if len(part) > 0 {
			l.lines = append(l.lines, bytes.Clone(part))
		}
	}
	if more := len(l.lines) - l.most; more > 0 {
		l.left += more
		l.lines = append([][]byte{}, l.lines[more:]...)
	}
	return len(b), nil
}

func (l *lastLines) text() string { return string(bytes.Join(l.lines, nil)) }
