package share

import "sync"

// maxResults limits the results that are kept for orders that come again.
const maxResults = 1024

// result is that of an order.
type result struct {
	done chan struct{} // closed when the others are set
	is   done
	err  error
}

// results are those of the newest orders of a session, for orders that come again over another connection.
type results struct {
	mu    sync.Mutex // guards the fields below
	all   map[string]*result
	order []string // the keys, the oldest first
}

// of returns the result of an order, by its client and key; was is false if the caller has to find it.
func (l *results) of(key string) (r *result, was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.all[key]; r != nil {
		return r, true
	}
	if l.all == nil {
		l.all = map[string]*result{}
	}
	r = &result{done: make(chan struct{})}
	l.all[key] = r
	if l.order = append(l.order, key); len(l.order) > maxResults {
		delete(l.all, l.order[0])
		l.order = l.order[1:]
	}
	return r, false
}
