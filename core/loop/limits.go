package loop

import (
	"context"
	"iter"

	"dragoman/core"
	"dragoman/core/inference"
)

// limited returns a model that is asked within the turn's limits; without limits it is the model
// itself.
func (c *conversation) limited(t *core.Turn, m inference.Model) inference.Model {
	if t.Limits() == nil {
		return m
	}
	return &limitedModel{m, c, t}
}

// limitedModel holds what each request takes. A request that may not be made fails.
type limitedModel struct {
	inference.Model

	c *conversation
	t *core.Turn
}

// Stream implements inference.Model.
func (m *limitedModel) Stream(ctx context.Context, req *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		b := bill{m: m, size: m.c.estimate(req)}
		defer b.settle()
		if err := b.hold(ctx, m.Info()); err != nil {
			yield(inference.Delta{}, err)
			return
		}
		for d, err := range m.Model.Stream(ctx, req) {
			if err == nil {
				err = b.take(ctx, d)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// bill is what one request takes.
type bill struct {
	m     *limitedModel
	size  int // of the input, in tokens
	least core.Expense
	begun bool // the model has answered something
	used  *core.Usage
	owes  func(core.Usage) // settles what is held; nil: nothing is
}

// hold holds what a model takes at least.
func (b *bill) hold(ctx context.Context, info inference.ModelInfo) error {
	limits := b.m.t.Limits()
	if limits == nil || info.Offline {
		return nil
	}
	p := core.Purchase{Model: info.ID, Least: core.Expense{Tokens: b.size}, Unpriced: info.Price == nil}
	if info.Price != nil {
		p.Least.Cost = info.Price.Cost(core.Usage{In: b.size})
	}
	settle, err := limits.Hold(ctx, b.m.t, p)
	b.least, b.owes = p.Least, settle
	return err
}

// take notes what a delta says about the expense.
func (b *bill) take(ctx context.Context, d inference.Delta) error {
	switch d.Kind {
	case inference.DeltaUsage:
		used := d.Usage
		b.used = &used
	case inference.DeltaFellBack: // the other model has not been asked yet
		if b.settle(); d.Instead != nil {
			return b.hold(ctx, *d.Instead)
		}
	case inference.DeltaText, inference.DeltaThought, inference.DeltaSealed, inference.DeltaToolStart,
		inference.DeltaToolArgs, inference.DeltaToolEnd:
		b.begun = true
	case inference.DeltaRetry, inference.DeltaRefused, inference.DeltaStop:
	}
	return nil
}

// settle replaces what is held by what the request has taken: nothing if the model has not answered, and at
// least the input if it was stopped before it said how much.
func (b *bill) settle() {
	if b.owes == nil {
		return
	}
	var u core.Usage
	switch {
	case b.used != nil:
		u = *b.used
	case b.begun:
		u = core.Usage{In: b.least.Tokens, Cost: &b.least.Cost}
	}
	b.owes(u)
	b.owes, b.used, b.begun = nil, nil, false
}

// estimate returns about how many tokens the input of a request has.
func (c *conversation) estimate(req *inference.Request) int {
	if req.System != summarySystem {
		return c.history.load.total(beside(req))
	}
	n := beside(req)
	for _, m := range req.Messages {
		n += len(m.Text) + weigh(m.Blocks)
	}
	return n / bytesPerToken
}
