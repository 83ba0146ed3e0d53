package bridge

import (
	"context"
	"errors"

	"dragoman/core"
)

// Try starts every server once, beside each other, says how they are, in their
// order, and ends them again. It blocks until each runs or has failed, or ctx ends.
func (b *Box) Try(ctx context.Context, m core.Meta) ([]core.ServerItem, error) {
	opened, err := b.Open(ctx, alone{m})
	if err != nil {
		return nil, err
	}
	ups := map[string]*upstream{}
	for _, u := range opened.(*set).ups {
		u.nudge()
		u.listed(ctx, ctx)
		ups[u.server.Name] = u
	}
	var items []core.ServerItem
	for _, s := range b.list() {
		item := core.ServerItem{Name: s.Name, Status: statusDisabled}
		if u := ups[s.Name]; u != nil {
			var list []*listed
			item.Status, item.Why, list = u.state()
			for _, l := range list {
				item.Tools = append(item.Tools, l.spec)
			}
		}
		items = append(items, item)
	}
	return items, errors.Join(opened.Close(), context.Cause(ctx))
}

// alone is a session with nobody in it.
type alone struct{ meta core.Meta }

func (a alone) Meta() core.Meta     { return a.meta }
func (a alone) Editor() core.Editor { return nil }
func (a alone) Board() *core.Board  { return nil }

func (a alone) Servers() []core.ServerSpec { return nil }

func (a alone) Delegate(context.Context, core.Task) (core.Delegated, error) {
	return core.Delegated{}, errors.New("nobody is here")
}

func (a alone) Ask(context.Context, core.Ask) (core.Reply, error) {
	return core.Reply{Outcome: core.OutcomeAlone}, nil
}
