package share_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/share"
)

// slowStore is a store whose logs are read at most up to a gate.
type slowStore struct {
	core.Store

	gate chan struct{} // closed: logs are read to their ends
	held chan struct{} // gets one element when a reader waits at the gate
}

func (s *slowStore) Open(ctx context.Context, p core.Principal, id core.SessionID) (core.Journal, error) {
	j, err := s.Store.Open(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return slowJournal{j, s}, nil
}

type slowJournal struct {
	core.Journal

	of *slowStore
}

func (j slowJournal) Read(ctx context.Context, after core.Pos) iter.Seq2[core.Record, error] {
	return func(yield func(core.Record, error) bool) {
		for rec, err := range j.Journal.Read(ctx, after) {
			if e, ok := rec.Event.(core.TextDelta); ok && e.Text == "heard much" {
				select {
				case j.of.held <- struct{}{}:
				default:
				}
				<-j.of.gate
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// The commands of a process that reads the log more slowly than its owner writes it do not wait until it
// has read it.
func TestCommandsOfASlowReader(t *testing.T) {
	at := newPlace(t)
	slow := &slowStore{gate: make(chan struct{}), held: make(chan struct{}, 1)}
	one := at.start(t, "one", nil)
	two := at.start(t, "two", func(p *process, _ *share.Options) {
		p.over = func(s core.Store) core.Store { slow.Store = s; return slow }
	})
	a := one.open(core.Client{Name: "Zed"})
	shown(t, a, prompt(t, a, "first"))
	b := two.open(core.Client{Name: "Emacs"})
	r := b.Read(b.Head())
	defer r.Close()
	prompt(t, a, "much")
	<-slow.held // the other process reads, and is not done
	began := time.Now()
	id := prompt(t, b, "from the slow one")
	if err := b.Rename(t.Context(), "renamed"); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the commands took %v", took)
	}
	shown(t, a, id)
	if got := a.State().Title; got != "renamed" {
		t.Errorf("the title is %q", got)
	}
	close(slow.gate)
	shown(t, b, id)
}
