package ecaserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/brief"
	"dragoman/bridge/agent/launch"
	"dragoman/core"
)

// prompting is a prompt that the server works on. conversation.mu guards its fields.
type prompting struct {
	message  core.MessageID
	sent     string        // the text
	moved    bool          // the server has said something since: an end that comes now is this one's
	answered bool          // it has answered the request
	over     bool          // it has said that it is finished
	failed   bool          // its answer was that it cannot
	said     string        // the words for that
	login    bool          // it wants a login
	mark     string        // the server's id of the message
	steers   []string      // messages to the turn that have not reached the model yet
	err      error         // set before done is closed
	done     chan struct{} // closed when the turn is over
}

// steerEvery is the time between two looks for messages to the turn that runs.
const steerEvery = 250 * time.Millisecond

// Run implements core.Conversation.
func (c *conversation) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	if err := c.settle(ctx); err != nil {
		return core.StopError, err
	}
	c.root.stage.Enter(ctx, t)
	defer c.touch()
	if err := c.tools.Await(ctx, t); err != nil {
		return core.StopError, err
	}
	p, err := c.take(ctx, launch.Shown(ctx, t))
	if err != nil {
		return core.StopError, err
	}
	defer p.give()
	end, err := c.tools.Begin(ctx, t)
	if err != nil {
		return core.StopError, err
	}
	defer end()
	if err := c.rewind(ctx, t, p); err != nil {
		return core.StopError, err
	}
	message, contexts, err := c.message(ctx, t)
	if err != nil {
		return core.StopError, err
	}
	for {
		left, stop, err := c.ask(ctx, t, p, message, contexts)
		if len(left) == 0 || err != nil {
			return stop, err
		}
		message, contexts = strings.Join(left, "\n\n"), nil // the server drops what the model did not get
	}
}

// ask sends a prompt, and returns when the server has finished, or ctx ends. left has the messages to the
// turn that did not reach the model.
func (c *conversation) ask(ctx context.Context, t *core.Turn, p *peer, message string, contexts []eca.Context) (left []string, stop core.StopReason, err error) {
	model, agent, variant := c.selection(p)
	trust := false // the server's own default must not allow anything
	params := map[string]any{"chatId": c.root.id, "message": message, "trust": trust}
	for name, value := range map[string]string{"model": model, "agent": agent, "behavior": agent, "variant": variant} {
		if value != "" {
			params[name] = value
		}
	}
	if len(contexts) > 0 {
		params["contexts"] = contexts
	}
	pr := &prompting{message: t.Message(), sent: message, done: make(chan struct{})}
	c.mu.Lock()
	c.prompt = pr
	c.mu.Unlock()
	if _, err := p.conn.Start(eca.MethodPrompt, params, func(raw json.RawMessage, err error) { c.answered(pr, raw, err) }); err != nil {
		c.settled(pr, fmt.Errorf("agent %s has ended: %w", c.b.o.Name, p.reason()))
	}
	ticker := time.NewTicker(steerEvery)
	defer ticker.Stop()
	for {
		select {
		case <-pr.done:
			c.prompted(ctx, pr)
			return c.finish(pr)
		case <-ticker.C:
			c.steer(t, p, pr)
		case <-ctx.Done():
			c.prompted(context.WithoutCancel(ctx), pr)
			c.root.stage.Stop()
			_ = p.conn.Notify(eca.MethodPromptStop, eca.ChatParams{ChatID: c.root.id}) // a program that has ended needs none
			c.b.wg.Go(func() { c.canceled(p, pr) })
			return nil, core.StopCanceled, context.Cause(ctx)
		}
	}
}

// answered takes the answer to a prompt, on the reading goroutine.
func (c *conversation) answered(pr *prompting, raw json.RawMessage, err error) {
	var is struct {
		ChatID string           `json:"chatId"`
		Status eca.PromptStatus `json:"status"`
	}
	if err == nil && wire.Unmarshal(raw, &is) != nil {
		is.Status = eca.StatusPrompting // what it does says enough
	}
	c.mu.Lock()
	pr.moved, pr.answered = true, true
	pr.login, pr.failed = is.Status == eca.StatusLogin, is.Status == eca.StatusFailed
	over := pr.over
	c.mu.Unlock()
	switch {
	case errors.Is(err, wire.ErrClosed): // lost gives the reason
	case err != nil:
		c.settled(pr, words(eca.MethodPrompt, err))
	case pr.login:
		c.settled(pr, &core.SignInError{Agent: c.b.o.Name, Text: "one of its providers of models"})
	case over:
		c.settled(pr, nil)
	case pr.failed:
		c.soon(pr)
	}
}

// moves notes that the server has said something about the prompt.
func (c *conversation) moves() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prompt != nil {
		c.prompt.moved = true
	}
}

// finished takes the sign that a turn is over. One that comes before anything else is of the turn before.
func (c *conversation) finished() {
	c.mu.Lock()
	pr := c.prompt
	if pr == nil || !pr.moved {
		c.mu.Unlock()
		return
	}
	pr.over = true
	answered := pr.answered
	c.mu.Unlock()
	if answered {
		c.settled(pr, nil)
		return
	}
	c.soon(pr)
}

// soon ends a turn that shows one sign of its end, if the others do not follow.
func (c *conversation) soon(pr *prompting) {
	c.b.wg.Go(func() {
		limit := time.NewTimer(c.b.limits.end)
		defer limit.Stop()
		select {
		case <-pr.done:
		case <-limit.C:
			c.settled(pr, nil)
		}
	})
}

// settled ends a prompt.
func (c *conversation) settled(pr *prompting, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prompt != pr {
		return
	}
	c.prompt = nil
	pr.err = err
	close(pr.done)
}

// failed takes words of the server that are the reason why a prompt cannot be answered.
func (c *conversation) failed(of *chat, said string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of != c.root || c.prompt == nil || !c.prompt.failed {
		return false
	}
	c.prompt.said = strings.TrimSpace(c.prompt.said + "\n" + said)
	return true
}

// finish ends the turn as the server has.
func (c *conversation) finish(pr *prompting) (left []string, stop core.StopReason, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case pr.err != nil:
		if errors.As(pr.err, new(*core.SignInError)) {
			c.b.wg.Go(func() { c.b.note(true) }) // it writes a file
		}
		return nil, core.StopError, pr.err
	case pr.failed && pr.said != "":
		return nil, core.StopError, errors.New(pr.said)
	case pr.failed:
		return nil, core.StopError, fmt.Errorf("agent %s could not answer, and has not said why", c.b.o.Name)
	}
	return pr.steers, core.StopEnd, nil
}

// prompted notes that the server has got a prompt, and by which id it can go back to it.
func (c *conversation) prompted(ctx context.Context, pr *prompting) {
	c.mu.Lock()
	got := pr.moved && !pr.login && !pr.failed && pr.err == nil
	changed := got && (c.heard != (core.Pos{}) || pr.mark != "")
	if got {
		c.heard, c.begun = core.Pos{}, true
	}
	c.mu.Unlock()
	if !changed {
		return
	}
	if err := c.keep(ctx); err != nil && ctx.Err() == nil {
		c.b.o.Say("warn", "note that the agent's chat was prompted: "+err.Error()) // it may be told twice what was said
	}
}

// canceled ends a program that does not end a turn that was stopped: nobody knows what it still does, and
// it would keep its place for ever.
func (c *conversation) canceled(p *peer, pr *prompting) {
	limit := time.NewTimer(c.b.limits.cancel)
	defer limit.Stop()
	select {
	case <-pr.done:
		return
	case <-limit.C:
	}
	c.b.o.Say("warn", fmt.Sprintf("agent %s did not stop within %v, and was ended", c.b.o.Name, c.b.limits.cancel))
	p.end(fmt.Errorf("it did not stop within %v after it was asked to", c.b.limits.cancel))
}

// stopChat has the server stop a turn that nobody prompted. Of a sub-agent's nothing is known that stops it
// alone.
func (c *conversation) stopChat(of *chat) {
	if p := c.program(); p != nil && of == c.root {
		_ = p.conn.Notify(eca.MethodPromptStop, eca.ChatParams{ChatID: of.id}) // a program that has ended needs none
	}
}

// settle waits until the turn before, which was stopped, has ended on the server's side.
func (c *conversation) settle(ctx context.Context) error {
	c.mu.Lock()
	pr := c.prompt
	c.mu.Unlock()
	if pr == nil {
		return nil
	}
	select {
	case <-pr.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// touch notes the end of a turn: the program may be idle now.
func (c *conversation) touch() {
	c.mu.Lock()
	c.used = c.b.o.Time()
	p := c.peer
	c.mu.Unlock()
	if p != nil {
		p.touch()
	}
}

// statusChanged handles chat/statusChanged. A server that says it is idle is finished, even if it does not
// say that as well.
func (p *peer) statusChanged(params json.RawMessage) {
	var s eca.StatusChangedParams
	if wire.Unmarshal(params, &s) != nil || p.c == nil || p.chat(s.ChatID) != p.c.root {
		return
	}
	c := p.c
	if s.Status != eca.ChatIdle {
		c.moves()
		return
	}
	c.mu.Lock()
	pr := c.prompt
	idle := pr != nil && pr.moved
	c.mu.Unlock()
	if idle {
		c.soon(pr)
	}
}

// steer passes messages of the user on to the turn that runs.
func (c *conversation) steer(t *core.Turn, p *peer, pr *prompting) {
	for _, said := range t.Steered() {
		text := c.steering(said.Prompt)
		if text == "" {
			c.notice(core.Warning, "it takes no message to the turn that runs without words; send it again when the turn has ended.")
			continue
		}
		c.mu.Lock()
		pr.steers = append(pr.steers, text)
		c.mu.Unlock()
		_ = p.conn.Notify(eca.MethodPromptSteer, eca.SteerParams{ChatID: c.root.id, Message: text}) // one that is lost is prompted
	}
}

// echoed takes a message of the user that the server repeats: the prompt, with the id by which it can be gone
// back to, or a message to the turn that has reached the model.
func (c *conversation) echoed(t eca.TextContent) {
	text := strings.TrimSpace(t.Text)
	c.mu.Lock()
	defer c.mu.Unlock()
	pr := c.prompt
	if pr == nil {
		return
	}
	if t.ContentID != "" && pr.mark == "" {
		pr.mark = t.ContentID
		c.marks = append(c.marks, mark{t.ContentID, pr.message})
	}
	left := pr.steers[:0:0]
	for _, steer := range pr.steers {
		if !strings.Contains(text, strings.TrimSpace(steer)) {
			left = append(left, steer)
		}
	}
	pr.steers = left
}

// message returns the turn's message in the form that the server takes.
func (c *conversation) message(ctx context.Context, t *core.Turn) (message string, contexts []eca.Context, err error) {
	message, contexts = c.contexts(t.Prompt())
	c.mu.Lock()
	heard := c.heard
	c.mu.Unlock()
	if heard == (core.Pos{}) {
		return message, contexts, nil
	}
	text, err := brief.Give(ctx, t, c.b.o.Name, heard)
	if err != nil || text == "" {
		return message, contexts, err
	}
	c.mu.Lock()
	c.briefed = c.briefed || heard == brief.Nothing
	c.mu.Unlock()
	if strings.HasPrefix(strings.TrimSpace(message), "/") { // a command has to come first
		return message, append(contexts, eca.Context{Type: eca.ContextText, Label: "What was said before", Content: text}), nil
	}
	return text + "\n\n" + message, contexts, nil
}

// mark is the server's id of a message of the user, by which it goes back.
type mark struct {
	content string
	message core.MessageID // in the log; "": it is of an earlier process
}

// rewind has the server forget what the log hides. A server that cannot gets a new chat, and is told what is
// left.
func (c *conversation) rewind(ctx context.Context, t *core.Turn, p *peer) error {
	c.mu.Lock()
	seen, known, chat := c.seen, len(c.marks), c.root.id
	c.mu.Unlock()
	if known == 0 {
		return nil
	}
	last, hidden, err := scanned(ctx, t, seen)
	if err == nil && (hidden || seen == core.Pos{}) {
		err = c.forget(ctx, t, p, chat)
	}
	if err == nil {
		c.mu.Lock()
		c.seen = last
		c.mu.Unlock()
	}
	return err
}

// scanned returns the end of the log behind a position, and reports whether a part before it was hidden.
func scanned(ctx context.Context, t *core.Turn, after core.Pos) (last core.Pos, hidden bool, err error) {
	last = after
	for r, err := range t.Records(ctx, after) {
		if err != nil {
			return last, false, err
		}
		if _, is := r.Event.(core.Truncated); is {
			hidden = true
		}
		if r.Seq > 0 {
			last = r.End()
		}
	}
	return last, hidden, nil
}

// forget has the server go back to the first message that the log hides.
func (c *conversation) forget(ctx context.Context, t *core.Turn, p *peer, chat string) error {
	there, stored := map[core.MessageID]bool{}, map[string]bool{}
	for r, err := range t.Records(ctx, core.Pos{}) {
		if err != nil {
			return err
		}
		switch e := any(r.Event).(type) {
		case core.TurnStarted:
			there[e.Message] = true
		case core.Bound:
			var is bound
			if e.Agent == c.b.o.Name && json.Unmarshal(e.State, &is) == nil && is.Chat == chat {
				for _, content := range is.Marks {
					stored[content] = true
				}
			}
		}
	}
	c.mu.Lock()
	first, newest := -1, -1
	for i, m := range c.marks {
		if stored[m.content] {
			newest = i
		}
	}
	for i, m := range c.marks {
		if m.message != "" && !there[m.message] || m.message == "" && i > newest && len(stored) > 0 {
			first = i
			break
		}
	}
	if first < 0 {
		c.mu.Unlock()
		return nil
	}
	back := c.marks[first].content
	c.marks = c.marks[:first]
	c.mu.Unlock()
	c.root.stage.Mute(true)
	err := p.conn.Ask(ctx, eca.MethodRollback, eca.RollbackParams{ChatID: c.root.id, ContentID: back, Include: []string{"messages"}}, nil)
	c.root.stage.Mute(false)
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.b.o.Say("warn", "go back in the agent's chat: "+err.Error())
	p.leave(c.root.id)
	return c.newChat(ctx, p)
}
