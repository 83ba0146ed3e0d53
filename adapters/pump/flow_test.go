package pump_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/pump"
	"dragoman/core"
	"dragoman/core/coretest"
)

// queueing is a textBench whose client may have a queue, and reads all the time.
func queueing(t *testing.T) (*textBench, *gaugedSink) {
	w, out := gauged(t, 0)
	w.pump.Do(func() { w.pump.Queues, w.pump.Pace = true, pump.Gathering })
	synctest.Wait()
	return w, out
}

// Up to 200 pieces of text a second are passed on at once, also in small bursts.
func TestCalmTextIsPassedOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := queueing(t)
		for n := range 2000 {
			pause := 5 * time.Millisecond
			if burst := n % 10; n >= 1000 && burst > 0 { // ten at once, 20 times a second
				pause = 0
			} else if n >= 1000 {
				pause = 50 * time.Millisecond
			}
			before := len(out.got())
			if w.say(fmt.Sprint(n), 0); len(out.got()) != before+1 {
				t.Fatalf("piece %d is held back", n)
			}
			<-time.After(pause)
		}
		close(w.emit)
		synctest.Wait()
		w.close()
	})
}

// Faster text is gathered for 10 to 15 ms, although the client has read everything, and becomes few
// messages; when it is slow again it passes at once.
func TestFastTextIsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := queueing(t)
		var want strings.Builder
		began, messages := time.Now(), len(out.got())
		var last time.Time
		for n := range 20_000 {
			fmt.Fprintf(&want, "%d,", n)
			before := len(out.got())
			w.say(fmt.Sprintf("%d,", n), 100*time.Microsecond)
			if len(out.got()) == before {
				continue
			}
			if d := time.Since(last); n > 100 && (d < 10*time.Millisecond || d > 15*time.Millisecond) {
				t.Fatalf("a message comes %v after the one before, at piece %d", d, n)
			}
			last = time.Now()
		}
		if n := len(out.got()) - messages; time.Since(began) > 3*time.Second || n > 250 {
			t.Errorf("%d messages in %v", n, time.Since(began))
		}
		<-time.After(time.Second)
		before := len(out.got())
		if w.say("slow", 0); len(out.got()) != before+1 {
			t.Errorf("the text is held back when it is slow again")
		}
		close(w.emit)
		synctest.Wait()
		w.close()
		var said strings.Builder
		for _, line := range out.got() {
			if text := strings.TrimPrefix(line, "s: "); text == "slow" || strings.Trim(text, "0123456789,") == "" {
				said.WriteString(text)
			}
		}
		if said.String() != want.String()+"slow" {
			t.Errorf("%d bytes were said, want %d", said.Len(), want.Len()+4)
		}
	})
}

// Of the past, 800 messages are written at once and then 2,000 a second to a client that may have a queue;
// other sessions go on meanwhile. A client without one gets all of it at once.
func TestThePastHasPauses(t *testing.T) {
	const messages = 3000
	for _, queues := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			talk := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				if text, _ := turn.Prompt()[0].(core.Text); text.Text == "other" {
					for {
						if err := turn.Emit(ctx, core.TextDelta{Message: "m", Text: "live "}); err != nil {
							return "", err
						}
						select {
						case <-time.After(20 * time.Millisecond):
						case <-ctx.Done():
							return "", ctx.Err()
						}
					}
				}
				for range messages {
					if err := turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: "past "}); err != nil {
						return "", err
					}
				}
				return core.StopEnd, nil
			}
			out := &gaugedSink{}
			b := &bench{t: t, g: coretest.Gateway(coretest.NewMemory(), talk, nil), out: &out.sink, ran: make(chan error, 1)}
			b.run(out, 0)
			a, d, q := b.session("s")
			b.prompt(a, d, q, "go")
			synctest.Wait()
			other, from, oq := b.session("o")
			b.prompt(other, from, oq, "other")
			synctest.Wait()
			count := func(prefix string) (n int) { // a text ends with a blank
				for _, line := range out.got() {
					if text, ok := strings.CutPrefix(line, prefix); ok {
						n += strings.Count(text, " ")
					}
				}
				return n
			}
			b.pump.Do(func() { b.pump.Queues = queues })
			b.pump.Remove(d)
			synctest.Wait()
			old, began := count("s: "), time.Now()
			again := &dialect{name: "s", prompts: d.prompts, lost: d.lost, past: true}
			b.pump.Add(a, core.Pos{}, again, nil)
			synctest.Wait()
			if n := count("s: ") - old; queues && (n < 800 || n > 840) || !queues && n != messages {
				t.Errorf("queues %t: %d messages come at once", queues, n)
			}
			ended := func() bool {
				is := make(chan bool, 1)
				b.pump.Do(func() { is <- !again.past })
				return <-is
			}
			for queues && !ended() {
				at, live := count("s: "), count("o: ")
				<-time.After(100 * time.Millisecond)
				synctest.Wait()
				if n := count("s: ") - at; n > 240 || n < 160 && !ended() {
					t.Errorf("%d messages in 100 ms", n)
				}
				if n := count("o: ") - live; n < 4 {
					t.Errorf("another session says %d of 5 texts meanwhile", n)
				}
			}
			if n, took := count("s: ")-old, time.Since(began); n != messages || took > 1300*time.Millisecond {
				t.Errorf("queues %t: %d messages in %v", queues, n, took)
			}
			if err := other.Cancel(t.Context(), other.State().Turn, nil); err != nil {
				t.Error(err)
			}
			b.close()
		})
	}
}
