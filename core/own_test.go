package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// readOn reads the records behind a reader's position.
func readOn(t *testing.T, r *core.Reader, head core.Pos) (list []string) {
	t.Helper()
	for _, rec := range readTo(t, r, head) {
		if rec.Seq > 0 {
			list = append(list, fmt.Sprintf("%d.%d %s", rec.Seq, rec.Off, line(rec.Event)))
		}
	}
	return list
}

// held opens a session in a process of its own and attaches to it.
func held(t *testing.T, g *core.Gateway, name string) *core.Attachment {
	t.Helper()
	s, err := g.Open(t.Context(), core.Local, "s")
	if err != nil {
		t.Fatal(err)
	}
	return s.Attach(core.Client{Name: name})
}

// Two processes hold a session and take turns. Each shows what the other has added
// first, everything once, and in order.
func TestTwoProcessesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		long := strings.Repeat("long ", 100<<10)
		var clients []*core.Attachment
		var readers []*core.Reader
		seen := make([][]string, 2)
		for i := range 2 {
			g := coretest.Gateway(store, echo, nil)
			defer closeGateway(t, g)
			if i == 0 {
				if _, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"}); err != nil {
					t.Fatal(err)
				}
			}
			a := held(t, g, fmt.Sprint("client ", i))
			r := a.Read(core.Pos{})
			defer r.Close()
			clients, readers = append(clients, a), append(readers, r)
		}
		for round := range 6 {
			a, r := clients[round%2], readers[round%2]
			text := fmt.Sprint("round ", round)
			if round == 3 {
				text = long // memory does not hold all of it
			}
			prompt(t, a, say(text))
			synctest.Wait()
			if round != 4 { // who has not read reads later
				seen[round%2] = append(seen[round%2], readOn(t, r, a.Head())...)
			}
			<-time.After(2 * time.Minute)
		}
		g := coretest.Gateway(store, echo, nil)
		defer closeGateway(t, g)
		late := held(t, g, "late")
		prompt(t, late, say("the last"))
		synctest.Wait()
		r := late.Read(core.Pos{})
		defer r.Close()
		want := readOn(t, r, late.Head())
		<-time.After(2 * time.Minute)
		for i, a := range clients {
			if err := a.Rename(t.Context(), fmt.Sprint("renamed ", i)); err != nil {
				t.Fatal(err)
			}
			got := append(seen[i], readOn(t, readers[i], a.Head())...)
			if i == 0 && !strings.HasPrefix(strings.Join(got, "\n"), strings.Join(want, "\n")) || !strings.HasSuffix(got[len(got)-1], fmt.Sprint("renamed ", i)) {
				t.Errorf("client %d has seen\n%.3000s\nof\n%.3000s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			turns := map[string]int{}
			for _, l := range got {
				turns[l]++
			}
			for l, n := range turns {
				if n != 1 {
					t.Errorf("client %d has seen %d times %.60s", i, n, l)
				}
			}
			<-time.After(2 * time.Minute)
		}
	})
}

// A client sees what another process took back before it sees its own additions.
func TestTakenBackWhileASessionRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		mine, theirs := coretest.Gateway(store, echo, nil), coretest.Gateway(store, echo, nil)
		defer closeGateway(t, mine)
		defer closeGateway(t, theirs)
		if _, err := mine.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"}); err != nil {
			t.Fatal(err)
		}
		a := held(t, mine, "mine")
		r := a.Read(core.Pos{})
		defer r.Close()
		prompt(t, a, say("one"))
		synctest.Wait()
		keep := a.Head()
		prompt(t, a, say("two"))
		synctest.Wait()
		readOn(t, r, a.Head())
		<-time.After(2 * time.Minute)
		b := held(t, theirs, "theirs")
		if err := b.Truncate(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
		prompt(t, b, say("instead"))
		<-time.After(2 * time.Minute)
		prompt(t, a, say("three"))
		synctest.Wait()
		var kinds []string
		for _, l := range readOn(t, r, a.Head()) {
			_, l, _ = strings.Cut(l, " ")
			kinds = append(kinds, l)
		}
		wantLines(t, kinds, "Truncated", "TurnStarted", "TextDelta instead", "TurnEnded end_turn", "Claimed", "TurnStarted", "TextDelta three", "TurnEnded end_turn")
		if n := a.State().Messages; n != 6 {
			t.Errorf("%d messages", n)
		}
	})
}

// A session that another process has taken meanwhile is refused with the owner's name,
// until that one rests.
func TestOwnedWhileASessionRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		mine, theirs := coretest.Gateway(store, echo, nil), coretest.Gateway(store, echo, nil)
		defer closeGateway(t, mine)
		defer closeGateway(t, theirs)
		if _, err := mine.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"}); err != nil {
			t.Fatal(err)
		}
		a, b := held(t, mine, "mine"), held(t, theirs, "theirs")
		prompt(t, a, say("one"))
		<-time.After(30 * time.Second)
		if _, err := b.Prompt(t.Context(), say("too early")); !errors.As(err, new(*core.OwnedError)) {
			t.Errorf("it is not a minute yet: %v", err)
		}
		<-time.After(31 * time.Second)
		prompt(t, b, say("two"))
		if _, err := a.Prompt(t.Context(), say("too early")); !errors.As(err, new(*core.OwnedError)) {
			t.Errorf("somebody else has it: %v", err)
		}
		<-time.After(61 * time.Second)
		prompt(t, a, say("three"))
		synctest.Wait()
		if n := a.State().Messages; n != 6 {
			t.Errorf("%d messages", n)
		}
	})
}

// workbench is a toolset behind which something runs, and gives its host away.
type workbench struct {
	host  core.ToolHost
	works atomic.Bool
}

func (w *workbench) Open(_ context.Context, h core.ToolHost) (core.Toolset, error) {
	w.host = h
	return w, nil
}
func (w *workbench) Tools(context.Context) ([]core.Tool, error) { return nil, nil }
func (w *workbench) Changed() <-chan struct{}                   { return nil }
func (w *workbench) Close() error                               { return nil }
func (w *workbench) Rest() bool                                 { return !w.works.Load() }

// A session does not rest while something is under way in it, and rests afterwards.
func TestWhatKeepsASessionAwake(t *testing.T) {
	for name, keep := range map[string]func(t *testing.T, a *core.Attachment, w *workbench) (end func()){
		"a turn": func(t *testing.T, a *core.Attachment, _ *workbench) func() {
			prompt(t, a, say("hang"))
			return func() { _ = a.Cancel(t.Context(), "", nil) }
		},
		"a queued turn": func(t *testing.T, a *core.Attachment, _ *workbench) func() {
			first := prompt(t, a, say("hang"))
			prompt(t, a, say("hang"))
			_ = a.Cancel(t.Context(), first, nil)
			return func() { _ = a.Cancel(t.Context(), "", nil) }
		},
		"a question between turns": func(t *testing.T, a *core.Attachment, w *workbench) func() {
			go w.host.Ask(t.Context(), core.Ask{Text: "well?"}) //nolint:errcheck // it is answered below
			synctest.Wait()
			return func() {
				if err := a.Answer(t.Context(), a.Pending()[0].ID, core.Reply{Outcome: core.OutcomeAnswered, Text: "yes"}); err != nil {
					t.Error(err)
				}
			}
		},
		"a job": func(_ *testing.T, _ *core.Attachment, w *workbench) func() {
			w.works.Store(true)
			return func() { w.works.Store(false) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, w := coretest.NewMemory(), &workbench{}
				var released atomic.Int32
				store.Before = func(_ context.Context, op string, _ core.SessionID) error {
					if op == "release" {
						released.Add(1)
					}
					return nil
				}
				backend := &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
					if turn.Prompt()[0].(core.Text).Text == "hang" {
						<-ctx.Done()
					}
					return core.StopEnd, nil
				}}
				prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: backend}}, Toolboxes: []core.Toolbox{w}, AskTimeout: 24 * time.Hour}
				g := core.New(core.Config{Store: store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
				defer closeGateway(t, g)
				s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
				if err != nil {
					t.Fatal(err)
				}
				a := s.Attach(asking)
				prompt(t, a, say("hello"))
				<-time.After(2 * time.Minute)
				if n := released.Load(); n != 1 || backend.Closed() != 1 {
					t.Errorf("released %d times, %d conversations closed", n, backend.Closed())
				}
				end := keep(t, a, w)
				if name == "a job" {
					if err := a.Rename(t.Context(), "with a job"); err != nil { // it began in a turn
						t.Fatal(err)
					}
				}
				<-time.After(10 * time.Minute)
				if n := released.Load(); n != 1 {
					t.Errorf("released %d times while it is at work", n)
				}
				end()
				<-time.After(3 * time.Minute)
				if n := released.Load(); n != 2 {
					t.Errorf("released %d times after it has ended", n)
				}
			})
		})
	}
}

// Closing a gateway while its sessions begin to rest, or are taken again, loses nothing
// and does not block.
func TestCloseWhileSessionsRest(t *testing.T) {
	for _, when := range []time.Duration{time.Minute - time.Nanosecond, time.Minute, time.Minute + time.Nanosecond} {
		synctest.Test(t, func(t *testing.T) {
			store := coretest.NewMemory()
			g := coretest.Gateway(store, echo, nil)
			const many = 50
			said := make(chan error, many)
			for i := range many {
				s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: core.SessionID(fmt.Sprint("s", i)), Cwd: "/w"})
				if err != nil {
					t.Fatal(err)
				}
				a := s.Attach(core.Client{Name: "c"})
				prompt(t, a, say("one"))
				go func() {
					<-time.After(when)
					_, err := a.Prompt(t.Context(), say("two"))
					said <- err
				}()
			}
			<-time.After(when)
			closeGateway(t, g)
			well := 0
			for range many {
				if err := <-said; err == nil {
					well++
				} else if !errors.Is(err, core.ErrClosed) && !errors.Is(err, core.ErrShutdown) {
					t.Error(err)
				}
			}
			g = coretest.Gateway(store, echo, nil)
			defer closeGateway(t, g)
			taken := 0
			for i := range many {
				s, err := g.Open(t.Context(), core.Local, core.SessionID(fmt.Sprint("s", i)))
				if err != nil {
					t.Fatal(err)
				}
				if s.State().Messages > 2 {
					taken++
				}
				if err := s.Attach(core.Client{Name: "d"}).Rename(t.Context(), "ours"); err != nil {
					t.Errorf("a claim was left: %v", err)
				}
			}
			if taken < well {
				t.Errorf("%d prompts were taken, %d are there", well, taken)
			}
		})
	}
}

// A session takes a thousand waiting prompts and refuses the next. It recognizes the
// newest keys of prompts.
func TestPromptsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, func(ctx context.Context, _ *core.Turn) (core.StopReason, error) {
			<-ctx.Done()
			return core.StopEnd, nil
		}, nil)
		defer closeGateway(t, g)
		ctx, cancel := context.WithCancelCause(t.Context())
		var first, last core.TurnID
		n := 0
		for ; ; n++ {
			id, err := a.Prompt(ctx, core.Prompt{Blocks: say("x").Blocks, Key: fmt.Sprint("key", n)})
			if err != nil {
				if !strings.Contains(err.Error(), "1024 prompts wait in this session") {
					t.Error(err)
				}
				break
			}
			if last = id; n == 0 {
				first = id
			}
		}
		if n != 1025 {
			t.Errorf("%d prompts were taken", n)
		}
		cancel(core.ErrCanceled)
		synctest.Wait()
		for key, want := range map[string]core.TurnID{fmt.Sprint("key", n-1): last, "key0": ""} {
			again, cancel := context.WithCancelCause(t.Context())
			got, err := a.Prompt(again, core.Prompt{Blocks: say("x").Blocks, Key: key})
			if err != nil || want != "" && got != want || want == "" && got == first {
				t.Errorf("%s again: %s, %v", key, got, err)
			}
			cancel(core.ErrCanceled)
		}
	})
}

// As many may wait for the turn that runs to take them up.
func TestPromptsForTheTurnAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g, a := open(t, listener(gate), nil)
		defer closeGateway(t, g)
		prompt(t, a, say("go"))
		synctest.Wait()
		n := 0
		for n < 5000 && a.Steer(say("x").Blocks) {
			n++
		}
		if n != 1024 {
			t.Errorf("%d were taken", n)
		}
		if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: say("x").Blocks, Busy: core.BusySteer}); err == nil || !strings.Contains(err.Error(), "1024 prompts wait in this session") {
			t.Errorf("one more: %v", err)
		}
		close(gate)
	})
}

// A prompt that has waited long and begins displaces no key of a newer one.
func TestNewestKeysAreKnownWhileOlderPromptsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan struct{})
		g, a := open(t, func(ctx context.Context, _ *core.Turn) (core.StopReason, error) {
			select {
			case <-next:
			case <-ctx.Done():
			}
			return core.StopEnd, nil
		}, nil)
		defer closeGateway(t, g)
		prompt := func(n int) core.TurnID {
			id, err := a.Prompt(t.Context(), core.Prompt{Blocks: say("x").Blocks, Key: fmt.Sprint("key", n)})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		const most = 1024
		var ids []core.TurnID
		for n := range most {
			ids = append(ids, prompt(n))
		}
		for range most / 2 {
			next <- struct{}{}
		}
		synctest.Wait()
		for _, n := range []int{most - 256, most - 1} {
			if got := prompt(n); got != ids[n] {
				t.Errorf("key %d again: %s, not %s", n, got, ids[n])
			}
		}
		if err := a.Cancel(t.Context(), "", nil); err != nil {
			t.Error(err)
		}
	})
}
