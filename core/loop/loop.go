package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"dragoman/core"
	"dragoman/core/inference"
)

// Options configure a Backend. Model is required.
type Options struct {
	Name string // of the agent, for the model; empty: dragoman
	// Model finds the model of a turn. Its error is for the user and lists the
	// available models.
	Model func(ctx context.Context, t *core.Turn) (inference.Model, error)
	// System makes the system prompt for a session and a model's id, whose sections follow
	// one another without a separator. It should not depend on anything that changes
	// often. nil: a short one of our own.
	System func(m core.Meta, model string) []Section
	// MaxRequests limits the requests of a turn to the model; 0: 200.
	MaxRequests int
	// Parallel limits the concurrent calls without effect; 0: 8.
	Parallel int
	// CompactAt is the share of the model's window above which a conversation is
	// summarized automatically; 0: 0.75; above 1: never.
	CompactAt float64
	// Instructions returns the instructions of the folders of some files, beyond those in the
	// system prompt, the outermost first, and warnings for the user. It may block on the disk.
	// nil: there are none.
	Instructions func(ctx context.Context, m core.Meta, files []string) (list []Instructions, warnings []string)
	// Trusted returns what the user is told in the first turn in which they trust the session; "":
	// nothing. nil: nothing ever.
	Trusted func(*core.Turn) string
	// Offer reports whether the agent is offered a tool; nil: all. The result for a
	// tool must never change. Tools that are not offered are not run either.
	Offer func(core.Spec) bool
	// MaxTools limits the tools in a request. If there are more, the model finds those of
	// other servers with one tool and calls them through another; 0: no limit.
	MaxTools int
}

// Backend runs turns with a language model and the session's tools.
type Backend struct{ o Options }

var _ core.Backend = (*Backend)(nil)

// New returns a Backend, without starting anything.
func New(o Options) *Backend {
	o.Name = cmp.Or(o.Name, "dragoman")
	if o.System == nil {
		name := o.Name
		o.System = func(m core.Meta, _ string) []Section {
			return []Section{{inference.PartSystem, System(name, m)}}
		}
	}
	if o.MaxRequests <= 0 {
		o.MaxRequests = 200
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.CompactAt <= 0 {
		o.CompactAt = 0.75
	}
	return &Backend{o}
}

// Caps returns the capabilities of the loop. Content that a model does not accept is
// replaced by text.
func (b *Backend) Caps(context.Context) (core.BackendCaps, error) {
	return core.BackendCaps{Rewind: true, Fork: true, Steer: true, Images: true, Resources: true}, nil
}

// Open opens a conversation. It reads nothing: the first turn does.
func (b *Backend) Open(context.Context, core.Binding) (core.Conversation, error) {
	return &conversation{b: b, history: &history{}}, nil
}

// Close has nothing to close.
func (b *Backend) Close(context.Context) error { return nil }

// conversation is one session. It runs one turn at a time.
type conversation struct {
	b       *Backend
	history *history
	system  []Section   // of the last request
	gaveUp  core.TurnID // the turn in which a summary failed
	pace    progress    // of the turn
	narrow  narrow      // the window, after a refusal
	// searches is set once there were too many tools. It stays set, because services
	// cache requests from their beginning, which is the list of tools.
	searches bool
	fell     []core.FellBack // announced in this turn
	warned   []string        // about instructions
	slow     []string        // servers that the user knows to be starting
	trusted  bool            // the user has been told what that means
}

// Set does nothing: every turn has its settings.
func (c *conversation) Set(context.Context, core.Settings) error { return nil }

// Close does nothing: a conversation only has memory.
func (c *conversation) Close(context.Context) error { return nil }

// Run runs a turn. It blocks until the model has stopped and every call has ended, or
// ctx ends.
func (c *conversation) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	model, err := c.b.o.Model(ctx, t)
	if err != nil {
		return core.StopError, err
	}
	model = c.limited(t, model)
	if focus, asked := t.Compact(); asked {
		if err := c.compactNow(ctx, t, model, focus); err != nil {
			return core.StopError, err
		}
		if len(t.Steered()) == 0 {
			return core.StopEnd, nil
		}
	}
	if err := c.sayTrusted(ctx, t); err != nil {
		return core.StopError, err
	}
	if err := c.awaitServers(ctx, t); err != nil {
		return core.StopError, err
	}
	for range c.b.o.MaxRequests {
		t.Steered() // they are in the log now
		if err := c.catchUp(ctx, t); err != nil {
			return core.StopError, err
		}
		if err := c.instruct(ctx, t, c.window(t, model.Info())); err != nil {
			return core.StopError, err
		}
		stop, over, err := c.round(ctx, t, model)
		if over || err != nil {
			return stop, err
		}
	}
	return core.StopRequests, nil
}

// sayTrusted tells the user once what it means that they trust the session.
func (c *conversation) sayTrusted(ctx context.Context, t *core.Turn) error {
	if c.trusted || !t.Settings().Trust || c.b.o.Trusted == nil {
		return nil
	}
	c.trusted = true
	if text := c.b.o.Trusted(t); text != "" {
		return t.Emit(ctx, core.Notice{Severity: core.Warning, Text: text})
	}
	return nil
}

// round asks the model once and runs its calls. over means that the turn has ended.
func (c *conversation) round(
	ctx context.Context, t *core.Turn, model inference.Model,
) (stop core.StopReason, over bool, err error) {
	specs, err := c.tools(ctx, t)
	if err != nil {
		return core.StopError, true, err
	}
	req, tools := c.request(t, model.Info(), specs)
	base := beside(req)
	if err := c.makeRoom(ctx, t, model, specs, base); err != nil {
		return core.StopError, true, err
	}
	req.Messages = c.messages(model.Info())
	c.history.ask()
	a, err := c.listen(ctx, t, model, req, tools)
	if overflowed(err) {
		switch done, failed := c.shrink(ctx, t, model, specs, base); {
		case failed != nil:
			return core.StopError, true, failed
		case done:
			return c.round(ctx, t, model)
		}
	}
	if err != nil {
		return core.StopError, true, err
	}
	if a.stop == core.StopRefusal || a.stop == core.StopError {
		return a.stop, true, nil
	}
	if len(a.calls) > 0 {
		c.pace.answered(t.ID(), a.calls)
		err := c.run(ctx, t, a.calls)
		if asked := t.Later(); len(asked) > 0 && err == nil {
			if err = c.catchUp(ctx, t); err == nil { // the text of the question counts as an answer to the results
				err = c.fit(ctx, t, specs, base, c.window(t, model.Info()))
			}
			return core.StopEnd, true, errors.Join(err, leave(ctx, t, asked, a.calls))
		}
		return "", false, err
	}
	if len(t.Steered()) == 0 {
		return a.stop, true, nil
	}
	return "", false, nil // a new message needs an answer
}

// tools returns the tools that are offered to the agent.
func (c *conversation) tools(ctx context.Context, t *core.Turn) ([]core.Spec, error) {
	specs, err := t.Tools(ctx)
	if err != nil || c.b.o.Offer == nil {
		return specs, err
	}
	return slices.DeleteFunc(slices.Clone(specs), func(s core.Spec) bool { return !c.b.o.Offer(s) }), nil
}

// catchUp folds the new records of the log.
func (c *conversation) catchUp(ctx context.Context, t *core.Turn) error {
	stale, err := c.history.follow(t.Records(ctx, c.history.pos))
	if stale {
		c.history = &history{}
		_, err = c.history.follow(t.Records(ctx, core.Pos{}))
	}
	return err
}

// request returns the request to the model, without the messages.
func (c *conversation) request(
	t *core.Turn,
	info inference.ModelInfo,
	specs []core.Spec,
) (*inference.Request, *index) {
	c.system = withClients(c.b.o.System(t.Meta(), info.ID), t.System())
	c.system = append(c.system, Section{inference.PartContext, contextText(c.history.standing)})
	req := &inference.Request{
		Principal: t.Meta().Principal, Session: t.Meta().ID, System: joined(c.system), Refused: c.history.refused,
		Effort: info.Effort(t.Settings().Effort),
	}
	var tools *index
	if info.Tools {
		req.Tools, tools = c.offer(specs, info.MaxTools)
	}
	return req, tools
}

// offer lists the tools for the model, which may have to search for some of them. limit is the model's own limit of
// their number; 0: none.
func (c *conversation) offer(specs []core.Spec, limit int) ([]inference.ToolSpec, *index) {
	list, tools := offer(specs)
	most := c.b.o.MaxTools
	if limit > 0 && (most == 0 || limit < most) {
		most = limit
	}
	foreign := func(s core.Spec) bool { return s.Server != core.Native }
	if most > 0 && len(specs) > most && slices.ContainsFunc(specs, foreign) {
		c.searches = true
	}
	if c.searches {
		list = tools.behindSearch(list)
	}
	return list, tools
}

// messages returns the history in a form that the model accepts.
func (c *conversation) messages(info inference.ModelInfo) []inference.Message {
	list := c.history.messages()
	if !info.Images {
		list = withoutImages(list, info)
	}
	return list
}

// withoutImages replaces pictures by text, for a model that does not accept them.
func withoutImages(messages []inference.Message, info inference.ModelInfo) []inference.Message {
	list := messages
	for i := range messages {
		m := &messages[i]
		if !slices.ContainsFunc(m.Blocks, isImage) && !slices.ContainsFunc(m.Result.Blocks, isImage) {
			continue
		}
		if &list[0] == &messages[0] {
			list = slices.Clone(messages)
		}
		list[i].Blocks, list[i].Result.Blocks = inWords(m.Blocks, info), inWords(m.Result.Blocks, info)
	}
	return list
}

// isImage reports whether a block would be sent as a picture, also one without content.
func isImage(b core.Block) bool {
	_, is := b.(core.Image)
	return is || isPicture(b)
}

func inWords(blocks []core.Block, info inference.ModelInfo) []core.Block {
	list := slices.Clone(blocks)
	for i, b := range list {
		if isImage(b) {
			list[i] = core.Text{Text: fmt.Sprintf("(There was a picture here. The model %s does not accept pictures.)", info.ID)}
		}
	}
	return list
}
