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

// showEarlier shows the last part of what was said in the session before.
func (c *chat) showEarlier(ctx context.Context) error {
	if !c.tty || c.att.State().Messages == 0 {
		return nil
	}
	last := &lastLines{most: maxEarlier}
	s := c.newScreen(bufio.NewWriter(last))
	head := c.att.Head()
	r := c.att.Read(core.Pos{})
	defer r.Close()
	for r.Pos().Before(head) {
		recs, err := r.Next(ctx)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			s.earlier(rec)
		}
	}
	s.start()
	if err := s.flush(); err != nil {
		return err
	}
	if last.left > 0 {
		c.screen.line(c.screen.Faint("… " + display.Counted(last.left, "earlier line") + "; /export FILE writes all of them"))
	}
	c.screen.start()
	c.screen.write(last.text())
	c.screen.mid = false
	return c.screen.flush()
}

// earlier shows a record of the past, shorter than a new one.
func (s *screen) earlier(r core.Record) {
	switch e := any(r.Event).(type) {
	case core.TurnStarted:
		s.said(e.Prompt)
	case core.Steered:
		s.said(e.Prompt)
	case core.TextDelta, core.PlanChanged, core.TurnEnded, core.Missing:
		s.record(r)
	case core.CallChanged:
		if e.Call.State.Ended() {
			s.line(s.Faint(callLine(e.Call)))
		}
	}
}

// said shows a prompt of the user.
func (s *screen) said(prompt []core.Block) {
	for _, b := range prompt {
		if t, ok := b.(core.Text); ok {
			text, more := display.FirstLines(display.Printable(t.Text), 5)
			if more > 0 {
				text += "\n… " + display.Counted(more, "more line")
			}
			s.line(s.Strong("> ") + strings.ReplaceAll(text, "\n", "\n  "))
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
