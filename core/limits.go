package core

import "context"

// Expense is what something takes from its user: US dollars, and tokens in and out.
type Expense struct {
	Cost   float64 `json:"cost,omitempty"`
	Tokens int     `json:"tokens,omitempty"`
}

// Plus returns the sum.
func (e Expense) Plus(o Expense) Expense { return Expense{e.Cost + o.Cost, e.Tokens + o.Tokens} }

// Beyond returns by how much a running total has grown since o.
func (e Expense) Beyond(o Expense) Expense {
	return Expense{max(0, e.Cost-o.Cost), max(0, e.Tokens-o.Tokens)}
}

// ExpenseOf returns what a usage took, as far as it is known.
func ExpenseOf(u Usage) Expense {
	e := Expense{Tokens: u.In + u.Out}
	if u.Cost != nil {
		e.Cost = *u.Cost
	}
	return e
}

// Since returns what was spent since the totals of before: what an agent says about its last answer
// may be said again, or not at all. Totals that have become smaller began anew.
func (e UsageChanged) Since(before Usage) Usage {
	u := e.Last
	if n := e.Total.In + e.Total.Out - before.In - before.Out; n >= 0 {
		u = Usage{In: max(e.Total.In-before.In, 0), Cost: u.Cost}
		u.Out = n - u.In
	}
	if e.Total.Cost == nil {
		return u
	}
	was := 0.0
	if before.Cost != nil {
		was = *before.Cost
	}
	switch more := *e.Total.Cost - was; {
	case more >= 0:
		u.Cost = &more
	case u.Cost == nil:
		u.Cost = e.Total.Cost
	}
	return u
}

// Purchase is a request that a turn is about to make to a model.
type Purchase struct {
	Model    string  // PROVIDER/MODEL
	Least    Expense // of the input alone
	Unpriced bool    // the model's price is unknown
}

// Limits holds turns to what their user lets them spend. A turn at a limit pauses with a question
// (Turn.AskToContinue); one that does not go on ends with the error, which is a *LimitError unless
// the limits could not be kept.
type Limits interface {
	// Begin is called before an agent behind the gateway gets a turn, which cannot be paused.
	Begin(context.Context, *Turn) error
	// Hold is called before a request to a model. settle is called once behind it, with what it took.
	Hold(context.Context, *Turn, Purchase) (settle func(Usage), err error)
	// Report takes what an agent behind the gateway has spent since the last report, and ends
	// the turn at a limit (Turn.Stop). A cost that is nil is unknown.
	Report(*Turn, Usage)
}

// LimitError ends a turn with StopLimit. Its text is for people.
type LimitError struct{ Text string }

func (e *LimitError) Error() string { return e.Text }

// Limits are those of the turn's profile; nil: there are none.
func (t *Turn) Limits() Limits {
	if p := t.Profile(); p != nil {
		return p.Limits
	}
	return nil
}

// Root is the turn that a person or a program has prompted, and for which this one works: the running
// turn of the session that delegated the task. Without one it is this turn.
func (t *Turn) Root() *Turn {
	for s := t.s; s.meta.Parent != ""; {
		parent := s.g.live(sessionKey{s.meta.Principal, s.meta.Parent})
		if parent == nil {
			break
		}
		parent.mu.Lock()
		above := parent.turn
		parent.mu.Unlock()
		if above == nil {
			break
		}
		s, t = parent, above
	}
	return t
}

// Stop ends the turn because of err.
func (t *Turn) Stop(err error) { t.cancel(err) }
