package refer

import (
	"context"
	"slices"
	"sync"

	"dragoman/core"
	"dragoman/core/workspace"
)

// Typing finds paths for what the user of a connection types. The names of one workspace are kept
// until Drop, or until another one is searched. The zero value is ready.
type Typing struct {
	mu     sync.Mutex        // guards the fields below
	newest map[string]*typed // the last query that runs, by method and chat
	prof   *core.Profile     // that the finder is from
	roots  []string          // its workspace
	finder workspace.Finder  // nil: nothing is kept
}

// typed is a query.
type typed struct{ end context.CancelFunc }

// Begin begins a query, and ends an older one of the same method and chat: its answer comes early,
// with what was found until then. done must be called.
func (t *Typing) Begin(ctx context.Context, method, chat string) (query context.Context, done func()) {
	query, end := context.WithCancel(ctx)
	key, q := method+" "+chat, &typed{end}
	t.mu.Lock()
	older := t.newest[key]
	if t.newest == nil {
		t.newest = map[string]*typed{}
	}
	t.newest[key] = q
	t.mu.Unlock()
	if older != nil {
		older.end()
	}
	return query, func() {
		end()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.newest[key] == q {
			delete(t.newest, key)
		}
	}
}

// Find returns the paths below the roots that match, the best first.
func (t *Typing) Find(ctx context.Context, prof *core.Profile, roots []string, query string, most int) []workspace.FileName {
	in := workspace.Of(prof).Files
	if in == nil || ctx.Err() != nil {
		return nil
	}
	t.mu.Lock()
	if t.finder == nil || t.prof != prof || !slices.Equal(t.roots, roots) {
		t.prof, t.roots, t.finder = prof, roots, in.Keep(roots)
	}
	f := t.finder
	t.mu.Unlock()
	return f.Find(ctx, query, most)
}

// Drop drops the names that are kept.
func (t *Typing) Drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prof, t.roots, t.finder = nil, nil, nil
}
