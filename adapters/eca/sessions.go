package eca

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.uber.org/zap"

	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// list handles chat/list: the chats of the workspace that have a message, last used first.
func (s *Server) list(ctx context.Context, call *wire.Call, p eca.ListParams) error {
	s.wg.Go(func() {
		chats, err := s.summaries(ctx, p)
		s.reply(ctx, call, eca.ListResult{Chats: chats}, err)
	})
	return nil
}

func (s *Server) summaries(ctx context.Context, p eca.ListParams) ([]eca.ChatSummary, error) {
	roots, o := s.rootsNow(), s.offered()
	limit := 1 << 30
	if p.Limit != nil && *p.Limit >= 1 {
		limit = int(min(*p.Limit, 1<<30))
	}
	byBirth := said(p.SortBy) == "createdAt"
	list := []eca.ChatSummary{}
	for sum, err := range s.opts.Gateway.ListNow(ctx, s.opts.Principal) {
		switch {
		case errors.Is(err, core.ErrIncomplete):
			s.pump.Do(func() { s.showMessage(eca.MessageInfo, plain(err)) })
			continue
		case err != nil:
			return nil, err
		case sum.ID == "" || sum.Parent != "" || sum.Archived || sum.Messages == 0 || !shared(roots, sum):
			continue
		}
		list = append(list, summaryOf(sum, o))
		if len(list) == limit && !byBirth {
			break
		}
	}
	if byBirth {
		slices.SortStableFunc(list, func(a, b eca.ChatSummary) int { return int(b.CreatedAt - a.CreatedAt) })
		list = list[:min(limit, len(list))]
	}
	return list, nil
}

// shared reports whether a session belongs to a workspace.
func shared(roots []string, sum core.Summary) bool {
	return slices.Contains(roots, sum.Cwd) ||
		slices.ContainsFunc(sum.Roots, func(r string) bool { return slices.Contains(roots, r) })
}

func summaryOf(sum core.Summary, o *offer.Offer) eca.ChatSummary {
	c := eca.ChatSummary{
		ID: string(sum.ID), Title: sum.Title, Status: eca.ChatIdle, Model: o.ModelOf(sum), MessageCount: sum.Messages,
	}
	if sum.Running {
		c.Status = eca.ChatRunning
	}
	if !sum.Created.IsZero() {
		c.CreatedAt = sum.Created.UnixMilli()
	}
	if !sum.Updated.IsZero() {
		c.UpdatedAt = sum.Updated.UnixMilli()
	}
	return c
}

// open handles chat/open: the chat is shown again, and the answer follows all of it. Running
// turns continue. With paging only a part of the chat is shown.
func (s *Server) open(ctx context.Context, call *wire.Call, p eca.OpenParams) error {
	if err := checkID(p.ChatID); err != nil {
		return err
	}
	w, paged, err := windowOf(p.Limit, p.Before, p.After)
	if err != nil {
		s.reply(ctx, call, eca.OpenResult{Found: true, ChatID: p.ChatID, Error: refused(err)}, nil)
		return nil
	}
	c := s.chatOf(p.ChatID)
	c.queue.Go(func() {
		err := c.open(ctx, w, paged, func(f *feed) {
			res := eca.OpenResult{
				Found:     true,
				ChatID:    p.ChatID,
				Title:     f.title,
				Selection: f.view.offer.Selection(f.view.state),
			}
			if paged {
				res.Meta = f.page.meta()
			}
			s.answer(ctx, call, res, nil)
		})
		if errors.Is(err, core.ErrNotFound) {
			s.reply(ctx, call, eca.OpenResult{Found: false}, nil)
		} else if err != nil {
			// Clients show the reason of a failure only if found is true.
			s.reply(ctx, call, eca.OpenResult{Found: true, ChatID: p.ChatID, Error: refused(err)}, nil)
		}
	})
	return nil
}

// open shows the chat or a part of it again; shown is called after that. It belongs to the queue.
func (c *chat) open(ctx context.Context, w window, paged bool, shown func(*feed)) error {
	o := c.srv.refresh(ctx)
	sess, _, err := c.session(ctx, false)
	if err != nil {
		return err
	}
	att := c.att.Load()
	if att == nil || !att.To(sess) { // no session yet, or one that could not be stored
		att = sess.Attach(c.srv.client(sess.Meta().Roots))
	}
	title := att.State().Title
	var part *page
	if paged {
		if part, err = pageOf(ctx, att, att.Head(), w); err != nil {
			if att != c.att.Load() {
				att.Close()
			}
			return err
		}
	}
	first := func() {
		c.srv.cleared(c.id)
		c.srv.opened(c.id, title)
	}
	c.show(att, o, part, first, func(f *feed) { f.title = title; shown(f) })
	return nil
}

// show replays a chat or a part of it, and serves it from then on. first is called before the
// replay, shown after the replay and the announcement of choices. It belongs to the queue.
func (c *chat) show(att *core.Attachment, o *offer.Offer, part *page, first func(), shown func(*feed)) {
	head := att.Head()
	f := c.newFeed(att, o, c.plan)
	st := att.State()
	f.head, f.page, f.view.state.Settings, f.view.state.Offered = head, part, st.Settings, st.Offered
	f.opened = func() {
		f.put(f.view.announce(f.view.title(nil)))
		f.listed()
		shown(f)
	}
	c.serve(att, core.Pos{}, f, first)
}

// delete handles chat/delete. Running turns are stopped first. If others are attached, the user decides.
func (s *Server) delete(ctx context.Context, call *wire.Call, p eca.ChatParams) error {
	if checkID(p.ChatID) != nil { // 000 and 001 omit the chat if there is none yet
		s.reply(ctx, call, struct{}{}, nil)
		return nil
	}
	c := s.chatOf(p.ChatID)
	alone := len(c.others()) == 0
	if alone {
		c.prompts.Cancel()
	}
	c.queue.Go(func() {
		agreed, err := c.agreed(ctx)
		if err == nil {
			if !alone {
				c.prompts.Cancel()
			}
			err = c.delete(ctx, agreed)
		}
		s.pump.Do(func() {
			if err == nil {
				s.deleted(c.id)
			}
			s.answer(ctx, call, struct{}{}, err)
		})
	})
	return nil
}

func (c *chat) delete(ctx context.Context, agreed bool) error {
	if att := c.att.Load(); att != nil {
		// Wait until everything before the request is sent: then every accepted prompt is known,
		// and its end announced. Prompts after the delete are not waited for.
		told := make(chan struct{})
		c.behind(att.Head(), func() { c.whenIdle(func() { close(told) }) })
		select {
		case <-told:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		c.detach(ctx)
	}
	c.chosen, c.plan, c.trusted = offer.Choice{}, false, false
	c.shown.Store(false)
	return c.srv.opts.Gateway.Delete(ctx, c.srv.opts.Principal, c.id, core.Deletion{All: agreed})
}

// deleted sends chat/deleted.
func (s *Server) deleted(id core.SessionID) {
	s.notify(eca.MethodDeleted, eca.ChatParams{ChatID: string(id)})
}

// gone announces that another client has deleted a chat, if this client shows it.
func (s *Server) gone(ctx context.Context, id string) {
	c := s.chat(id)
	if c == nil || !c.shown.Load() {
		return
	}
	c.queue.Go(func() {
		if _, err := s.opts.Gateway.Open(ctx, s.opts.Principal, c.id); !errors.Is(err, core.ErrNotFound) {
			return // it was created again
		}
		if !c.shown.Swap(false) {
			return
		}
		if att := c.att.Swap(nil); att != nil {
			att.Close()
		}
		s.pump.Do(func() {
			if f := c.feed; f != nil {
				f.Lost(core.ErrNotFound)
				s.pump.Remove(f)
			}
			s.deleted(c.id)
		})
	})
}

// update handles chat/update: a title, or trust. The chat's feed announces the change, and the
// answer follows that.
func (s *Server) update(ctx context.Context, call *wire.Call, p eca.UpdateParams) error {
	return s.change(ctx, call, p.ChatID, func(c *chat, att *core.Attachment) error {
		if title := strings.TrimSpace(said(p.Title)); title != "" {
			if err := att.Rename(ctx, title); err != nil {
				return err
			}
		}
		if p.Trust == nil {
			return nil
		}
		c.trusted = false // it keeps the value that is set here
		set := att.State().Settings
		set.Trust = *p.Trust
		return att.Set(ctx, set)
	})
}

// clear handles chat/clear: the messages are hidden, also from the agent; choices stay.
func (s *Server) clear(ctx context.Context, call *wire.Call, p eca.ClearParams) error {
	return s.change(ctx, call, p.ChatID, func(c *chat, att *core.Attachment) error {
		st := att.State()
		if p.Messages != nil && !*p.Messages || st.Messages == 0 {
			return nil
		}
		if err := att.Truncate(ctx, core.Pos{Seq: 2}); err != nil { // everything after the record that opened it
			return err
		}
		return att.Set(ctx, st.Settings)
	})
}

// change makes a change to a chat in its queue, and answers after the client's notifications
// about it.
func (s *Server) change(
	ctx context.Context,
	call *wire.Call,
	id string,
	do func(*chat, *core.Attachment) error,
) error {
	if err := checkID(id); err != nil {
		return err
	}
	c := s.chatOf(id)
	c.queue.Go(func() {
		att, err := c.attach(ctx, false, nil)
		if errors.Is(err, core.ErrNotFound) {
			err = errNoChat(c.id)
		}
		if err == nil {
			err = do(c, att)
		}
		if err != nil {
			s.log.Debug("a chat was not changed", zap.String("method", call.Method), zap.Error(err))
			s.reply(ctx, call, nil, err)
			return
		}
		c.behind(att.Head(), func() { s.answer(ctx, call, struct{}{}, nil) })
	})
	return nil
}
