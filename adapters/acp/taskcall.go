package acp

import (
	"context"
	"slices"
	"strings"

	"go.uber.org/zap"

	"dragoman/core"
)

// A client that does not know subagents is asked about calls of a task's session, the child, in the
// parent's session. Such a call is shown there, under an id that begins with the child's, until it
// has ended, with its output or terminal and its result: the child's log is followed for that.

// followAsked follows the call that the user is asked about, if it is a child's.
func (f *feed) followAsked(dst []byte, a core.Ask, replay bool) []byte {
	if a.Kind != core.AskApproval || a.About == nil || f.view.Display.Subagents {
		return dst
	}
	id := a.About.Child
	i := slices.IndexFunc(f.children, func(c *child) bool { return c.id == id })
	if i < 0 {
		if !f.observe(id, replay) {
			return dst // the answer stands for its end
		}
		i = len(f.children) - 1
	}
	c, own := f.children[i], core.CallID(strings.TrimPrefix(string(a.Call), string(id)+"/"))
	cv := c.sess.feed.view
	cv.only[own] = *a.About
	put(&cv.calls, a.Call, &callView{call: *a.About})
	put(&f.view.followed, a.ID, true)
	return f.caughtUp(dst, c, own)
}

// observe attaches the connection to the child of a running call; false: it cannot be read.
func (f *feed) observe(id core.SessionID, replay bool) bool {
	v := f.view
	var task core.CallID
	for call, cv := range v.calls {
		if cv.call.Child == id {
			task = call
		}
	}
	if task == "" {
		return false
	}
	sess, shown := f.sess.srv.adopted(f.sess.id, id, core.Observe, false)
	if !shown {
		return false
	}
	cv := sess.feed.view
	cv.Session, cv.Parent, cv.Cwd, cv.Display = v.Session, "", v.Cwd, v.Display
	cv.Now.Offered.Agent = v.calls[task].call.Server
	cv.only = map[core.CallID]core.Call{}
	if replay {
		cv.Head, cv.history = sess.att.Head(), v.history
	}
	f.children = append(f.children, &child{id: id, call: task, sess: sess})
	return true
}

// caughtUp appends the changes of a call that the child's feed has already passed.
func (f *feed) caughtUp(dst []byte, c *child, id core.CallID) []byte {
	f.sess.srv.within(func(ctx context.Context) {
		for rec, err := range c.sess.att.Records(ctx, core.Pos{}, c.sess.feed.pos) {
			if err != nil {
				f.sess.srv.log.Warn("the session of a task cannot be read", sessionField(c.sess.id), zap.Error(err))
				return
			}
			changed, _ := rec.Event.(core.CallChanged)
			printed, _ := rec.Event.(core.CallOutput)
			if (changed.Call.ID == id || printed.Call == id) && !c.sess.feed.pos.Before(rec.End()) {
				dst = Encode(dst, c.sess.feed.view, rec)
			}
		}
	})
	return dst
}

// taskCall appends the changes of a child's calls that the user was asked about.
func taskCall(dst []byte, v *View, ev core.Event) []byte {
	switch e := any(ev).(type) {
	case core.CallChanged:
		about, ok := v.only[e.Call.ID]
		if !ok || e.Call.State == core.Proposed || e.Call.State == core.Awaiting {
			return dst
		}
		if e.Call.State.Ended() {
			delete(v.only, e.Call.ID)
		}
		if agent, _, ok := strings.Cut(about.Title, ": "); ok {
			e.Call.Title = agent + ": " + e.Call.Title
		}
		e.Call.ID, e.Call.Child = about.ID, about.Child
		return call(dst, v, e.Call)
	case core.CallOutput:
		about, ok := v.only[e.Call]
		if !ok {
			return dst
		}
		e.Call = about.ID
		return output(dst, v, e)
	}
	return dst
}
