package llm

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// gate limits the requests to a provider: the number at once, the number per minute,
// and none for a model before the time given by the service. Requests that wait are
// sent in the order of their arrival.
type gate struct {
	slots chan struct{} // holds one token for each running request; nil: no limit
	turn  chan struct{} // holds the token of the request that waits for the time

	mu    sync.Mutex           // guards the fields below
	sent  []time.Time          // within the window, a ring
	next  int                  // the oldest of sent
	until map[string]time.Time // by model
}

const (
	window  = time.Minute // the period of PerMinute
	maxHeld = 256         // models whose times are kept
)

func newGate(concurrent, perMinute int) *gate {
	g := &gate{
		turn:  make(chan struct{}, 1),
		sent:  make([]time.Time, max(perMinute, 0)),
		until: map[string]time.Time{},
	}
	if concurrent > 0 {
		g.slots = make(chan struct{}, concurrent)
	}
	return g
}

// enter waits until a request for a model may be sent. Call leave when the answer has
// ended. Before it waits, enter calls wait with the longest time that this can take (0:
// unknown); wait reports whether to continue.
func (g *gate) enter(
	ctx context.Context,
	model string,
	wait func(time.Duration) bool,
) (leave func(), err error) {
	leave = func() {}
	if g.slots != nil {
		select {
		case g.slots <- struct{}{}:
		default:
			if err := g.queue(ctx, g.slots, wait); err != nil {
				return nil, err
			}
		}
		leave = func() { <-g.slots }
	}
	if err := g.pass(ctx, model, wait); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// queue waits for a free slot in a channel.
func (g *gate) queue(ctx context.Context, room chan struct{}, wait func(time.Duration) bool) error {
	if !wait(0) {
		return errLeft
	}
	select {
	case room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass waits for a free place in the rate limit. Only requests that pass count; a
// request that gives up while it waits does not.
func (g *gate) pass(ctx context.Context, model string, wait func(time.Duration) bool) error {
	for left := g.held(model); left > 0; left = g.held(model) {
		if err := rest(ctx, left, wait); err != nil {
			return err
		}
	}
	if g.claim(len(g.turn) > 0) <= 0 {
		return nil
	}
	select {
	case g.turn <- struct{}{}:
	default:
		if err := g.queue(ctx, g.turn, wait); err != nil {
			return err
		}
	}
	defer func() { <-g.turn }()
	for left := g.claim(false); left > 0; left = g.claim(false) {
		if err := rest(ctx, left, wait); err != nil {
			return err
		}
	}
	return nil
}

// rest waits for a known time.
func rest(ctx context.Context, d time.Duration, wait func(time.Duration) bool) error {
	if !wait(d) {
		return errLeft
	}
	return sleep(ctx, d)
}

// held returns how long the service accepts no requests for a model.
func (g *gate) held(model string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := time.Until(g.until[model])
	if left <= 0 {
		delete(g.until, model)
	}
	return left
}

// claim takes a place in the window if there is one; otherwise it returns how long to
// wait. others means that another request is already waiting.
func (g *gate) claim(others bool) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.sent) == 0 {
		return 0
	}
	now := time.Now()
	if oldest := g.sent[g.next]; !oldest.IsZero() && oldest.Add(window).After(now) {
		return oldest.Add(window).Sub(now)
	}
	if others {
		return 1 // after the others
	}
	g.sent[g.next] = now
	g.next = (g.next + 1) % len(g.sent)
	return 0
}

// heed reads the limits in a service's answer. If a model's limit is exhausted, the
// next request waits until it is reset. If that would take too long, the request is
// sent, and the service reports the problem.
func (g *gate) heed(model string, h http.Header, status int) {
	d := usedUp(h)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable ||
		status == statusOverloaded {
		d = max(d, retryAfter(h, status))
	}
	if d <= 0 || d > maxWait {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if len(g.until) >= maxHeld {
		for m, at := range g.until {
			if at.Before(now) {
				delete(g.until, m)
			}
		}
	}
	if at := now.Add(d); len(g.until) < maxHeld && at.After(g.until[model]) {
		g.until[model] = at
	}
}

// statusOverloaded is a status of Anthropic's own.
const statusOverloaded = 529

// usedUp returns from an answer's headers how long the limit stays exhausted; 0: it is
// not, or unknown.
func usedUp(h http.Header) time.Duration {
	var d time.Duration
	for _, what := range []string{"-Requests", "-Tokens", ""} {
		if h.Get("X-Ratelimit-Remaining"+what) == "0" {
			d = max(d, resetTime(h.Get("X-Ratelimit-Reset"+what)))
		}
	}
	for _, what := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
		if h.Get("Anthropic-Ratelimit-"+what+"-Remaining") == "0" {
			if at, err := time.Parse(time.RFC3339, h.Get("Anthropic-Ratelimit-"+what+"-Reset")); err == nil {
				d = max(d, time.Until(at))
			}
		}
	}
	return d
}
