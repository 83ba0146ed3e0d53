package pump_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/pump"
	"dragoman/core"
	"dragoman/core/coretest"
)

// textBench is a bench with a paced pump, and a session that the test writes.
type textBench struct {
	*bench
	att  *core.Attachment
	feed *dialect
	emit chan []core.Event
}

func newWriting(t *testing.T) *textBench {
	out := &sink{}
	return newWritingTo(t, out, out, 20*time.Millisecond)
}

// newWritingTo is newWriting for an output whose lines are those of a sink.
func newWritingTo(t *testing.T, lines *sink, out pump.Output, pace time.Duration) *textBench {
	w := &textBench{emit: make(chan []core.Event)}
	b := &bench{t: t, out: lines, ran: make(chan error, 1)}
	b.g = coretest.Gateway(coretest.NewMemory(), func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		for {
			select {
			case events, more := <-w.emit:
				if !more {
					return core.StopEnd, nil
				}
				if err := turn.Emit(ctx, events...); err != nil {
					return "", err
				}
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}, nil)
	b.run(out, pace)
	w.bench = b
	var q *pump.Queue
	w.att, w.feed, q = b.session("s")
	b.prompt(w.att, w.feed, q, "go")
	synctest.Wait()
	return w
}

// say writes text, and lets a time pass.
func (w *textBench) say(text string, then time.Duration) {
	w.emit <- []core.Event{core.TextDelta{Message: "m", Text: text}}
	synctest.Wait()
	<-time.After(then)
	synctest.Wait()
}

func (w *textBench) want(what string, lines ...string) {
	w.t.Helper()
	got := w.out.got()
	got = got[len(got)-min(len(got), len(lines)):]
	if strings.Join(got, "|") != strings.Join(lines, "|") {
		w.t.Errorf("%s: got %q, want %q", what, got, lines)
	}
}

// The first part of a text is written at once; parts within the pace are one message, and the
// rest follows when its time has come. An event other than text, or a job, sends the held text
// first.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriting(t)
		w.say("a", 0)
		w.want("the first", "s: a")
		for range 5 {
			w.say("b", time.Millisecond)
		}
		w.want("within the pace", "s: a")
		<-time.After(20 * time.Millisecond)
		synctest.Wait()
		w.want("when its time has come", "s: a", "s: bbbbb")
		w.say("c", 0)
		w.want("soon behind that", "s: bbbbb")
		w.pump.Do(func() { w.out.put("job") })
		synctest.Wait()
		w.want("a job", "s: c", "job")
		w.say("d", time.Millisecond)
		w.emit <- []core.Event{core.Notice{Text: "no text"}}
		synctest.Wait()
		w.want("an event", "job", "s: d")
		<-time.After(time.Second)
		w.say("e", 0)
		w.want("after a rest", "s: d", "s: e")
		w.say("f", 0)
		close(w.emit)
		synctest.Wait()
		w.want("the end of the turn", "s: e", "s: f", "s: end", "s: answered go end_turn")
		w.close()
	})
}

// However a text arrives, the client gets all of it in order, and no message is long.
func TestPaceLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriting(t)
		var want strings.Builder
		for i := range 3000 {
			text := fmt.Sprintf("%d,", i)
			if i%100 == 99 {
				text = strings.Repeat("x", 5000)
			}
			want.WriteString(text)
			w.emit <- []core.Event{core.TextDelta{Message: "m", Text: text}}
			if i%7 == 0 {
				<-time.After(time.Duration(i%5) * time.Millisecond)
			}
			if i%500 == 0 {
				w.pump.Do(func() {})
			}
		}
		close(w.emit)
		synctest.Wait()
		var got strings.Builder
		for _, line := range w.out.got() {
			if text, ok := strings.CutPrefix(line, "s: "); ok && !strings.Contains(text, "e") { // not written by the bench
				got.WriteString(text)
				if len(text) > 64<<10 {
					t.Errorf("a message of %d bytes", len(text))
				}
			}
		}
		if got.String() != want.String() {
			t.Errorf("%d bytes arrived of %d", got.Len(), want.Len())
		}
		w.close()
	})
}

// A removed or lost feed drops the held text, or gets it first.
func TestPaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriting(t)
		w.say("a", 0)
		w.say("held", 0)
		if err := w.g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-w.feed.lost; !errors.Is(err, core.ErrClosed) {
			t.Errorf("lost: %v", err)
		}
		if got := strings.Join(w.out.got(), "|"); !strings.Contains(got, "s: a|s: held") {
			t.Errorf("got %q", got)
		}
		w.end()
		<-w.ran
		w.wg.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWriting(t)
		w.say("a", 0)
		w.pump.Remove(w.feed)
		w.say("never", time.Second)
		w.want("removed", "s: a")
		close(w.emit)
		synctest.Wait()
		w.feed.prompts.Abandon(core.TurnEnded{Stop: core.StopError})
		w.close()
	})
}
