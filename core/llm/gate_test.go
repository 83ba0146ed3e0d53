package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// timedService answers "fine" after a while, and records the times of the requests.
type timedService struct {
	began time.Time
	takes time.Duration
	head  func(n int, h http.Header) // of the n-th answer, from 0

	mu    sync.Mutex // guards the fields below
	came  []time.Duration
	now   int
	peak  int
	count int
}

func (s *timedService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	s.mu.Lock()
	n := s.count
	s.count++
	s.now++
	s.peak = max(s.peak, s.now)
	s.came = append(s.came, time.Since(s.began))
	s.mu.Unlock()
	if s.head != nil {
		s.head(n, w.Header())
	}
	if w.Header().Get("Retry-After") != "" {
		fail(w, http.StatusTooManyRequests, "slow down", "rate_limit_error")
	} else {
		out := newStream(w)
		_ = sleep(r.Context(), s.takes)
		out.text("fine")
		out.end("stop", usage12and3)
	}
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
}

// TestGateConcurrent: no more than two requests run; the others report that they wait,
// may give up, and then have used no slot.
func TestGateConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &timedService{began: time.Now(), takes: 10 * time.Second}
		m := model(t, serve(t, Provider{Concurrent: 2}, s.ServeHTTP))
		var all sync.WaitGroup
		var waited atomic.Int32
		for range 6 {
			all.Go(func() {
				h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
				if h.Text != "fine" || h.Err != nil {
					t.Errorf("%q, %v", h.Text, h.Err)
				}
				waited.Add(int32(len(h.Retries)))
			})
		}
		synctest.Wait()
		for range 40 {
			ctx, cancel := context.WithCancel(t.Context())
			h := coretest.Hear(ctx, t, m, coretest.ModelRequest(), func(d inference.Delta) bool {
				if d.Kind == inference.DeltaRetry {
					cancel()
				}
				return true
			})
			if cancel(); !errors.Is(h.Err, context.Canceled) || len(h.Retries) != 1 {
				t.Fatalf("%v after %v", h.Err, h.Retries)
			}
			// A consumer that stops reading is no longer waited for.
			coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), func(inference.Delta) bool { return false })
		}
		all.Wait()
		if s.peak != 2 || waited.Load() != 4 || s.count != 6 {
			t.Errorf("at most %d at once, %d waited, %d requests", s.peak, waited.Load(), s.count)
		}
	})
}

// TestGatePerMinute: three requests a minute are sent, the others in their order, and
// requests that give up do not count.
func TestGatePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &timedService{began: time.Now(), takes: time.Second}
		m := model(t, serve(t, Provider{PerMinute: 3}, s.ServeHTTP))
		for range 3 {
			coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
		}
		for range 40 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if h := coretest.Hear(ctx, t, m, coretest.ModelRequest(), nil); !errors.Is(h.Err, context.DeadlineExceeded) {
				t.Fatalf("%q, %v", h.Text, h.Err)
			}
			cancel()
		}
		var all sync.WaitGroup
		var mu sync.Mutex // guards order
		var order []int
		for i := range 4 {
			all.Go(func() {
				h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), func(d inference.Delta) bool {
					if d.Kind == inference.DeltaText {
						mu.Lock()
						order = append(order, i)
						mu.Unlock()
					}
					return true
				})
				if len(h.Retries) == 0 || i == 0 && !slices.Equal(h.Retries, []time.Duration{time.Minute - 3*time.Second - 40*time.Millisecond}) {
					t.Errorf("%d waited %v", i, h.Retries)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		want := []time.Duration{0, 1, 2, 60, 61, 62, 120}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(s.came, want) || !slices.Equal(order, []int{0, 1, 2, 3}) {
			t.Errorf("came at %v, in the order %v", s.came, order)
		}
	})
}

// TestGateHeeds: the limits in a service's answer apply to the next request for the
// same model, unless the wait is too long.
func TestGateHeeds(t *testing.T) {
	for name, c := range map[string]struct {
		head map[string]string
		want time.Duration
	}{
		"some left": {map[string]string{"X-Ratelimit-Remaining-Requests": "1", "X-Ratelimit-Reset-Requests": "5s"}, 0},
		"none left": {map[string]string{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "5s", "X-Ratelimit-Reset-Tokens": "9s"}, 5 * time.Second},
		"no tokens": {map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "1m"}, time.Minute},
		"for long":  {map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "2h"}, 0},
		"anthropic": {map[string]string{"Anthropic-Ratelimit-Requests-Remaining": "0", "Anthropic-Ratelimit-Requests-Reset": "2000-01-01T00:00:07Z"}, 7 * time.Second},
		"garbage":   {map[string]string{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "soon", "Anthropic-Ratelimit-Requests-Remaining": "0"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &timedService{began: time.Now(), head: func(_ int, h http.Header) {
					for k, v := range c.head {
						h.Set(k, v)
					}
				}}
				r := serve(t, Provider{}, s.ServeHTTP)
				m := model(t, r)
				coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
				h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
				if s.came[1] != c.want || (len(h.Retries) > 0) != (c.want > 0) {
					t.Errorf("came at %v, told %v; want %v", s.came, h.Retries, c.want)
				}
				other, err := r.Model("svc/other")
				if err != nil {
					t.Fatal(err)
				}
				if h := coretest.Hear(t.Context(), t, other, coretest.ModelRequest(), nil); len(h.Retries) > 0 {
					t.Errorf("another model waits %v", h.Retries)
				}
			})
		})
	}
}

// A refusal delays the other sessions as well.
func TestGateRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &timedService{began: time.Now(), head: func(n int, h http.Header) {
			if n == 0 {
				h.Set("Retry-After", "3")
			}
		}}
		m := model(t, serve(t, Provider{}, s.ServeHTTP))
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
				if h.Text != "fine" || !slices.Equal(h.Retries, []time.Duration{3 * time.Second}) {
					t.Errorf("%q, %v after %v", h.Text, h.Err, h.Retries)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if want := []time.Duration{0, 3 * time.Second, 3 * time.Second}; !slices.Equal(s.came, want) {
			t.Errorf("came at %v", s.came)
		}
	})
}

// A registry that replaces another continues with the limits of unchanged providers:
// sent and running requests count, and so do the limits in the service's answers.
// Others start again.
func TestGateOutlivesRegistry(t *testing.T) {
	again := func(t *testing.T, before *Registry, change func(*Provider)) inference.Model {
		t.Helper()
		p := before.providers[0].Provider
		p.Headers = map[string]string{"X-New": "1"} // still the same service
		if change != nil {
			change(&p)
		}
		r := New(Config{Providers: []Provider{{Name: "first", Kind: KindOllama}, p}, Transport: before.client().Transport, Before: []*Registry{before}})
		t.Cleanup(r.Close)
		return model(t, r)
	}
	limits := map[string]struct {
		p    Provider
		head map[string]string
		want time.Duration
	}{
		"per minute": {Provider{PerMinute: 1}, nil, time.Minute},
		"named":      {Provider{}, map[string]string{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "5s"}, 5 * time.Second},
	}
	for name, c := range limits {
		for what, change := range map[string]func(*Provider){
			"same": nil, "limits": func(p *Provider) { p.Concurrent = 9 }, "address": func(p *Provider) { p.BaseURL += "/x" }, "key": func(p *Provider) { p.KeyHint = "It comes from a file." },
		} {
			synctest.Test(t, func(t *testing.T) {
				s := &timedService{began: time.Now(), head: func(_ int, h http.Header) {
					for k, v := range c.head {
						h.Set(k, v)
					}
				}}
				first := serve(t, c.p, s.ServeHTTP)
				coretest.Hear(t.Context(), t, model(t, first), coretest.ModelRequest(), nil)
				h := coretest.Hear(t.Context(), t, again(t, first, change), coretest.ModelRequest(), nil)
				if waited := s.came[1] != 0; h.Text != "fine" || waited != (change == nil) || waited && s.came[1] != c.want {
					t.Errorf("%s, %s: %q, %v, came at %v", name, what, h.Text, h.Err, s.came)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := &timedService{began: time.Now(), takes: 10 * time.Second}
		first := serve(t, Provider{Concurrent: 1}, s.ServeHTTP)
		var all sync.WaitGroup
		all.Go(func() { coretest.Hear(t.Context(), t, model(t, first), coretest.ModelRequest(), nil) })
		synctest.Wait()
		h := coretest.Hear(t.Context(), t, again(t, first, nil), coretest.ModelRequest(), nil)
		if all.Wait(); s.peak != 1 || len(h.Retries) != 1 || h.Text != "fine" {
			t.Errorf("%d at once; %q after %v", s.peak, h.Text, h.Retries)
		}
	})
}
