package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// hangs is a child's turn that waits to be stopped, at a call that is asked about.
func hangs(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = touches(ctx, turn) })
	defer wg.Wait()
	<-ctx.Done()
	return "", ctx.Err()
}

// A cancel of the parent's turn ends the child's as cancelled, and leaves nothing
// that waits or runs.
func TestDelegateCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: hangs})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		c := f.child(0, core.Client{Name: "viewer"})
		defer c.Close()
		if len(f.parent.Pending()) != 1 {
			t.Fatal("nothing waits")
		}
		if err := f.parent.Cancel(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		if end := f.over(); end.Stop != core.StopCanceled {
			t.Errorf("%+v", end)
		}
		got := logOf(t, c)
		if last := got[len(got)-1]; last != "TurnEnded cancelled" {
			t.Errorf("the child:\n%s", strings.Join(got, "\n"))
		}
		if st := c.State(); st.Turn != "" || len(st.Asks) > 0 {
			t.Errorf("the child: %+v", st)
		}
		if !errors.Is(f.failed[0], core.ErrCanceled) {
			t.Errorf("%v", f.failed[0])
		}
		if _, err := c.Prompt(t.Context(), say("another one")); err != nil { // it goes on to be a session
			t.Error(err)
		}
	})
}

// A cancel of the child's own turn ends the task, and not the parent's turn.
func TestDelegateCanceledInTheChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: hangs})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		c := f.child(0, core.Client{Name: "another"})
		defer c.Close()
		if err := c.Cancel(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		if end := f.over(); end.Stop != core.StopEnd || f.came[0].Stop != core.StopCanceled || f.failed[0] != nil {
			t.Errorf("%+v; %+v, %v", end, f.came[0], f.failed[0])
		}
	})
}

// A child that is deleted while it works ends its task.
func TestDelegateDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: hangs})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		c := f.child(0, core.Client{Name: "another"})
		c.Close()
		if err := f.g.Delete(t.Context(), core.Local, c.Meta().ID, core.Deletion{All: true}); err != nil {
			t.Fatal(err)
		}
		if end := f.over(); end.Stop != core.StopEnd {
			t.Errorf("%+v", end)
		}
		if d, err := f.came[0], f.failed[0]; d.Stop != core.StopCanceled && err == nil {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// A gateway that closes while a task is on its way ends both turns, and waits for
// everything.
func TestDelegateWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: hangs, tasks: 3})
		prompt(t, f.parent, say("go"))
		synctest.Wait()
		closeGateway(t, f.g)
		if len(f.came) != 3 {
			t.Fatalf("%d tasks have ended", len(f.came))
		}
		for i, err := range f.failed { // whichever of the two sessions was closed first
			if !errors.Is(err, core.ErrShutdown) && !errors.Is(err, core.ErrClosed) && !strings.Contains(f.came[i].Err, core.ErrShutdown.Error()) {
				t.Errorf("%+v, %v", f.came[i], err)
			}
		}
		again := core.New(core.Config{Store: f.store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return &core.Profile{}, nil })})
		defer closeGateway(t, again)
		for _, id := range append(f.children, "s") {
			s, err := again.Open(t.Context(), core.Local, id)
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "later"})
			got := logOf(t, a)
			if last := got[len(got)-1]; !strings.HasPrefix(last, "TurnEnded ") || strings.Contains(last, "interrupted") {
				t.Errorf("session %s:\n%s", id, strings.Join(got, "\n"))
			}
			a.Close()
		}
	})
}

// A child that cannot be stored fails its task; a parent that cannot be stored ends
// the child's work before its next effect.
func TestDelegateStoreFails(t *testing.T) {
	full := errors.New("no space left on device")
	for _, parent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			broken := false
			f := raise(t, kin{work: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				stop, err := touches(ctx, turn)
				select {
				case <-time.After(time.Second): // what is written has been
				case <-ctx.Done():
				}
				return stop, err
			}, store: func(id core.SessionID, op string) error {
				if broken && op == "write" && (id == "s") == parent {
					return full
				}
				return nil
			}})
			prompt(t, f.parent, say("go"))
			synctest.Wait()
			broken = true
			if err := f.parent.Decide(t.Context(), f.parent.Pending()[0].ID, core.AllowOnce, ""); err != nil != parent {
				t.Errorf("the decision: %v", err)
			}
			<-time.After(2 * time.Second)
			end := f.over()
			if parent && (end.Stop != core.StopError || !strings.Contains(end.Err, "no space left")) {
				t.Errorf("%+v", end)
			}
			if d, err := f.came[0], f.failed[0]; parent && err == nil || !parent && (d.Stop != core.StopError || !strings.Contains(d.Err, "no space left") || err != nil) {
				t.Errorf("%+v, %v", d, err)
			}
			if !parent && end.Stop != core.StopEnd {
				t.Errorf("%+v", end)
			}
			broken = false
			_ = f.g.Close(t.Context())
		})
	}
}

// A child that cannot be made is an error of the call, and the turn goes on.
func TestDelegateNoChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{store: func(id core.SessionID, op string) error {
			if op == "create" && id != "s" {
				return errors.New("no space left on device")
			}
			return nil
		}})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		if end := f.over(); end.Stop != core.StopEnd || f.failed[0] == nil || !strings.Contains(f.failed[0].Error(), "no space left") {
			t.Errorf("%+v, %v", end, f.failed)
		}
	})
}

// A session that is deleted takes its sub-sessions along, and no others.
func TestDeleteWithChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: func(context.Context, *core.Turn) (core.StopReason, error) { return core.StopEnd, nil }})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		f.over()
		if _, err := f.g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "other", Cwd: "/w"}); err != nil {
			t.Fatal(err)
		}
		if err := f.g.Delete(t.Context(), core.Local, f.parent.Meta().ID, core.Deletion{All: true}); err != nil {
			t.Fatal(err)
		}
		var left []core.SessionID
		for sum, err := range f.g.List(t.Context(), core.Local) {
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, sum.ID)
		}
		if !slices.Equal(left, []core.SessionID{"other"}) {
			t.Errorf("left: %q", left)
		}
	})
}
