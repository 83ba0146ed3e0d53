package pump_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/pump"
	"dragoman/core"
	"dragoman/core/coretest"
)

// sink collects a pump's output. While it is shut there is no room.
type sink struct {
	mu    sync.Mutex // guards the fields below
	lines []string
	shut  chan struct{}
}

func (s *sink) PutLines(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")...)
	return nil
}

func (s *sink) put(line string) { _ = s.PutLines([]byte(line + "\n")) }

func (s *sink) Room(ctx context.Context, _ int) error {
	s.mu.Lock()
	shut := s.shut
	s.mu.Unlock()
	if shut == nil {
		return ctx.Err()
	}
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *sink) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// dialect writes a line for each text and each end.
type dialect struct {
	name    string
	prompts *pump.Prompts
	lost    chan error
	past    bool // until the end of a turn
}

func (d *dialect) Encode(dst []byte, r core.Record) ([]byte, func()) {
	switch e := r.Event.(type) {
	case core.TextDelta:
		dst = fmt.Appendf(dst, "%s: %s\n", d.name, e.Text)
	case core.TurnEnded:
		dst = fmt.Appendf(dst, "%s: end\n", d.name)
		d.past = false
	}
	return dst, d.prompts.After(r.Event)
}

func (d *dialect) Caught(core.Pos) {}

func (d *dialect) Past() bool { return d.past }

func (d *dialect) Lost(err error) { d.lost <- err }

func echo(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	m := t.NewMessage()
	for _, b := range t.Prompt() {
		text, _ := b.(core.Text)
		if text.Text == "hang" {
			<-ctx.Done()
			return "", ctx.Err()
		}
		if err := t.Emit(ctx, core.TextDelta{Message: m, Text: text.Text}); err != nil {
			return "", err
		}
	}
	return core.StopEnd, nil
}

type bench struct {
	t    *testing.T
	g    *core.Gateway
	out  *sink
	pump *pump.Pump
	wg   sync.WaitGroup
	end  context.CancelFunc
	ran  chan error
}

func newBench(t *testing.T) *bench { return newBenchOver(t, coretest.NewMemory()) }

func newBenchOver(t *testing.T, store core.Store) *bench {
	b := &bench{t: t, g: coretest.Gateway(store, echo, nil), out: &sink{}, ran: make(chan error, 1)}
	b.run(b.out, 0)
	return b
}

// run starts the pump.
func (b *bench) run(out pump.Output, pace time.Duration) {
	b.pump = pump.New(out)
	b.pump.Pace = pace
	var ctx context.Context
	ctx, b.end = context.WithCancel(b.t.Context())
	go func() { b.ran <- b.pump.Run(ctx) }()
}

func (b *bench) close() {
	b.end()
	if err := <-b.ran; !errors.Is(err, context.Canceled) {
		b.t.Errorf("Run: %v", err)
	}
	b.wg.Wait()
	if err := b.g.Close(b.t.Context()); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) session(name string) (*core.Attachment, *dialect, *pump.Queue) {
	s, err := b.g.Create(b.t.Context(), core.Meta{Principal: core.Local, ID: core.SessionID(name), Cwd: "/w"})
	if err != nil {
		b.t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "tester"})
	d := &dialect{name: name, prompts: &pump.Prompts{}, lost: make(chan error, 1)}
	b.pump.Add(a, core.Pos{}, d, func() { b.out.put(name + ": opened") })
	return a, d, pump.NewQueue(&b.wg)
}

// prompt registers a prompt and queues it, as an adapter does.
func (b *bench) prompt(a *core.Attachment, d *dialect, q *pump.Queue, text string) {
	ctx, ticket := d.prompts.Register(b.t.Context(),
		func(core.TurnID) { b.out.put(d.name + ": accepted " + text) },
		func(e core.TurnEnded) { b.out.put(d.name + ": answered " + text + " " + string(e.Stop)) })
	q.Go(func() {
		if _, err := a.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: text}}, Key: ticket.Key}); err != nil {
			b.t.Error(err)
		}
	})
}

// An answer comes right after the record that it must follow.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		a, d, q := b.session("s")
		b.prompt(a, d, q, "one")
		synctest.Wait()
		b.prompt(a, d, q, "two")
		synctest.Wait()
		b.close()
		want := []string{
			"s: opened", "s: accepted one", "s: one", "s: end", "s: answered one end_turn",
			"s: accepted two", "s: two", "s: end", "s: answered two end_turn",
		}
		if got := b.out.got(); !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	})
}

// A job comes before the records that are written after it, also if the pump reads them in one go
// with older ones that it was about to read.
func TestJobsComeBeforeLaterRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, slow, reads := coretest.NewMemory(), false, make(chan struct{})
		store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if op == "read" && slow {
				slow = false
				<-reads
			}
			return nil
		}
		b := newBenchOver(t, store)
		s, err := b.g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a, d, q := s.Attach(core.Client{Name: "tester"}), &dialect{name: "s", prompts: &pump.Prompts{}}, pump.NewQueue(&b.wg)
		b.prompt(a, d, q, "old")
		<-time.After(2 * time.Minute) // the session rests, and keeps nothing in memory
		b.prompt(a, d, q, "older")
		synctest.Wait()
		slow = true
		b.pump.Add(a, core.Pos{}, d, nil)
		synctest.Wait() // it is about to read
		b.pump.Do(func() { b.out.put("job") })
		b.prompt(a, d, q, "new")
		synctest.Wait()
		close(reads)
		synctest.Wait()
		b.close()
		got := b.out.got()
		if job, later := slices.Index(got, "job"), slices.Index(got, "s: new"); slow || job < 0 || later < job {
			t.Errorf("slow %v, got %q", slow, got)
		}
	})
}

// Under load: 6,000 prompts over 6 sessions, every answer right after its end. A session takes at
// most 1,024 prompts that wait.
func TestOrderUnderLoad(t *testing.T) {
	b := newBench(t)
	var left sync.WaitGroup
	for n := range 6 {
		a, d, q := b.session(fmt.Sprint("s", n))
		for i := range 1000 {
			text := fmt.Sprint(i)
			left.Add(1)
			ctx, ticket := d.prompts.Register(t.Context(), nil, func(core.TurnEnded) {
				b.out.put(d.name + ": answered " + text)
				left.Done()
			})
			q.Go(func() {
				if _, err := a.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: text}}, Key: ticket.Key}); err != nil {
					t.Error(err)
					left.Done()
				}
			})
		}
	}
	left.Wait()
	b.close()
	last, answers := map[string]string{}, 0
	for _, line := range b.out.got() {
		name, what, _ := strings.Cut(line, ": ")
		if strings.HasPrefix(what, "answered") {
			answers++
			if last[name] != "end" {
				t.Fatalf("%s stands behind %q", line, last[name])
			}
		}
		last[name] = what
	}
	if answers != 6000 {
		t.Errorf("%d answers", answers)
	}
}

// A cancel reaches every prompt that was registered before it and none after; a client that does
// not read gets everything later.
func TestCancelWithAnUnreadOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		a, d, q := b.session("s")
		synctest.Wait()
		b.out.mu.Lock()
		b.out.shut = make(chan struct{})
		b.out.mu.Unlock()
		b.pump.Do(func() {}) // it waits for room from now on
		synctest.Wait()
		b.prompt(a, d, q, "hang")
		b.prompt(a, d, q, "behind")
		none := 0
		d.prompts.Cancel()
		b.prompt(a, d, q, "after")
		d.prompts.WhenNone(func() { none++ })
		synctest.Wait()
		if n := d.prompts.Open(); n == 0 || none != 0 {
			t.Errorf("%d prompts are open while nobody reads, none=%d", n, none)
		}
		close(b.out.shut)
		b.out.mu.Lock()
		b.out.shut = nil
		b.out.mu.Unlock()
		synctest.Wait()
		got := strings.Join(b.out.got(), "\n")
		for _, want := range []string{"answered hang cancelled", "answered behind cancelled", "answered after end_turn"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%q is not there once:\n%s", want, got)
			}
		}
		if none != 1 || d.prompts.Open() != 0 {
			t.Errorf("none=%d, %d open", none, d.prompts.Open())
		}
		b.close()
	})
}

// A removed feed gets nothing more; the others continue.
func TestRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		a1, d1, q1 := b.session("gone")
		a2, d2, q2 := b.session("here")
		synctest.Wait()
		b.pump.Remove(d1)
		b.prompt(a1, d1, q1, "one")
		b.prompt(a2, d2, q2, "two")
		synctest.Wait()
		d1.prompts.Abandon(core.TurnEnded{Stop: core.StopError})
		got := strings.Join(b.out.got(), "\n")
		if strings.Contains(got, "gone: one") || !strings.Contains(got, "here: answered two") || !strings.Contains(got, "gone: answered one error") {
			t.Errorf("got\n%s", got)
		}
		b.close()
	})
}
