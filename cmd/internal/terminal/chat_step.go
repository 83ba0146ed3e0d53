package terminal

import (
	"context"
	"errors"
	"time"

	"dragoman/core"
)

// step shows what has come, hears what was typed, and waits if there was neither.
func (c *chat) step(ctx context.Context) error {
	took := false
	if c.sending == nil { // a prompt's fate comes before its turn
		var err error
		if took, err = c.take(ctx); err != nil {
			return err
		}
	}
	if c.leaving && c.running == "" {
		return errLeft
	}
	c.present()
	if err := c.put(); err != nil {
		return err
	}
	heard, err := c.hear(ctx)
	if err != nil {
		return err
	}
	if took || heard {
		return nil
	}
	return c.wait(ctx)
}

// take shows the next records, and reports whether there were any.
func (c *chat) take(ctx context.Context) (bool, error) {
	at := c.reader.Pos()
	recs, err := c.reader.Take(ctx)
	if errors.Is(err, core.ErrClosed) {
		return true, c.again(ctx)
	}
	if err != nil {
		return false, err
	}
	c.progress.took(recs, time.Now())
	for _, r := range recs {
		if err := c.record(ctx, r); err != nil {
			return true, err
		}
		if c.reader.Pos().Before(at) { // another session was entered
			break
		}
	}
	return len(recs) > 0 || c.reader.Pos() != at, c.screen.flush()
}

// record shows a record, and notes what it changes.
func (c *chat) record(ctx context.Context, r core.Record) error {
	switch e := any(r.Event).(type) {
	case core.TurnStarted:
		c.began(e)
	case core.PromptQueued:
		c.queued(e)
	case core.Steered:
		c.steered(e)
	case core.Asked:
		c.wants(e.Ask)
	case core.Answered:
		c.answered(e)
	case core.Moved:
		c.moved = e
	case core.UsageChanged:
		if e.Turn == c.running {
			c.usage = c.usage.Add(e.Last)
		}
	}
	c.screen.record(r)
	if e, ok := r.Event.(core.TurnEnded); ok {
		return c.ended(ctx, e)
	}
	return nil
}

// hear takes the next line, for whatever it is for, and reports whether there was one.
func (c *chat) hear(ctx context.Context) (bool, error) {
	gen, label := 0, promptLabel
	switch {
	case c.question != nil:
		gen, label = c.question.gen, c.question.choices
	case c.options.ReadOnly || c.leaving:
		if c.in.end() && c.in.term != nil && !c.leaving {
			return false, errLeft
		}
		c.in.forget()
		c.in.lost()
		return false, nil
	case c.sending != nil, c.busy() && !(c.options.Attach && c.tty):
		c.endPrompt() // what is typed is kept for the next prompt
		return false, nil
	default:
		c.beginPrompt()
		if c.running != "" && c.live {
			label = signOf(c.progress.frame) + " " + promptLabel
		}
	}
	line, ok, err := c.line(ctx, label, gen)
	switch {
	case c.question != nil && c.options.Attach && !c.ours() && errors.Is(err, errEnded): // others may answer
		c.endQuestion(true)
		return true, c.part()
	case c.question != nil && (ok || errors.Is(err, errEnded)):
		return true, c.answer(ctx, line, ok)
	case errors.Is(err, errEnded):
		return true, c.part()
	case err != nil || !ok:
		return false, err
	}
	return true, c.prompt(ctx, line)
}

// lookGone is the time between two checks that the session is there.
const lookGone = 2 * time.Second

// gone returns a timer for the next check that the session is there; nil: it is not checked.
func (c *chat) gone(ctx context.Context) (next *time.Timer, err error) {
	if c.options.Gone == nil {
		return nil, nil
	}
	since := time.Since(c.looked)
	if since >= lookGone {
		if c.looked, since = time.Now(), 0; c.options.Gone(ctx, c.session.Meta().ID) {
			return nil, errDeleted
		}
	}
	return time.NewTimer(lookGone - since), nil
}

// wait waits until there may be something to do.
func (c *chat) wait(ctx context.Context) error {
	var (
		done  <-chan sent
		news  <-chan struct{}
		ticks <-chan time.Time
	)
	if c.sending != nil {
		done = c.sending.done
	} else {
		news = c.news
	}
	if c.running != "" || c.busy() {
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		ticks = t.C
	}
	look, err := c.gone(ctx)
	if err != nil {
		return err
	}
	var due <-chan time.Time
	if look != nil {
		defer look.Stop()
		due = look.C
	}
	for {
		select {
		case <-news:
			return nil
		case <-due:
			return nil
		case <-c.in.came:
			return nil
		case r := <-done:
			c.taken(r)
			return c.screen.flush()
		case <-c.in.stop:
			if c.busy() {
				c.stop()
			} else {
				c.putAside()
			}
			return nil
		case <-c.interrupts:
			return c.interrupt()
		case now := <-ticks:
			if c.tick(now) {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tick shows that a turn runs, and reports whether the line has to be shown again for that.
func (c *chat) tick(now time.Time) bool {
	if c.prompting || c.question != nil {
		c.progress.frame++
		return c.live && c.question == nil
	}
	c.showProgress(now)
	return false
}

// interrupt stops the turns of this chat, or leaves: if there are none, or at the second time.
func (c *chat) interrupt() error {
	if !c.busy() {
		return c.part()
	}
	if c.stops++; c.stops > 1 {
		return errLeft
	}
	c.stop()
	return nil
}

// part leaves, now or when the turns that would end with this process have ended.
func (c *chat) part() error {
	if c.running == "" || c.leaving || c.options.Hosts == nil || !c.options.Hosts(c.session.Meta().ID) {
		return errLeft
	}
	c.leaving = true
	c.endPrompt()
	if q := c.question; q != nil {
		c.endQuestion(true)
		c.wants(q.Ask)
	}
	c.screen.line(c.screen.Warm("This process runs " + c.whose("the turn", "'s turn") + ", and leaves when it has ended. Ctrl-C ends both."))
	return c.screen.flush()
}
