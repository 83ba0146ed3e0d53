package upstream

import (
	"maps"
	"sync"
	"time"
)

// outage counts the failed starts of a server for all its keepers in a folder, so that one of them
// tries again, and not each.
type outage struct {
	mu      sync.Mutex // guards the fields below
	fails   int        // failed starts in a row; those that overlap count once
	at      time.Time  // of the last one
	after   time.Time  // no start of its own accord before this time
	why     string
	by      *Keeper          // the one that tries again; nil: the next one that wants to
	waiting map[*Keeper]bool // that want the server to run
}

// wanted notes that a keeper wants the server to run. It returns the reason why it does not, if another
// start has failed, and whether the next try is this keeper's.
func (o *outage) wanted(k *Keeper) (why string, mine bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fails == 0 {
		return "", true
	}
	o.waitLocked(k)
	return o.why, o.by == nil && o.fails < maxTries
}

func (o *outage) waitLocked(k *Keeper) {
	if o.waiting == nil {
		o.waiting = map[*Keeper]bool{}
	}
	o.waiting[k] = true
}

// failed notes a failed start, which has begun at a time.
func (o *outage) failed(k *Keeper, began time.Time, why string, pause func(fails int) time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fails == 0 || !began.Before(o.at) {
		o.fails++
		o.at = time.Now()
		o.after = o.at.Add(pause(o.fails))
	}
	if o.why = why; o.by == nil {
		o.by = k
	}
	o.waitLocked(k)
}

// forget forgets the failures, because somebody wants the server tried anew.
func (o *outage) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fails, o.after, o.why, o.by = 0, time.Time{}, "", nil
}

// over ends the outage: the server runs for a keeper. It returns the others that want it to run.
func (o *outage) over(k *Keeper) (others []*Keeper) {
	o.forget()
	o.mu.Lock()
	defer o.mu.Unlock()
	for other := range o.waiting {
		if other != k {
			others = append(others, other)
		}
	}
	o.waiting = nil
	return others
}

// leave forgets a keeper that has ended. It returns one that has to try in its place; nil: none has.
func (o *outage) leave(k *Keeper) (next *Keeper) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, k)
	if o.by != k {
		return nil
	}
	o.by = nil
	for other := range o.waiting {
		o.by = other
		return other
	}
	return nil
}

// due returns the number of failed starts, the time of the next start, and whether it is a keeper's to
// make.
func (o *outage) due(k *Keeper) (fails int, after time.Time, mine bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil && o.waiting[k] {
		o.by = k
	}
	return o.fails, o.after, o.fails == 0 || o.by == k
}

// outageKey identifies the outage of a server: what can be started in one folder may not be in another.
type outageKey struct {
	server string
	rev    int
	dir    string
}

// outages are those of all servers of the configuration.
type outages struct {
	mu sync.Mutex // guards the field below
	of map[outageKey]*outage
}

// find returns the outage of a server in a folder; one that a client brings along has one of its own.
func (a *outages) find(s Server, dir string) *outage {
	if s.brought {
		return &outage{}
	}
	key := outageKey{s.Name, s.Rev, dir}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[outageKey]*outage{}
	}
	if a.of[key] == nil {
		a.of[key] = &outage{}
	}
	return a.of[key]
}

// drop forgets those of a server whose configuration has changed.
func (a *outages) drop(server string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.of, func(k outageKey, _ *outage) bool { return k.server == server })
}
