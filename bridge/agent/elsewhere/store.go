package elsewhere

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"dragoman/core"
)

// Store adds the sessions that agents had by themselves to the lists of one principal, whose agents
// they are. One is made here when it is first claimed.
type Store struct {
	core.Store

	Principal core.Principal
	History   *History
	// Agents returns the configured agents, by name.
	Agents func() map[string]Agent
}

// Agent is the part of an agent's configuration that its sessions' places in lists depend on.
type Agent struct {
	Program string // its command; agents with the same one have the same sessions. "": nobody else has it
	// Has reports whether it can have a session in a folder of this machine; nil: in any. The kept list
	// may be older than the configuration.
	Has func(dir string) bool
}

// theirs names a session of a program.
type theirs struct{ program, session string }

func (a Agent) has(dir string) bool { return dir != "" && (a.Has == nil || a.Has(dir)) }

// List implements core.Store.
func (s Store) List(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	return s.with(p, s.Store.List(ctx, p), all)
}

// ListNow implements core.ListerNow.
func (s Store) ListNow(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	if now, ok := s.Store.(core.ListerNow); ok {
		return s.with(p, now.ListNow(ctx, p), all)
	}
	return s.List(ctx, p)
}

// Conversations implements core.ListerNow.
func (s Store) Conversations(ctx context.Context, p core.Principal, part core.Part) iter.Seq2[core.Summary, error] {
	now, ok := s.Store.(core.ListerNow)
	if !ok {
		return part.Of(s.List(ctx, p))
	}
	return s.with(p, now.Conversations(ctx, p, part), func(sum core.Summary) bool { return part.Follows(sum) && part.May(sum) })
}

func all(core.Summary) bool { return true }

// with adds the sessions that agents had by themselves to a list. has selects them.
func (s Store) with(p core.Principal, ours iter.Seq2[core.Summary, error], has func(core.Summary) bool) iter.Seq2[core.Summary, error] {
	return func(yield func(core.Summary, error) bool) {
		more := s.foreign(p)
		theirs := make(map[core.SessionID]bool, len(more))
		for _, sum := range more {
			theirs[sum.ID] = true
		}
		more = slices.DeleteFunc(more, func(sum core.Summary) bool { return !has(sum) })
		for sum, err := range ours {
			for err == nil && len(more) > 0 && more[0].Compare(sum) < 0 {
				if !yield(more[0], nil) {
					return
				}
				more = more[1:]
			}
			if err == nil && theirs[sum.ID] {
				continue // its import has failed: it is listed as the agent's
			}
			if !yield(sum, err) {
				return
			}
		}
		for _, sum := range more {
			if !yield(sum, nil) {
				return
			}
		}
	}
}

// foreign lists the sessions that agents had by themselves, last used first.
func (s Store) foreign(p core.Principal) (list []core.Summary) {
	if p != s.Principal {
		return nil
	}
	all, err := s.History.doc.Read()
	if err != nil {
		return nil // it never hides our own sessions
	}
	agents := s.Agents()
	seen := map[theirs]bool{} // it is one of ours, was deleted here, or is listed
	for agent, is := range agents {
		for session := range all[agent].Ours {
			seen[theirs{cmp.Or(is.Program, agent), session}] = true
		}
		for session := range all[agent].Hidden {
			seen[theirs{cmp.Or(is.Program, agent), session}] = true
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		is := agents[agent]
		for _, e := range all[agent].Sessions {
			one := theirs{cmp.Or(is.Program, agent), e.Session}
			if seen[one] || !is.has(e.Cwd) {
				continue
			}
			seen[one] = true
			list = append(list, core.Summary{
				ID: ImportID(agent, e.Session), Title: e.Title, Cwd: e.Cwd, Roots: []string{e.Cwd}, Created: e.Updated, Updated: e.Updated, Agent: agent,
				Messages:  1, // the agent does not say how many
				Elsewhere: true,
			})
		}
	}
	slices.SortFunc(list, core.Summary.Compare)
	return list
}

// Open implements core.Store.
func (s Store) Open(ctx context.Context, p core.Principal, id core.SessionID) (core.Journal, error) {
	j, err := s.Store.Open(ctx, p, id)
	if !errors.Is(err, core.ErrNotFound) || p != s.Principal {
		return j, err
	}
	from, e, ok := s.History.Find(id)
	if !ok {
		return j, err
	}
	if is, ok := s.Agents()[from.Agent]; !ok || !is.has(e.Cwd) {
		return j, err
	}
	return &journal{store: s.Store, meta: core.Meta{ID: id, Principal: p, Cwd: e.Cwd, Roots: []string{e.Cwd}, From: from, Created: e.Updated}}, nil
}

// Delete implements core.Store. The agent keeps its own side.
func (s Store) Delete(ctx context.Context, p core.Principal, id core.SessionID) error {
	if err := s.Store.Delete(ctx, p, id); err != nil || p != s.Principal {
		return err
	}
	return s.History.hide(ctx, id)
}
