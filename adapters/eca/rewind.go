package eca

import (
	"context"
	"errors"
	"slices"
	"strings"

	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/fork"
	"dragoman/core/notices"
	"dragoman/core/workspace"
)

// place is the position of a content in a chat.
type place struct {
	message core.MessageID // the user's message at or before it
	said    bool           // it is a message of the user's, or its mark
	front   core.Pos       // the position directly before it
	behind  core.Pos       // the position directly after it
}

// locate finds a content by the id that the client knows: of a user's message, of its mark, of a
// thought or of a call.
func locate(ctx context.Context, att *core.Attachment, id string) (place, error) {
	message, mark := strings.CutPrefix(id, flagsID)
	mark = mark && att.Flags()[core.MessageID(message)] != ""
	if mark {
		id = message
	}
	var at place
	var newest core.MessageID
	for rec, err := range att.Records(ctx, core.Pos{}, att.Head()) {
		if err != nil {
			return place{}, err
		}
		content, user := contentOf(rec.Event)
		if user {
			newest = core.MessageID(content)
		}
		if id == taskPanel && user { // the newest message is the nearest
			at = place{}
		} else if content != id || id == "" {
			continue
		}
		if at.message == "" {
			at = place{message: newest, said: user, front: core.Pos{Epoch: rec.Epoch, Seq: rec.Seq}}
		}
		at.behind = rec.End()
	}
	if at.message == "" {
		return place{}, wrong("contentId: there is no message %.100q in the chat", id)
	}
	if mark {
		at.front = at.behind
	}
	return at, nil
}

// taskPanel is the id of the Emacs client's panel of tasks after the chat. The client sends it if
// the cursor is at the end.
const taskPanel = "eca-chat-task"

// contentOf returns the id of a record's content as clients know it, and whether the content is a
// message of the user.
func contentOf(ev core.Event) (id string, user bool) {
	switch e := any(ev).(type) {
	case core.TurnStarted:
		return string(e.Message), true
	case core.Steered:
		return string(e.Message), true
	case core.ThoughtStarted:
		return string(e.Thought), false
	case core.ThoughtEnded:
		return string(e.Thought), false
	case core.CallChanged:
		return string(e.Call.ID), false
	}
	return "", false
}

// addFlag handles chat/addFlag: it marks a message, or the one before a thought or a call. The
// chat is only shown again if the message had another mark.
func (s *Server) addFlag(ctx context.Context, call *wire.Call, p eca.FlagParams) error {
	if strings.TrimSpace(p.Text) == "" {
		return wrong("text is blank")
	}
	return s.change(ctx, call, p.ChatID, func(_ *chat, att *core.Attachment) error {
		at, err := locate(ctx, att, p.ContentID)
		if err != nil {
			return err
		}
		return att.Flag(ctx, at.message, p.Text)
	})
}

// removeFlag handles chat/removeFlag, by the id of the mark or of its message. An unmarked
// message stays unmarked. The client itself takes the mark off its screen.
func (s *Server) removeFlag(ctx context.Context, call *wire.Call, p eca.FlagParams) error {
	return s.change(ctx, call, p.ChatID, func(c *chat, att *core.Attachment) error {
		id := core.MessageID(strings.TrimPrefix(p.ContentID, flagsID))
		if att.Flags()[id] == "" {
			return nil
		}
		s.pump.Do(func() {
			if c.feed != nil {
				delete(c.feed.view.flags, id)
			}
		})
		return att.Flag(ctx, id, "")
	})
}

// The values of include in chat/rollback.
const (
	undoMessages = "messages"
	undoTools    = "tools"
)

// rollback handles chat/rollback: a message and everything after it are hidden, also from the
// agent, and the file changes made there are undone; choices stay. The result for the files is
// shown in the chat.
func (s *Server) rollback(ctx context.Context, call *wire.Call, p eca.RollbackParams) error {
	messages, files := slices.Contains(p.Include, undoMessages), slices.Contains(p.Include, undoTools)
	if len(p.Include) == 0 {
		messages, files = true, true
	}
	if !messages && !files {
		return wrong("include: name %q, %q or both", undoMessages, undoTools)
	}
	return s.change(ctx, call, p.ChatID, func(c *chat, att *core.Attachment) error {
		at, err := locate(ctx, att, p.ContentID)
		if err != nil {
			return err
		}
		if !at.said {
			return wrong("contentId: only a message of the user's can be gone back to")
		}
		if !messages {
			undone, err := workspace.Rollback(ctx, s.opts.Gateway, att, at.front, false, true)
			if err == nil && len(undone) == 0 {
				c.behind(att.Head(), func() { c.remark(notices.Text(core.Reverted{})) })
			}
			return err
		}
		return s.goBack(ctx, att, at.front, files)
	})
}

// goBack hides everything after a position, and with files undoes the file changes made there.
// Later choices and the chat's title stay if anything is left of the chat, even if the files
// could not be restored.
func (s *Server) goBack(ctx context.Context, att *core.Attachment, after core.Pos, files bool) error {
	st := att.State()
	_, err := workspace.Rollback(ctx, s.opts.Gateway, att, after, true, files)
	if now := att.State(); now.Messages == st.Messages && err != nil { // nothing was hidden
		return err
	} else if now.Messages > 0 && now.Title != st.Title {
		err = errors.Join(err, att.Rename(ctx, st.Title))
	}
	return errors.Join(err, att.Set(ctx, st.Settings))
}

// remark shows a text that does not become a part of the chat. It belongs to the pump.
func (c *chat) remark(text string) {
	p := c.srv.peerNow()
	c.srv.put(newView(c.id, p.lacks, p.name, c.srv.offered()).systemText(nil, text))
}

// fork handles chat/fork: a new chat begins with the contents of this one up to and including a
// given content. The new chat is shown first, and then the request is answered.
func (s *Server) fork(ctx context.Context, call *wire.Call, p eca.ForkParams) error {
	if err := checkID(p.ChatID); err != nil {
		return err
	}
	c := s.chatOf(p.ChatID)
	c.queue.Go(func() {
		err := c.fork(ctx, call, p.ContentID)
		if errors.Is(err, core.ErrNotFound) {
			err = errNoChat(c.id)
		}
		if err != nil {
			s.reply(ctx, call, nil, err)
		}
	})
	return nil
}

func (c *chat) fork(ctx context.Context, call *wire.Call, contentID string) error {
	o := c.srv.reload(ctx)
	att, err := c.attach(ctx, false, nil)
	if err != nil {
		return err
	}
	at, err := locate(ctx, att, contentID)
	if err != nil {
		return err
	}
	st := att.State()
	sess, err := fork.Session(ctx, c.srv.opts.Gateway, att, at.behind, core.SessionID(c.srv.opts.NewID()))
	if err != nil {
		return err
	}
	next, plan := c.srv.chatOf(string(sess.Meta().ID)), c.plan
	next.queue.Go(func() {
		next.plan = plan
		if err := next.begin(ctx, sess, st, o, func(title string) {
			c.remark("Chat forked to: " + title)
			c.srv.answer(ctx, call, struct{}{}, nil)
		}); err != nil {
			c.srv.reply(ctx, call, nil, err)
		}
	})
	return nil
}

// begin shows a fork, with the title and the choices of its original. It belongs to the queue.
func (c *chat) begin(
	ctx context.Context,
	sess *core.Session,
	st core.State,
	o *offer.Offer,
	shown func(title string),
) error {
	att := sess.Attach(c.srv.client(sess.Meta().Roots))
	title := fork.Title(st.Title, sess.Meta().Forks)
	set := st.Settings
	set.Trust = false // it was given for the other chat
	if err := errors.Join(att.Rename(ctx, title), att.Set(ctx, set)); err != nil {
		att.Close()
		return errors.Join(err, c.srv.opts.Gateway.Delete(ctx, c.srv.opts.Principal, c.id, core.Deletion{All: true}))
	}
	c.show(att, o, nil, func() { c.srv.opened(c.id, title) }, func(*feed) { shown(title) })
	return nil
}
