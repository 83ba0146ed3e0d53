package opening

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

var errBroken = errors.New("broken")

func never(t *testing.T) func() (int, error) {
	return func() (int, error) {
		t.Error("it was opened again")
		return 0, nil
	}
}

// Everybody who comes while a thing is being opened gets it, or the error; and nobody finds it before.
func TestOpenTogether(t *testing.T) {
	for _, fails := range []error{nil, errBroken} {
		synctest.Test(t, func(t *testing.T) {
			var g Group[string, int]
			gate := make(chan struct{})
			type result struct {
				value int
				made  bool
				err   error
			}
			got := make(chan result, 3)
			go func() {
				v, made, err := g.Open(t.Context(), "k", func() (int, error) { <-gate; return 7, fails })
				got <- result{v, made, err}
			}()
			synctest.Wait()
			for range 2 {
				go func() {
					v, made, err := g.Open(t.Context(), "k", never(t))
					got <- result{v, made, err}
				}()
			}
			gone, leave := context.WithCancelCause(t.Context())
			leave(errBroken)
			if _, _, err := g.Open(gone, "k", never(t)); !errors.Is(err, errBroken) {
				t.Errorf("one that leaves got %v", err)
			}
			synctest.Wait()
			g.Each(func(int) { t.Error("it is not open yet") })
			if g.Find("k") != 0 || len(got) != 0 {
				t.Error("it is not open yet")
			}
			close(gate)
			makers := 0
			for range 3 {
				r := <-got
				if r.value != 7 || r.err != fails { //nolint:errorlint // the very same
					t.Errorf("got %+v", r)
				}
				if r.made {
					makers++
				}
			}
			if makers != 1 {
				t.Errorf("%d have made it", makers)
			}
			if found := g.Find("k"); (found == 7) != (fails == nil) {
				t.Errorf("found %d after %v", found, fails)
			}
		})
	}
}

// What has failed can be opened again, and what has been forgotten, too; but not what has another's key.
func TestForget(t *testing.T) {
	var g Group[string, int]
	open := func(v int, err error) bool {
		_, made, _ := g.Open(t.Context(), "k", func() (int, error) { return v, err })
		return made
	}
	if !open(0, errBroken) || !open(1, nil) || open(2, nil) {
		t.Error("a failure stays, or what is open does not")
	}
	g.Forget("k", 1)
	if g.Find("k") != 0 || !open(2, nil) {
		t.Error("it was not forgotten")
	}
	g.Forget("k", 1)
	if g.Find("k") != 2 {
		t.Error("another one was forgotten")
	}
}

func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string, int]
		gate := make(chan struct{})
		for key, open := range map[string]func() (int, error){
			"open": func() (int, error) { return 1, nil }, "slow": func() (int, error) { <-gate; return 2, nil },
			"failing": func() (int, error) { <-gate; return 4, errBroken },
		} {
			go func() { _, _, _ = g.Open(t.Context(), key, open) }()
		}
		synctest.Wait()
		list := g.End()
		g.Each(func(int) { t.Error("the group has ended") })
		if _, _, err := g.Open(t.Context(), "open", never(t)); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
		close(gate)
		sum := 0
		for _, o := range list {
			sum += o.Wait()
		}
		if sum != 1+2 {
			t.Errorf("waited for %d", sum)
		}
	})
}
