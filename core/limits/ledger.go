package limits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"dragoman/core/datadir"
)

// ledger is what the processes of a data folder share: its size does not grow with what happens.
type ledger struct {
	Days   map[string]expenses `json:"days,omitempty"`   // by date
	Agents map[string]figures  `json:"agents,omitempty"` // by the names of agents behind the gateway
}

// expenses are those of a day, and up to where a person has let them go.
type expenses struct {
	Spent   quantity `json:"spent"`
	Granted quantity `json:"granted"`
}

// figures says of which units an agent has given figures.
type figures [units]bool

// far reports whether a day need not be kept beside another one. The days next to it are: processes may be in
// different time zones.
func far(date, other string) bool {
	a, errA := time.Parse(time.DateOnly, date)
	b, errB := time.Parse(time.DateOnly, other)
	return errA != nil || errB != nil || a.Sub(b).Abs() > 48*time.Hour
}

// dateOf is the key of a local day.
func dateOf(t time.Time) string { return t.Local().Format(time.DateOnly) }

// ledgerWait limits the wait for other processes that change the ledger.
const ledgerWait = 10 * time.Second

// change changes the expenses of a day. It also adds what could not be added before. change returns
// false to leave them as they are.
func (m *Meter) change(ctx context.Context, date string, change func(*expenses) bool) error {
	m.mu.Lock()
	owed := m.owed
	m.owed = nil
	m.mu.Unlock()
	err := m.edit(ctx, func(l *ledger) bool {
		for date, q := range owed {
			e := l.Days[date]
			e.Spent.add(q)
			l.Days[date] = e
		}
		e := l.Days[date]
		changed := change(&e)
		l.Days[date] = e
		maps.DeleteFunc(l.Days, func(other string, _ expenses) bool { return far(date, other) })
		return changed || len(owed) > 0
	})
	if err != nil {
		for date, q := range owed {
			m.owe(date, q)
		}
	}
	return err
}

// edit changes the ledger, unless edit returns false.
func (m *Meter) edit(ctx context.Context, edit func(*ledger) bool) error {
	if m.ledger.Path == "" {
		return errors.New("count what was spent: there is no data folder, and limits of a day need one")
	}
	ctx, stop := context.WithTimeoutCause(ctx, ledgerWait, fmt.Errorf("it was not free within %v", ledgerWait))
	defer stop()
	err := m.ledger.Change(ctx, func(was ledger) (ledger, error) {
		next := ledger{Days: maps.Clone(was.Days), Agents: maps.Clone(was.Agents)}
		if next.Days == nil {
			next.Days = map[string]expenses{}
		}
		if next.Agents == nil {
			next.Agents = map[string]figures{}
		}
		if !edit(&next) {
			return was, datadir.ErrUnchanged
		}
		return next, nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("count what was spent in %s: %w; make the file writable, or remove it to begin the day anew", m.ledger.Path, err)
	}
	return err
}

// owe keeps what could not be added to the ledger, for the next change.
func (m *Meter) owe(date string, q quantity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owed == nil {
		m.owed = map[string]quantity{}
	}
	sum := m.owed[date]
	sum.add(q)
	m.owed[date] = sum
}
