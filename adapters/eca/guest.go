package eca

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// Agents behind the gateway have models, modes and levels of thought of their own (package offer).
// They are known only once the agent has run in the session.

const (
	// staying is the time after which an agent that was chosen is asked for its options: users pass
	// agents on their way through the list, and each of them would be a program to start.
	staying = time.Second
	// pickFor limits the time for an agent to agree to a choice: the chat's next request waits for it.
	pickFor = 10 * time.Second
)

var errSlow = errors.New("the agent has not answered within " + pickFor.String())

// fixed reports whether a client must not offer to go back to messages, because the agent of the
// chat cannot, or never ran.
func (s *Server) fixed(o *offer.Offer, st offer.State) bool {
	a, ok := o.Agent(st.Agent)
	return ok && a.External && !s.row().Rewinds && !s.opts.Gateway.Known(a, core.CanRewind)
}

// Clients keep one list of models and one of agents for all chats. So the lists of a chat are
// announced again when a turn begins in it and the last ones were those of an agent of another chat.

// listed notes which lists the client has. It belongs to the pump.
func (f *feed) listed() {
	if f.view.config != nil {
		f.chat.srv.listed, f.view.config = f.view.config, nil
	}
}

// relist returns a function that announces the lists of the chat; nil: the client has them.
func (f *feed) relist() func() {
	s, now := f.chat.srv, f.view.offer.Config(f.view.state)
	if !f.view.live || f.chat.child || s.listed == nil || slices.Equal(s.listed.Models, now.Models) && slices.Equal(s.listed.Agents, now.Agents) {
		return nil
	}
	return func() { s.configUpdated(f.chat.id, now) }
}

// pick has the agent change options of its own. It blocks until the agent has agreed. told are its
// errors, for the user.
func (c *chat) pick(ctx context.Context, att *core.Attachment, picks []offer.Pick) (told []string) {
	for _, p := range picks {
		in, stop := context.WithTimeoutCause(ctx, pickFor, errSlow)
		err := c.srv.opts.Gateway.Choose(in, att, p.ID, p.Value)
		if err != nil && errors.Is(context.Cause(in), errSlow) {
			err = fmt.Errorf("set option %s: %w", p.ID, errSlow)
		}
		stop()
		if err != nil && ctx.Err() == nil {
			told = append(told, "The choice was not taken: "+plain(err))
		}
	}
	return told
}

// prepareSoon starts the agent of a chat in the background if its options are not known and it is
// still the chosen one after a while. It belongs to the queue.
func (c *chat) prepareSoon(ctx context.Context, o *offer.Offer, st offer.State) {
	c.asking++
	if _, unasked := o.Unasked(st); !unasked {
		return
	}
	mine := c.asking
	c.srv.wg.Go(func() {
		t := time.NewTimer(staying)
		defer t.Stop()
		select {
		case <-t.C:
			c.queue.Go(func() {
				if c.asking == mine {
					c.prepare(ctx, o)
				}
			})
		case <-ctx.Done():
		}
	})
}

// prepare starts the agent of a chat; a chat that has not begun gets its session for that. It
// belongs to the queue, and does not wait for the agent.
func (c *chat) prepare(ctx context.Context, o *offer.Offer) {
	att, err := c.attach(ctx, false, nil)
	if errors.Is(err, core.ErrNotFound) {
		if att, err = c.attach(ctx, true, nil); err == nil {
			c.untold = true
			set, _ := c.settings(ctx, o, att, eca.PromptParams{})
			err = att.Set(ctx, set)
		}
	}
	if err != nil {
		c.complain(err)
		return
	}
	c.srv.wg.Go(func() {
		err := c.srv.opts.Gateway.Prepare(ctx, att)
		if err == nil || ctx.Err() != nil || c.att.Load() != att { // nobody waits for it any more
			return
		}
		c.srv.log.Warn("an agent was not started", zap.String("session", string(c.id)), zap.Error(err))
		c.afterLog(att, func() { c.remark(plain(err)) })
	})
}
