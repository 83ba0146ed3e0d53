package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// thing counts how often it was closed, and closes only when it is released.
type thing struct {
	closed  int
	release chan struct{}
	err     error
}

func (t *thing) Close(ctx context.Context) error {
	t.closed++
	if t.release == nil {
		return t.err
	}
	select {
	case <-t.release:
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestAThingIsSharedAndClosedOnce takes a thing twice. It is closed only after its key was
// retired and both users gave it back.
func TestAThingIsSharedAndClosedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool[string, *thing]
		made := 0
		take := func() *Lease[string, *thing] {
			l, err := p.Take("a", func() *thing { made++; return &thing{} })
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		first, second := take(), take()
		p.GiveBack(first)
		p.Retire("a", "unknown")
		synctest.Wait()
		if made != 1 || first != second || first.Value.closed != 0 || !first.Retired() {
			t.Fatalf("made %d, closed %d, retired %v", made, first.Value.closed, first.Retired())
		}
		if _, err := p.Take("a", nil); !errors.Is(err, ErrRetired) {
			t.Errorf("taking a retired key: %v", err)
		}
		p.GiveBack(second)
		synctest.Wait()
		if err := p.End(t.Context(), func(k string) string { return k }); err != nil || first.Value.closed != 1 || p.Find("a") != nil {
			t.Errorf("closed %d times, %v, %v", first.Value.closed, p.Find("a"), err)
		}
		if _, err := p.Take("b", nil); !errors.Is(err, ErrEnded) {
			t.Errorf("taking after the end: %v", err)
		}
	})
}

// TestEndReportsWhatDidNotClose ends a pool with a thing in use and one that fails to close. The
// first is closed when it is given back.
func TestEndReportsWhatDidNotClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool[string, *thing]
		broken := errors.New("it broke")
		take := func(key string, th *thing) *Lease[string, *thing] {
			l, err := p.Take(key, func() *thing { return th })
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		p.GiveBack(take("broken", &thing{err: broken}))
		used := take("used", &thing{})
		ctx, stop := context.WithTimeout(t.Context(), closeFor/2)
		defer stop()
		err := p.End(ctx, func(k string) string { return "thing " + k })
		if !errors.Is(err, broken) || !errors.Is(err, context.DeadlineExceeded) || used.Value.closed != 0 {
			t.Errorf("%v; closed %d times while it was used", err, used.Value.closed)
		}
		p.GiveBack(used)
		synctest.Wait()
		if used.Value.closed != 1 {
			t.Errorf("closed %d times after it was given back", used.Value.closed)
		}
	})
}

// TestAThingThatDoesNotCloseIsGivenUp closes a thing that waits for ever.
func TestAThingThatDoesNotCloseIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool[string, *thing]
		l, err := p.Take("stuck", func() *thing { return &thing{release: make(chan struct{})} })
		if err != nil {
			t.Fatal(err)
		}
		p.GiveBack(l)
		if err := p.End(t.Context(), func(k string) string { return k }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
