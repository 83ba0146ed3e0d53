package eca

import (
	"context"
	"errors"
	"slices"
	"strings"

	"dragoman/adapters/eca/offer"
	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// pendingPrompt is one chat/prompt under way.
type pendingPrompt struct {
	call   *wire.Call
	params eca.PromptParams
	ticket *pump.Ticket
	minted bool // the client named no chat
	turn   core.TurnID
	told   []string // texts for the user after the answer; written before the prompt is given to the core
}

// prompt handles chat/prompt. The prompt is registered here, on the reading goroutine, so that a
// stop later in the same read finds it.
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
	pr := &pendingPrompt{call: call, params: p, minted: minted}
	mine, ticket := c.prompts.Register(
		ctx,
		func(turn core.TurnID) { c.begun(pr, turn); c.showMessages(pr) },
		func(e core.TurnEnded) { c.ended(pr, e) },
	)
	pr.ticket = ticket
	c.queue.Go(func() {
		if ctx.Err() != nil { // the client has left
			c.prompts.Forget(ticket)
			return
		}
		err := context.Cause(mine)
		if err == nil || errors.Is(err, core.ErrCanceled) { // the log has a stopped one as well
			err = c.prompt(ctx, mine, pr)
		}
		if err != nil {
			c.refuse(pr, err)
		}
	})
	return nil
}

// prompt gives a prompt to the core. ctx belongs to the connection, mine to this prompt.
func (c *chat) prompt(ctx, mine context.Context, pr *pendingPrompt) error {
	o := c.srv.refresh(ctx)
	d := refer.New(o.Profile, c.srv.opts.Principal, c.folders())
	d.Agrees = c.agrees
	blocks, view := d.Prompt(mine, pr.params, &c.shelf)
	if len(blocks) == 0 { // a turn begins with a message
		blocks, view = slices.Concat(view.Passing, view.Standing), nil
	}
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
	if c.untold && !pr.minted {
		c.srv.pump.Do(func() { c.srv.opened(c.id, "") })
	}
	c.untold = false
	set, told := c.settings(mine, o, att, pr.params)
	pr.told = append(pr.told, told...)
	p := core.Prompt{Blocks: blocks, Context: view, Key: pr.ticket.Key, Settings: &set}
	if c.plan {
		p.Approvals = core.ApprovalsReadOnly
	}
	turn, err := att.Prompt(mine, p)
	if turn != "" { // it is in the log, and so is its end
		return nil
	}
	return err
}

// folders returns the chat's folders, or those it would begin with.
func (c *chat) folders() []string {
	att := c.att.Load()
	if att == nil {
		return c.srv.rootsNow()
	}
	roots := slices.Clone(att.Meta().Roots)
	for _, r := range c.srv.beside(roots) {
		if !slices.Contains(roots, r) {
			roots = append(roots, r)
		}
	}
	return roots
}

// showMessages shows the messages about a prompt that was accepted.
func (c *chat) showMessages(pr *pendingPrompt) {
	for _, text := range append(c.srv.takeHint(), pr.told...) {
		c.remark(text)
	}
}

// settings returns the settings of a prompt: those of the chat, with the choices made before it
// began and those of the prompt itself. told are the errors of an agent behind the gateway that does
// not agree with them.
func (c *chat) settings(ctx context.Context, o *offer.Offer, att *core.Attachment, p eca.PromptParams) (set core.Settings, told []string) {
	st, chosen := c.stateOf(att), c.chosen
	was := st
	if st.Settings == (core.Settings{}) && !st.Plan { // it begins with the connection's choices
		c.srv.mu.Lock()
		chosen = chosen.Over(c.srv.chosen)
		c.srv.mu.Unlock()
	}
	if _, ok := o.Agent(st.Agent); !ok { // the configuration no longer has it
		st.Agent, _, st.Plan = o.AgentOf(st.Agent)
	}
	chosen.SelectModel(said(p.Model), said(p.Variant))
	chosen.SelectAgent(said(p.Behavior))
	chosen.SelectAgent(said(p.Agent))
	c.chosen = offer.Choice{}
	picks := o.Apply(chosen, &st)
	c.plan = st.Plan
	if len(picks) > 0 {
		if st.Agent != was.Agent { // the options are its own
			if err := att.Set(ctx, st.Settings); err != nil {
				return st.Settings, nil // the prompt has the same error
			}
		}
		told = c.pick(ctx, att, picks)
		now := att.State()
		st.Choices, st.Offered = now.Settings.Choices, now.Offered
	}
	switch {
	case p.Trust != nil:
		st.Trust, c.trusted = *p.Trust, *p.Trust
	case c.trusted: // a client sends it with each prompt that it applies to
		st.Trust, c.trusted = false, false
	}
	if c.plan != was.Plan || len(told) > 0 {
		c.announce(o, st)
	}
	c.srv.follow(o, st)
	return st.Settings, told
}

// begun answers a prompt that was accepted, right after the client's messages about it. If no
// other message shows that a prompt has begun, the answer does: a queued prompt is answered when
// it begins. An unlisted model is known to exist only when it has been asked: until then the
// answer is held back, because it reports that.
func (c *chat) begun(pr *pendingPrompt, turn core.TurnID) {
	pr.turn, c.srv.prompted = turn, c
	c.running[pr] = struct{}{}
	view := c.feed.view
	answer := func() {
		delete(c.answers, turn)
		c.srv.answerPrompt(pr, c.id, view.offer.ModelIn(view.state), eca.StatusPrompting)
	}
	_, waits := view.queued[turn]
	switch {
	case view.lacks[eca.MethodStatusChanged]:
		if waits {
			c.answers[turn] = answer
			return
		}
	case view.offer.Unknown(view.state):
		c.held[turn] = func() { delete(c.held, turn); answer() }
		return
	}
	answer()
}

// ended answers a prompt that has no answer yet: it was taken back while it waited, or its turn
// was not seen.
func (c *chat) ended(pr *pendingPrompt, e core.TurnEnded) {
	delete(c.answers, e.Turn)
	delete(c.held, e.Turn)
	delete(c.running, pr)
	status := eca.StatusPrompting
	if e.Stop == core.StopError {
		status = eca.StatusFailed
	}
	model := c.srv.offered().Model
	if c.feed != nil {
		model = c.feed.view.offer.ModelIn(c.feed.view.state)
	}
	c.srv.answerPrompt(pr, c.id, model, status)
	c.rest()
}

// whenIdle calls do once no accepted prompt runs any more. It belongs to the pump, and does not
// wait for prompts that are not accepted yet.
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

// refuse gives the user the reason for refusing a prompt: in the chat, because some clients show
// no error of a prompt, and none of them leaves its loading state after an error.
func (c *chat) refuse(pr *pendingPrompt, err error) {
	c.prompts.Forget(pr.ticket)
	c.srv.pump.Do(func() {
		p := c.srv.peerNow()
		view := newView(c.id, p.lacks, p.name, c.srv.offered())
		idle := c.feed == nil || c.feed.view.turn == ""
		answer := func() { c.srv.answerPrompt(pr, c.id, c.srv.offered().Model, eca.StatusFailed) }
		first := view.lacks[eca.MethodStatusChanged] // the answer ends the turn's first message
		var lines []byte
		if idle && first {
			lines = view.running(lines, waitingText)
		}
		lines = view.userText(lines, "", []core.Block{core.Text{Text: pr.params.Message}}, core.Origin{})
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
	_ = s.conn.PutLines(lines) // nobody reads after the connection has ended
}

// sentence returns an error's text as a sentence for the user.
func sentence(err error) string {
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return "The prompt failed."
	}
	return "The prompt was not taken: " + text
}

func (s *Server) answerPrompt(pr *pendingPrompt, id core.SessionID, model string, st eca.PromptStatus) {
	if st == eca.StatusPrompting && s.logsIn(pr.params) {
		st = eca.StatusLogin
	}
	pr.call.Reply(eca.PromptResult{ChatID: string(id), Model: model, Status: st}, nil)
}

// promptStop handles chat/promptStop: it ends the prompts before it, and the turn that runs in
// the chat now, even another client's.
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
		// The client shows a turn as running until it is notified of the end.
		s.pump.Do(func() {
			if f := c.feed; f != nil && f.view.turn == "" {
				f.put(f.view.finished(nil))
			}
		})
		return nil
	}
	if turn != "" {
		// A turn that has ended is no error, and this client may decide.
		c.queue.Go(func() { _ = att.Cancel(ctx, turn, core.ErrCanceled) })
	}
	return nil
}
