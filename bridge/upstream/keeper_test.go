package upstream

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// testJob is a keeper of a server that follows the test.
type testJob struct {
	*Keeper
	start func(ctx context.Context) error // the result of a start; nil: it succeeds at once
	wants error                           // the reason for requiring a login

	began time.Time

	mu     sync.Mutex // guards the fields below
	starts []time.Duration
	faults []string // that were reported
	seen   []string // the statuses
}

// keepUp runs a keeper until the test ends.
func keepUp(t *testing.T, start func(ctx context.Context) error) *testJob {
	j := &testJob{start: start, began: time.Now()}
	pause := func(fails int) time.Duration { return time.Second << (fails - 1) }
	j.Keeper = newKeeper("up", j, &outage{}, pause, func() error { return j.wants }, func(status string) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.seen = append(j.seen, status)
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.run(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	synctest.Wait()
	return j
}

func (j *testJob) Begin(ctx context.Context) (*Peer, error) {
	j.mu.Lock()
	j.starts = append(j.starts, time.Since(j.began))
	j.mu.Unlock()
	if j.start != nil {
		if err := j.start(ctx); err != nil {
			return nil, err
		}
	}
	in, theirs := io.Pipe()
	_, out := io.Pipe()
	return NewPeer(&Link{In: in, Out: out, Close: func() { theirs.Close() }, Why: func() string { return "it broke" }}, Hello{}), nil
}

func (j *testJob) Follow(ctx context.Context, p *Peer) string {
	select {
	case <-ctx.Done():
	case <-p.Done:
	}
	p.Close()
	return p.link.Why()
}

func (j *testJob) Failed(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = append(j.faults, why)
}

// breaks ends the connection as a server does.
func (j *testJob) breaks() {
	j.Running().link.In.Close()
	synctest.Wait()
}

func (j *testJob) told(t *testing.T, status, why string) {
	t.Helper()
	synctest.Wait()
	if n := j.now(); n.status != status || n.why != why {
		t.Errorf("it is %s (%s), want %s (%s)", n.status, n.why, status, why)
	}
}

// startedAt compares the times of the server's starts, in seconds.
func (j *testJob) startedAt(t *testing.T, want ...int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var got []int
	for _, s := range j.starts {
		got = append(got, int(s/time.Second))
	}
	if !slices.Equal(got, want) {
		t.Errorf("it was started at %v, want %v", got, want)
	}
}

// Every change leads from every status to the one in the table, and a late change has no effect.
func TestKeeperSteps(t *testing.T) {
	const none = ""
	for status, want := range map[string][8]string{ // onWanted, onMissed, onAsked, onMade, onFailed, onLockedOut, onAdmitted, onEnded
		statusStopped:  {statusStarting, statusFailed, none, none, none, none, none, statusStopped},
		statusStarting: {statusStarting, none, statusStarting, statusRunning, statusFailed, statusLogin, none, statusStopped},
		statusRunning:  {none, none, none, none, statusFailed, statusLogin, none, statusStopped},
		statusFailed:   {statusStarting, none, none, none, none, none, none, statusStopped},
		statusLogin:    {statusStarting, none, none, none, none, none, statusStarting, statusStopped},
	} {
		for c, next := range want {
			told := none
			k := newKeeper("up", nil, &outage{}, nil, nil, func(status string) { told = status })
			k.status, k.why = status, "before"
			moved, p := k.moved, &Peer{}
			done := k.step(change(c), "after", p)
			if done != (next != none) || told != next {
				t.Errorf("%s, change %d: %v, told %q", status, c, done, told)
			}
			select {
			case <-moved:
				if !done || k.status != next || k.why != "after" || k.peer != p {
					t.Errorf("%s, change %d: %+v", status, c, k.now())
				}
			default:
				if done || k.status != status || k.why != "before" || k.peer != nil {
					t.Errorf("%s, change %d: %+v", status, c, k.now())
				}
			}
		}
	}
}

// A server that does not start is tried again after growing pauses, a few times, and then when it
// is needed. A person who starts it resets the tries.
func TestKeeperPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepUp(t, func(context.Context) error { return errors.New("no license") })
		k.told(t, statusStopped, "")
		k.nudge()
		<-time.After(time.Hour - time.Nanosecond)
		k.told(t, statusFailed, "no license")
		k.startedAt(t, 0, 1, 3)
		if _, err := k.Acquire(t.Context(), true); err == nil || err.Error() != "the MCP server up does not run: no license; it can be started again in 8s" {
			t.Error(err)
		}
		k.startedAt(t, 0, 1, 3, 3599)
		if _, err := k.Acquire(t.Context(), false); err == nil || !strings.HasSuffix(err.Error(), "no license; it can be started again in 8s") {
			t.Error(err)
		}
		k.nudge() // without effect: the pause is not over
		synctest.Wait()
		k.startedAt(t, 0, 1, 3, 3599)
		k.summon()
		synctest.Wait()
		k.startedAt(t, 0, 1, 3, 3599, 3599)
		<-time.After(time.Second)
		k.told(t, statusFailed, "no license")
		k.startedAt(t, 0, 1, 3, 3599, 3599, 3600)
		if len(k.faults) != 6 {
			t.Errorf("told of %q", k.faults)
		}
	})
}

// What one keeper has found out of a server counts for all: together they start it a few times, and the
// one that tries again hands that over when it ends. All have the server once it runs for one.
func TestKeepersShareFailedStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex // guards what the keepers' goroutines use
		works := false
		var starts []int
		o := &outage{}
		keep := func() (k *testJob, end func()) {
			k = &testJob{began: began, start: func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				starts = append(starts, int(time.Since(began)/time.Second))
				if works {
					return nil
				}
				return errors.New("no license")
			}}
			k.Keeper = newKeeper("up", k, o, func(fails int) time.Duration { return 10 * time.Second << (fails - 1) }, func() error { return nil }, nil)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				k.run(ctx)
			}()
			end = func() { stop(); <-ended }
			t.Cleanup(end)
			k.expect()
			synctest.Wait()
			return k, end
		}
		started := func(want ...int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(starts, want) {
				t.Errorf("it was started at %v, want %v", starts, want)
			}
		}
		a, endA := keep()
		b, _ := keep()
		b.told(t, statusFailed, "no license")
		started(0)
		if _, err := b.Acquire(t.Context(), false); err == nil || !strings.HasSuffix(err.Error(), "it can be started again in 10s") {
			t.Error(err)
		}
		<-time.After(11 * time.Second)
		started(0, 10)
		a.told(t, statusFailed, "no license")
		endA()
		<-time.After(time.Hour)
		started(0, 10, 30)
		c, _ := keep()
		<-time.After(time.Hour)
		started(0, 10, 30)
		c.told(t, statusFailed, "no license")
		mu.Lock()
		works = true
		mu.Unlock()
		if _, err := c.Acquire(t.Context(), false); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		b.told(t, statusRunning, "")
		c.told(t, statusRunning, "")
		d, _ := keep()
		d.told(t, statusRunning, "")
	})
}

// Starts that run at the same time count once.
func TestKeepersThatFailTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outage{}
		var all []*testJob
		for range 3 {
			k := keepUp(t, func(context.Context) error {
				<-time.After(time.Second)
				return errors.New("no license")
			})
			k.outage = o
			all = append(all, k)
		}
		for _, k := range all {
			k.expect()
		}
		<-time.After(time.Hour)
		n := 0
		for _, k := range all {
			k.told(t, statusFailed, "no license")
			n += len(k.starts)
		}
		if n != 3+2 {
			t.Errorf("it was started %d times", n)
		}
	})
}

// A server that the user has refused is not tried again automatically.
func TestKeeperOfARefusedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepUp(t, func(context.Context) error { return errRefused })
		k.nudge()
		<-time.After(time.Hour)
		k.startedAt(t, 0)
	})
}

// Failures are counted, unless the server has run for a while before.
func TestKeeperForgetsFailuresOfASteadyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepUp(t, nil)
		k.nudge()
		synctest.Wait()
		k.breaks() // at 0
		k.told(t, statusFailed, "it broke")
		<-time.After(time.Second)
		synctest.Wait()
		k.breaks() // at 1
		<-time.After(2*time.Second + steadyFor)
		synctest.Wait()
		k.breaks() // at 33
		<-time.After(time.Second)
		k.told(t, statusRunning, "")
		k.startedAt(t, 0, 1, 3, 34)
		if want := []string{
			statusStarting, statusRunning, statusFailed, statusStarting, statusRunning, statusFailed,
			statusStarting, statusRunning, statusFailed, statusStarting, statusRunning,
		}; !slices.Equal(k.seen, want) {
			t.Errorf("seen: %q", k.seen)
		}
	})
}

// All concurrent callers get one connection. Patient callers wait for the end of a pause, and all
// wait for a start, until they leave.
func TestKeeperAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepUp(t, func(context.Context) error {
			<-time.After(5 * time.Second)
			return nil
		})
		left, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, err := k.Acquire(left, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if p, err := k.Acquire(t.Context(), false); err != nil || p != k.Running() {
					t.Error(err)
				}
			})
		}
		all.Wait()
		k.startedAt(t, 0)
		k.breaks() // at 5
		if _, err := k.Acquire(t.Context(), false); err == nil || err.Error() != "the MCP server up does not run: it broke; it can be started again in 1s" {
			t.Error(err)
		}
		if p, err := k.Acquire(t.Context(), true); err != nil || p == nil {
			t.Error(err)
		}
		k.startedAt(t, 0, 6)
	})
}

// A held server ends, or is not started, and is not started again until it is released.
func TestKeeperHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepUp(t, func(ctx context.Context) error {
			select {
			case <-time.After(5 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		k.nudge()
		<-time.After(time.Second)
		k.told(t, statusStarting, "")
		k.waits("waits for your answer")
		k.told(t, statusStarting, "waits for your answer")
		k.hold("you have stopped it")
		k.told(t, statusStopped, "")
		k.waits("waits for your answer") // too late
		k.admit()
		k.expect()
		k.summon()
		k.told(t, statusStopped, "")
		if _, err := k.Acquire(t.Context(), true); err == nil || err.Error() != "the MCP server up does not run: you have stopped it" {
			t.Error(err)
		}
		<-time.After(time.Hour)
		k.startedAt(t, 0)
		if usable, was := k.release(); !usable || !was {
			t.Error(usable, was)
		}
		if usable, was := k.release(); !usable || was {
			t.Error("again:", usable, was)
		}
		k.expect()
		if n := k.now(); n.status != statusStarting {
			t.Errorf("%+v", n)
		}
		p, err := k.Acquire(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		k.hold("you have stopped it")
		<-p.Done
		k.told(t, statusStopped, "")
		if why := k.endOf(p); why != "you have stopped it" {
			t.Errorf("it has ended: %s", why)
		}
		if len(k.faults) > 0 {
			t.Errorf("told of %q", k.faults)
		}
	})
}

// A keeper that is held permanently ends with its connection.
func TestKeeperRetires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &testJob{}
		j.Keeper = newKeeper("up", j, &outage{}, nil, func() error { return nil }, nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			j.run(t.Context())
		}()
		p, err := j.Acquire(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		j.retire("it is gone")
		j.retire("it is gone for good")
		<-ended
		<-p.Done
		if usable, was := j.release(); usable || was {
			t.Error(usable, was)
		}
		if _, err := j.Acquire(t.Context(), true); err == nil || !strings.HasSuffix(err.Error(), "it is gone for good") {
			t.Error(err)
		}
	})
}

// A server that requires a login is tried when it is needed, and at once after a login.
func TestKeeperWaitsForALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k *testJob
		k = keepUp(t, func(context.Context) error { return k.wants })
		k.wants = errors.New("it requires a login")
		k.admit() // it does not wait for a login
		k.nudge()
		<-time.After(time.Hour)
		k.told(t, statusLogin, "it requires a login")
		k.startedAt(t, 0)
		if _, err := k.Acquire(t.Context(), false); err == nil || err.Error() != "the MCP server up does not run: it requires a login" {
			t.Error(err)
		}
		k.startedAt(t, 0, 3600)
		k.wants = nil
		k.admit()
		k.told(t, statusRunning, "")
		k.startedAt(t, 0, 3600, 3600)
		k.wants = errors.New("it requires a login")
		k.dismiss()
		k.told(t, statusLogin, "it requires a login")
	})
}

// A login during a start counts, even if that start fails: the callers that wait for the start
// wait for the next one.
func TestKeeperIsAdmittedDuringAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := make(chan error)
		k := keepUp(t, func(context.Context) error { return <-refused })
		got := make(chan error)
		go func() {
			_, err := k.Acquire(t.Context(), false)
			got <- err
		}()
		synctest.Wait()
		k.admit()
		refused <- errors.New("this start was too early")
		refused <- nil
		if err := <-got; err != nil {
			t.Error(err)
		}
		k.startedAt(t, 0, 0)
		if len(k.faults) > 0 || slices.Contains(k.seen, statusFailed) {
			t.Errorf("told of %q, seen %q", k.faults, k.seen)
		}
	})
}
