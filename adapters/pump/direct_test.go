package pump_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/pump"
	"dragoman/core"
	"dragoman/core/coretest"
)

// gaugedSink is a sink that knows how far its client is.
type gaugedSink struct {
	sink
	queued, unread atomic.Int64
	broken         atomic.Bool
}

func (s *gaugedSink) Queued() int { return int(s.queued.Load()) }

func (s *gaugedSink) Unread() (int, bool) { return int(s.unread.Load()), true }

func (s *gaugedSink) PutLines(b []byte) error {
	if s.broken.Load() {
		return errors.New("gone")
	}
	return s.sink.PutLines(b)
}

// gauged is a textBench whose output is a gaugedSink.
func gauged(t *testing.T, pace time.Duration) (*textBench, *gaugedSink) {
	out := &gaugedSink{}
	return newWritingTo(t, &out.sink, out, pace), out
}

// Text is written by whoever emits it, while the pump waits; all other events are left to the pump.
func TestTextIsPassedOnDirectly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out *gaugedSink
		atOnce := make(chan []string, 2)
		answer := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			<-time.After(time.Second) // everything before has been written
			for _, text := range []string{"a", "b"} {
				if err := turn.Emit(ctx, core.TextDelta{Message: "m", Text: text}); err != nil {
					return "", err
				}
				atOnce <- out.got()
			}
			return core.StopEnd, turn.Emit(ctx, core.Notice{Text: "no text"}, core.TextDelta{Message: "n", Text: "c"})
		}
		out = &gaugedSink{}
		b := &bench{t: t, g: coretest.Gateway(coretest.NewMemory(), answer, nil), out: &out.sink, ran: make(chan error, 1)}
		b.run(out, 0)
		a, d, q := b.session("s")
		b.prompt(a, d, q, "go")
		<-time.After(time.Minute)
		b.close()
		want := []string{"s: opened", "s: accepted go", "s: a", "s: b", "s: c", "s: end", "s: answered go end_turn"}
		if got := out.got(); !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
		for n := range 2 {
			if got := <-atOnce; !slices.Equal(got, want[:3+n]) {
				t.Errorf("when Emit returns there is %q, want %q", got, want[:3+n])
			}
		}
	})
}

// Nothing is lost or overtaken, whoever passes the text on: many turns write, while jobs come and the
// output is full now and then.
func TestDirectKeepsTheOrder(t *testing.T) {
	for _, pace := range []time.Duration{0, 20 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			const turns, parts = 5, 400
			answer := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				for i := range parts {
					events := []core.Event{core.TextDelta{Message: core.MessageID("m"), Text: fmt.Sprintf("%d,", i)}}
					if i%50 == 49 {
						events = append(events, core.Notice{Text: "between"})
					}
					if err := turn.Emit(ctx, events...); err != nil {
						return "", err
					}
					if i%7 == 0 {
						<-time.After(time.Duration(i%5) * time.Millisecond)
					}
				}
				return core.StopEnd, nil
			}
			out := &gaugedSink{}
			b := &bench{t: t, g: coretest.Gateway(coretest.NewMemory(), answer, nil), out: &out.sink, ran: make(chan error, 1)}
			b.run(out, pace)
			for i := range turns {
				a, d, q := b.session(fmt.Sprint("s", i))
				b.prompt(a, d, q, "go")
			}
			for i := range 300 {
				out.queued.Store(int64(i%3) * 1 << 20)
				out.unread.Store(int64(i % 2))
				b.pump.Do(func() { out.put(fmt.Sprint("job ", i)) })
				<-time.After(time.Millisecond)
			}
			<-time.After(time.Minute)
			b.close()
			jobs, texts := 0, map[string]*strings.Builder{}
			for _, line := range out.got() {
				name, text, _ := strings.Cut(line, ": ")
				switch {
				case line == fmt.Sprint("job ", jobs):
					jobs++
				case text == "end":
					texts[name].WriteString("end")
				case strings.HasSuffix(text, ","):
					if texts[name] == nil {
						texts[name] = &strings.Builder{}
					}
					texts[name].WriteString(text)
				}
			}
			var want strings.Builder
			for i := range parts {
				fmt.Fprintf(&want, "%d,", i)
			}
			for name, text := range texts {
				if text.String() != want.String()+"end" {
					t.Errorf("%s got %d bytes of %d", name, text.Len(), want.Len())
				}
			}
			if jobs != 300 || len(texts) != turns {
				t.Errorf("%d jobs in order, %d sessions", jobs, len(texts))
			}
		})
	}
}

// A write that fails on a turn's goroutine ends the pump, not the turn.
func TestDirectWriteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := gauged(t, 0)
		out.broken.Store(true)
		w.say("a", 0)
		if err := <-w.ran; err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("Run: %v", err)
		}
		w.say("nobody reads", 0)
		close(w.emit)
		synctest.Wait()
		w.feed.prompts.Abandon(core.TurnEnded{Stop: core.StopError})
		w.wg.Wait()
		if err := w.g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A client that has read everything gets text at once; one that has not gets the rest after the pace, or
// with the next text after it has read.
func TestPaceOfAClientThatReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := gauged(t, 20*time.Millisecond)
		for _, text := range []string{"a", "b", "c"} {
			w.say(text, time.Millisecond)
			w.want("all was read", "s: "+text)
		}
		out.unread.Store(1)
		w.say("d", time.Millisecond)
		w.say("e", time.Millisecond)
		w.want("not read", "s: b", "s: c")
		out.unread.Store(0)
		w.say("f", 0)
		w.want("read meanwhile", "s: c", "s: def")
		out.unread.Store(1)
		w.say("g", 19*time.Millisecond)
		w.want("within the pace", "s: def")
		<-time.After(time.Millisecond)
		synctest.Wait()
		w.want("when its time has come", "s: def", "s: g")
		w.say("h", 0)
		close(w.emit)
		synctest.Wait()
		w.want("the end of the turn", "s: g", "s: h", "s: end", "s: answered go end_turn")
		w.close()
	})
}

// A client that never reads gets 50 messages a second.
func TestPaceOfASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := gauged(t, 20*time.Millisecond)
		out.unread.Store(1)
		before := len(out.got())
		for range 1000 {
			w.say("x", time.Millisecond)
		}
		if n := len(out.got()) - before; n > 51 || n < 45 {
			t.Errorf("%d messages in a second", n)
		}
		close(w.emit)
		synctest.Wait()
		w.close()
	})
}

var _ pump.Gauge = (*gaugedSink)(nil)
