package terminal

import (
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/display"
)

// turn prompts and shows the events until the turn has ended. The first interrupt stops the
// turn, a second one the chat. Esc only stops the turn.
func (c *chat) turn(ctx context.Context, line inputLine, interrupts <-chan os.Signal) error {
	ctx, end := context.WithCancelCause(ctx)
	prompted, stop := context.WithCancelCause(ctx)
	over := make(chan struct{})
	c.in.unstop()
	var listening sync.WaitGroup
	listening.Go(func() {
		for n := 0; ; {
			select {
			case <-interrupts:
				if n++; n > 1 {
					end(errLeft)
					return
				}
			case <-c.in.stop:
			case <-over:
				return
			}
			c.in.forget()
			stop(core.ErrCanceled)
		}
	})
	defer func() {
		close(over)
		listening.Wait()
		end(nil)
	}()
	c.progress, c.usage = progress{since: time.Now(), quiet: time.Now()}, core.Usage{}
	id, err := c.att.Prompt(prompted, core.Prompt{Blocks: c.attached(prompted, line)})
	if err != nil {
		c.failed = true
		c.screen.failure("The prompt was not taken: " + display.Line(err.Error(), 1000))
		return c.screen.flush()
	}
	var moved core.Moved
	for {
		recs, err := c.next(ctx)
		if err != nil {
			return err
		}
		var asks []core.Ask
		for _, r := range recs {
			c.screen.record(r)
			if e, ok := r.Event.(core.Asked); ok {
				asks = append(asks, e.Ask)
			}
			if e, ok := r.Event.(core.Moved); ok {
				moved = e
			}
			if e, ok := r.Event.(core.UsageChanged); ok && e.Turn == id {
				c.usage = c.usage.Add(e.Last)
			}
			if e, ok := r.Event.(core.TurnEnded); ok && e.Turn == id {
				c.showUsage()
				c.failed = c.failed || e.Stop == core.StopError
				if err := c.screen.flush(); err != nil || moved.To == "" {
					return err
				}
				return c.move(ctx, moved)
			}
		}
		if err := c.screen.flush(); err != nil {
			return err
		}
		for _, a := range asks {
			if err := c.answer(prompted, a); err != nil {
				return err
			}
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
