package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/jsonl"
)

// settled is the time for which the log of a session must be unchanged before it goes.
const settled = time.Hour

// client is the name under which sessions are archived.
const client = "dragoman"

// None reports whether the rules never do anything.
func None(rules configs.Sessions) bool { return rules.ArchiveAfter <= 0 && rules.DeleteAfter <= 0 }

// Old is a session that nobody has used for as long as the rules say.
type Old struct {
	core.Summary
	Used   time.Time        // when it or one of its tasks was used last
	Tasks  []core.SessionID // those of its tasks, and of theirs
	Delete bool             // else it is archived
	Spared string           // the reason why it stays nevertheless; empty: it goes
}

// Store lists sessions and knows who uses them.
type Store interface {
	List(context.Context, core.Principal) iter.Seq2[core.Summary, error]
	Use(core.Principal, core.SessionID) (jsonl.Use, error)
}

// Due lists the sessions that are old, the longest unused first.
func Due(ctx context.Context, store Store, rules configs.Sessions, now time.Time) (list []Old, err error) {
	all, err := trees(ctx, store)
	if err != nil || None(rules) {
		return nil, err
	}
	for _, old := range all {
		age := now.Sub(old.Used)
		old.Delete = rules.DeleteAfter > 0 && age >= rules.DeleteAfter
		if !old.Delete && (rules.ArchiveAfter <= 0 || age < rules.ArchiveAfter || old.Archived || old.Parent != "") {
			continue
		}
		if old.Spared, err = spared(store, old, now); err != nil {
			return nil, err
		}
		list = append(list, old)
	}
	slices.SortFunc(list, func(a, b Old) int { return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// Next returns the session that the rules will delete next, or else archive next, and when; ok is false
// if there is none.
func Next(ctx context.Context, store Store, rules configs.Sessions, now time.Time) (old Old, at time.Time, ok bool, err error) {
	all, err := trees(ctx, store)
	for _, o := range all {
		due := o.Used.Add(rules.ArchiveAfter)
		if o.Delete = rules.DeleteAfter > 0 && (rules.ArchiveAfter <= 0 || o.Archived || rules.DeleteAfter <= rules.ArchiveAfter); o.Delete {
			due = o.Used.Add(rules.DeleteAfter)
		} else if rules.ArchiveAfter <= 0 || o.Archived {
			continue
		}
		if due.After(now) && (!ok || due.Before(at)) {
			old, at, ok = o, due, true
		}
	}
	return old, at, ok, err
}

// trees lists the sessions that no listed one has delegated, with their tasks.
func trees(ctx context.Context, store Store) (all []Old, err error) {
	sums := map[core.SessionID]core.Summary{}
	for sum, err := range store.List(ctx, core.Local) {
		if err != nil {
			return nil, err
		}
		if !sum.Elsewhere {
			sums[sum.ID] = sum
		}
	}
	top := func(sum core.Summary) core.SessionID {
		for range sums { // a circle of parents has no top
			parent, ok := sums[sum.Parent]
			if !ok || sum.Parent == "" {
				return sum.ID
			}
			sum = parent
		}
		return ""
	}
	byTop := map[core.SessionID]*Old{}
	for id, sum := range sums {
		if top(sum) == id {
			byTop[id] = &Old{Summary: sum, Used: sum.Updated}
		}
	}
	for id, sum := range sums {
		old := byTop[top(sum)]
		if old == nil || old.ID == id {
			continue
		}
		old.Tasks = append(old.Tasks, id)
		if sum.Updated.After(old.Used) {
			old.Used = sum.Updated
		}
	}
	for _, old := range byTop {
		slices.Sort(old.Tasks)
		all = append(all, *old)
	}
	return all, nil
}

// ids lists a session and those of its tasks.
func (o Old) ids() []core.SessionID { return append([]core.SessionID{o.ID}, o.Tasks...) }

// spared returns the reason why a session stays; empty: it goes.
func spared(store Store, old Old, now time.Time) (string, error) {
	for _, id := range old.ids() {
		use, err := store.Use(core.Local, id)
		switch {
		case errors.Is(err, core.ErrNotFound):
		case err != nil:
			return "", err
		case use.Owner != "":
			return "it is in use by " + use.Owner, nil
		case use.Watched:
			return "a program has it open", nil
		case now.Sub(use.Changed) < settled:
			return "it was changed within the last hour", nil
		}
	}
	return "", nil
}

// Apply archives or deletes a session, unless it is used by now: then the reason is returned.
func Apply(ctx context.Context, g *core.Gateway, store Store, old Old, now time.Time) (why string, err error) {
	for _, id := range old.ids() {
		if open, err := g.Has(ctx, core.Local, id); err == nil && open {
			return "this program has it open", nil
		}
	}
	if why, err = spared(store, old, now); why != "" || err != nil {
		return why, err
	}
	if old.Delete {
		err = remove(ctx, g, old)
	} else {
		err = archive(ctx, g, old.ID)
	}
	if owned := (*core.OwnedError)(nil); errors.As(err, &owned) {
		return owned.Error(), nil
	}
	if used := (*core.AttendedError)(nil); errors.As(err, &used) {
		return used.Error(), nil
	}
	if errors.Is(err, core.ErrNotFound) { // another process was faster
		return "", nil
	}
	return "", err
}

// remove deletes the session first: it begins no more tasks then. A task that is left goes by itself
// later.
func remove(ctx context.Context, g *core.Gateway, old Old) error {
	for _, id := range old.ids() {
		if err := g.Delete(ctx, core.Local, id, core.Deletion{}); err != nil {
			return err
		}
	}
	return nil
}

func archive(ctx context.Context, g *core.Gateway, id core.SessionID) error {
	s, err := g.Open(ctx, core.Local, id)
	if err != nil {
		return err
	}
	a := s.Attach(core.Client{Name: client, Principal: core.Local})
	defer a.Leave()
	if err := a.Archive(ctx, true); err != nil {
		return fmt.Errorf("archive session %s: %w", id, err)
	}
	return nil
}
