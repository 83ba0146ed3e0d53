package eca

import (
	"context"
	"errors"
	"strings"

	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/control"
)

// prompting is one chat/prompt under way.
type prompting struct {
	call   *wire.Call
	params eca.PromptParams
	ticket *pump.Ticket
	minted bool // the client named no chat
	turn   core.TurnID
	told   []string // what the user must hear behind the answer; written before the prompt is given to the core
}

// prompt is chat/prompt. It is registered here, on the reading goroutine, so that a
// stop that stands behind it in the same read finds it.
func (s *Server) prompt(ctx context.Context, call *wire.Call, p eca.PromptParams) error {
	id, minted := said(p.ChatID), p.ChatID == nil
	if minted {
		id = s.opts.NewID()
	}
	if err := checkID(id); err != nil {
		return err
	}
	if strings.HasPrefix(id, subagents) {
		return wrong("chatId: ids that begin with %s are the server's", subagents)
	}
	c := s.chatOf(id)
	pr := &prompting{call: call, params: p, minted: minted}
	mine, ticket := c.prompts.Register(
		ctx,
		func(turn core.TurnID) { c.begun(pr, turn); c.tellAll(pr) },
		func(e core.TurnEnded) { c.ended(pr, e) },
	)
	pr.ticket = ticket
	c.queue.Go(func() {
		if ctx.Err() != nil { // the client has left
			c.prompts.Forget(ticket)
			return
		}
		err := context.Cause(mine)
		if err == nil || errors.Is(err, core.ErrCanceled) { // a stopped one is in the log as well
			err = c.prompt(ctx, mine, pr)
		}
		if err != nil {
			c.refuse(pr, err)
		}
	})
	return nil
}

// prompt gives a prompt to the core. ctx is the connection's, mine the prompt's own.
func (c *chat) prompt(ctx, mine context.Context, pr *prompting) error {
	o := c.srv.refresh(ctx)
	d := refer.New(o.profile, c.srv.opts.Principal, c.folders())
	blocks := d.Blocks(mine, pr.params)
	if len(blocks) == 0 {
		return errors.New("the prompt is empty")
	}
	pr.told = append(pr.told, d.Told...)
	att, err := c.attach(ctx, true, func(created bool) {
		if created && !pr.minted {
			c.srv.opened(c.id, "")
		}
	})
	if err != nil {
		return err
	}
	set := c.settings(o, att.State().Settings, pr.params)
	p := core.Prompt{Blocks: blocks, Key: pr.ticket.Key, Settings: &set}
	if c.plan {
		p.Approvals = core.ApprovalsReadOnly
	}
	turn, err := att.Prompt(mine, p)
	if turn != "" { // it is in the log, which tells what becomes of it
		return nil
	}
	return err
}

// folders are the chat's, or what they would be. It belongs to the queue.
func (c *chat) folders() []string {
	if att := c.att.Load(); att != nil {
		return att.Meta().Roots
	}
	return c.srv.rootsNow()
}

// tellAll says what the user must hear of a prompt that was taken.
func (c *chat) tellAll(pr *prompting) {
	for _, text := range append(c.srv.takeHint(), pr.told...) {
		c.remark(text)
	}
}

// settings are those of a prompt: what the chat has, what was chosen before it
// began, and what the prompt says.
func (c *chat) settings(o *offer, set core.Settings, p eca.PromptParams) core.Settings {
	plan, chosen := c.plan, c.chosen
	if set == (core.Settings{}) && !plan { // it takes what the connection has chosen
		c.srv.mu.Lock()
		chosen = chosen.over(c.srv.chosen)
		c.srv.mu.Unlock()
	}
	if _, ok := o.agent(set.Agent); !ok { // the configuration has lost it
		set.Agent, c.plan = o.agentOf(set.Agent)
	}
	chosen.selectModel(said(p.Model), said(p.Variant))
	chosen.selectAgent(said(p.Behavior))
	chosen.selectAgent(said(p.Agent))
	c.chosen = choice{}
	o.apply(chosen, &set, &c.plan)
	switch {
	case p.Trust != nil:
		set.Trust, c.trusted = *p.Trust, *p.Trust
	case c.trusted: // a client says so with each prompt that it is meant for
		set.Trust, c.trusted = false, false
	}
	if c.plan != plan {
		c.tell(o, set)
	}
	c.srv.follow(o, set, c.plan)
	return set
}

// begun answers a prompt that was taken, right behind what the client sees of that.
// Where nothing else says that a prompt has begun, the answer does: one that waits is
// answered when it begins. Whether there is a model that nobody lists
// shows when it is asked: until then the answer is held back, for it says so.
func (c *chat) begun(pr *prompting, turn core.TurnID) {
	pr.turn = turn
	c.running[pr] = struct{}{}
	view := c.feed.view
	answer := func() {
		delete(c.answers, turn)
		c.srv.answerPrompt(pr, c.id, view.offer.modelIn(view.settings), eca.StatusPrompting)
	}
	_, waits := view.queued[turn]
	switch {
	case view.lacks[eca.MethodStatusChanged]:
		if waits {
			c.answers[turn] = answer
			return
		}
	case !view.offer.lists(view.offer.modelIn(view.settings)):
		c.held[turn] = func() { delete(c.held, turn); answer() }
		return
	}
	answer()
}

// ended answers a prompt that was never answered: it was taken back while it
// waited, or what became of it was not seen.
func (c *chat) ended(pr *prompting, e core.TurnEnded) {
	delete(c.answers, e.Turn)
	delete(c.held, e.Turn)
	delete(c.running, pr)
	status := eca.StatusPrompting
	if e.Stop == core.StopError {
		status = eca.StatusFailed
	}
	model := c.srv.offered().model
	if c.feed != nil {
		model = c.feed.view.offer.modelIn(c.feed.view.settings)
	}
	c.srv.answerPrompt(pr, c.id, model, status)
	c.rest()
}

// whenIdle does something once no prompt that was taken runs any more. It belongs
// to the pump, and waits for none that was not taken yet.
func (c *chat) whenIdle(do func()) {
	c.idle = append(c.idle, do)
	c.rest()
}

func (c *chat) rest() {
	if len(c.running) > 0 {
		return
	}
	list := c.idle
	c.idle = nil
	for _, do := range list {
		do()
	}
}

// refuse tells the user why a prompt was not taken: in the chat, for some clients
// show no error of a prompt, and none of them leaves its loading state on one.
func (c *chat) refuse(pr *prompting, err error) {
	c.prompts.Forget(pr.ticket)
	c.srv.pump.Do(func() {
		p := c.srv.peerNow()
		view := newView(c.id, p.lacks, p.name, c.srv.offered())
		idle := c.feed == nil || c.feed.view.turn == ""
		answer := func() { c.srv.answerPrompt(pr, c.id, c.srv.offered().model, eca.StatusFailed) }
		first := view.lacks[eca.MethodStatusChanged] // the answer ends what a turn begins with
		var lines []byte
		if idle && first {
			lines = view.running(lines, waitingText)
		}
		lines = view.userText(lines, "", []core.Block{core.Text{Text: pr.params.Message}})
		if first {
			c.srv.put(lines)
			answer()
			lines = nil
		}
		lines = view.systemText(lines, sentence(err))
		if idle {
			lines = view.content(
				lines,
				eca.RoleSystem,
				eca.ProgressContent{Type: eca.TypeProgress, State: eca.ProgressFinished},
			)
		}
		c.srv.put(lines)
		if !first {
			answer()
		}
	})
}

// put writes messages. It belongs to the pump.
func (s *Server) put(lines []byte) {
	_ = s.conn.PutLines(lines) // a connection that ended has nobody to tell
}

// sentence is an error as a sentence for the user.
func sentence(err error) string {
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return "The prompt failed."
	}
	return "The prompt was not taken: " + text
}

func (s *Server) answerPrompt(pr *prompting, id core.SessionID, model string, st eca.PromptStatus) {
	if o := s.offered(); st == eca.StatusPrompting && logsIn(pr.params) && control.AccountsOf(o.profile) != nil {
		st = eca.StatusLogin
	}
	pr.call.Reply(eca.PromptResult{ChatID: string(id), Model: model, Status: st}, nil)
}

// promptStop is chat/promptStop: it ends what was prompted before it, and whatever
// runs in the chat now, also of others.
func (s *Server) promptStop(ctx context.Context, _ *wire.Call, p eca.ChatParams) error {
	c := s.chat(p.ChatID)
	if c == nil {
		return nil
	}
	open := c.prompts.Open()
	c.prompts.Cancel()
	att := c.att.Load()
	if att == nil {
		return nil
	}
	turn := att.State().Turn
	if turn == "" && open == 0 {
		// The client believes that something runs. It leaves that only when it is told.
		s.pump.Do(func() {
			if f := c.feed; f != nil && f.view.turn == "" {
				f.put(f.view.finished(nil))
			}
		})
		return nil
	}
	if turn != "" {
		c.queue.Go(func() { _ = att.Cancel(ctx, turn, core.ErrCanceled) }) // a turn that has ended is no error, and we may decide
	}
	return nil
}
