package terminal

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/display"
)

// sending is a prompt on its way.
type sending struct {
	line   inputLine
	before core.TurnID // the turn that ran before; empty: none
	stop   context.CancelCauseFunc
	done   chan sent // holds the one result
}

// sent is the result of a prompt.
type sent struct {
	turn  core.TurnID
	names []string // of the files that go with it
	err   error
}

// send prompts. The context of the prompt lasts until its turn has ended.
func (c *chat) send(ctx context.Context, line inputLine) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	s := &sending{line: line, before: c.att.State().Turn, stop: stop, done: make(chan sent, 1)}
	busy := core.BusyQueue
	if s.before != "" && c.tty { // over a pipe each line has a turn of its own
		busy = core.BusySteer
	}
	c.in.unstop()
	if len(c.own) == 0 {
		c.stops = 0
	}
	if c.running == "" {
		c.quiet()
	}
	c.sending = s
	att := c.att
	c.work.Go(func() {
		blocks, names := c.attached(ctx, line)
		id, err := att.Prompt(ctx, core.Prompt{Blocks: blocks, Busy: busy})
		s.done <- sent{id, names, err}
	})
}

// quiet begins to measure the time in which nothing is shown.
func (c *chat) quiet() {
	c.progress, c.usage = progress{since: time.Now(), quiet: time.Now()}, core.Usage{}
}

// taken shows the fate of a prompt.
func (c *chat) taken(r sent) {
	s := c.sending
	c.sending = nil
	if len(r.names) > 0 {
		c.screen.line(c.screen.Faint("with " + strings.Join(r.names, ", ")))
	}
	switch {
	case r.err != nil:
		s.stop(nil)
		c.failed = true
		c.screen.failure("The prompt was not taken: " + display.Line(r.err.Error(), 1000))
	case s.before != "" && r.turn == s.before:
		s.stop(nil)
		c.steers = append(c.steers, s.line)
		c.screen.line(c.screen.Faint("Sent to the turn that runs."))
	default:
		c.own[r.turn] = s.stop
		if slices.Contains(c.att.State().Queued, r.turn) {
			c.waiting[r.turn] = true
			c.screen.line(c.screen.Faint("Queued: it begins when " + c.whose("the turn that runs", "'s turn") + " has ended."))
		}
	}
}

// stop stops the turns that this chat has prompted.
func (c *chat) stop() {
	c.in.forget()
	if q := c.question; q != nil && c.ours() {
		c.endQuestion(false)
	}
	if c.sending != nil {
		c.sending.stop(core.ErrCanceled)
	}
	for _, stop := range c.own {
		stop(core.ErrCanceled)
	}
}

// busy reports whether this chat waits for a turn of its own.
func (c *chat) busy() bool { return c.sending != nil || len(c.own) > 0 }

// ours reports whether this chat has prompted the turn that runs.
func (c *chat) ours() bool {
	_, own := c.own[c.running]
	return own
}

// ended notes the end of a turn.
func (c *chat) ended(ctx context.Context, e core.TurnEnded) error {
	stop, own := c.own[e.Turn]
	if own {
		stop(nil)
		delete(c.own, e.Turn)
		delete(c.waiting, e.Turn)
		c.failed = c.failed || e.Stop == core.StopError
	}
	if e.Turn != c.running {
		return nil
	}
	c.running = ""
	c.showUsage()
	c.unsteered(e.Stop)
	moved := c.moved
	c.moved = core.Moved{}
	switch {
	case moved.To == "":
	case own:
		return c.move(ctx, moved)
	default:
		c.screen.line(c.screen.Faint(display.Line(c.by, maxName) + " goes on in another session: " + display.Line(moved.Title, 60) + " (" + string(moved.To) + ")"))
	}
	return nil
}

// unsteered sends the messages that a turn has not taken up as prompts, unless it was stopped.
func (c *chat) unsteered(stop core.StopReason) {
	lines := c.steers
	c.steers = nil
	switch {
	case len(lines) == 0:
	case stop == core.StopCanceled || stop == core.StopInterrupted:
		c.screen.line(c.screen.Warm("The turn ended before it took this up, which was not sent: " + heads(lines)))
	default:
		c.screen.line(c.screen.Faint("The turn ended before it took this up, which is sent again: " + heads(lines)))
		for _, l := range lines {
			c.in.later(l)
		}
	}
}

// showUsage shows the tokens and the price of the turn that has ended.
func (c *chat) showUsage() {
	if !c.tty || c.usage == (core.Usage{}) {
		return
	}
	text := usageText(c.usage)
	if st := c.att.State(); st.Window > 0 {
		text += ", context " + strconv.Itoa(min(100*st.Context/st.Window, 100)) + "% full"
	}
	c.screen.line(c.screen.Faint(text))
}
