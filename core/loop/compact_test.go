package loop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fork"
	"dragoman/core/inference"
)

// summarizes answers requests for a summary with summary, and the others with reply.
func summarizes(summary coretest.Answer, reply func(n int, r *inference.Request) coretest.Answer) *coretest.Script {
	others := 0
	return &coretest.Script{
		Is: inference.ModelInfo{ID: "script/model", Window: 1000, Tools: true},
		Reply: func(n int, r *inference.Request) coretest.Answer {
			if isSummary(*r) {
				return summary
			}
			others++
			return reply(others-1, r)
		},
	}
}

func isSummary(r inference.Request) bool { return r.System == summarySystem }

// asked lists the requests for summaries, or the others.
func asked(s *coretest.Script, summaries bool) (list []inference.Request) {
	for _, r := range s.Requests() {
		if isSummary(r) == summaries {
			list = append(list, r)
		}
	}
	return list
}

// happened renders the notices for users besides the answer.
func happened(events []core.Event) (list []string) {
	for _, ev := range events {
		switch e := ev.(type) {
		case core.Compacted:
			auto := "on demand"
			if e.Auto {
				auto = "by itself"
			}
			list = append(list, fmt.Sprintf("compacted %s: %s", auto, e.Summary))
		case core.Notice:
			list = append(list, fmt.Sprintf("%s: %s", e.Severity, e.Text))
		default:
			list = append(list, lines([]core.Event{ev})...)
		}
	}
	return list
}

func (r *rig) turn(text string) []core.Event {
	r.t.Helper()
	return r.until(r.prompt(text))
}

func (r *rig) until(id core.TurnID) []core.Event {
	r.t.Helper()
	return r.read(func(ev core.Event) bool { e, ok := ev.(core.TurnEnded); return ok && e.Turn == id })
}

// wantMessagesOf is wantMessages for a given request.
func wantMessagesOf(t *testing.T, r inference.Request, want ...string) {
	t.Helper()
	if got, text := show(r.Messages), strings.Join(want, "\n")+"\n"; got != text {
		t.Errorf("the model was shown:\n%swant:\n%s", got, text)
	}
}

// quoted returns a message in show's format.
func quoted(texts ...string) string {
	s := "user:"
	for _, t := range texts {
		s += fmt.Sprintf(" %q", t)
	}
	return s
}

// mini replaces the tools and the system prompt by those of a small request.
func mini(o Options) Options {
	o.System = func(core.Meta, string) []Section { return []Section{{inference.PartSystem, "Be brief."}} }
	return o
}

// A conversation that nearly fills the window is summarized before the next request,
// and not earlier; the prompt follows the summary unchanged.
func TestCompactAuto(t *testing.T) {
	for _, test := range []struct {
		name   string
		fills  int // tokens, of the first answer
		window int
		at     float64
		want   bool
	}{
		{"more than its share", 760, 1000, 0, true},
		{"just its share", 750 - len("go on")/bytesPerToken, 1000, 0, false},
		{"another share", 510, 1000, 0.5, true},
		{"never", 990, 1000, 2, false},
		{"an unknown window", 96_100, 0, 0, true},
		{"less of it", 95_000, 0, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := summarizes(coretest.Answer{}.Say("We", " greeted.").Use(core.Usage{In: 700, Out: 50}), func(n int, _ *inference.Request) coretest.Answer {
					return coretest.Answer{}.Say(fmt.Sprint("answer ", n)).Use(core.Usage{In: test.fills - 2, Out: 2})
				})
				script.Is.Window = test.window
				r := start(t, script, setup{options: mini(Options{CompactAt: test.at})})
				defer r.close()
				r.turn("hi")
				got := happened(r.turn("go on"))
				summaries := asked(script, true)
				if !test.want {
					if len(summaries) > 0 {
						t.Fatalf("it was summed up:\n%s", strings.Join(got, "\n"))
					}
					wantMessages(t, script, `user: "hi"`, `assistant: "answer 0"`, `user: "go on"`)
					return
				}
				if len(summaries) != 1 {
					t.Fatalf("%d summaries:\n%s", len(summaries), strings.Join(got, "\n"))
				}
				ask := summaries[0]
				wantMessagesOf(t, ask, `user: "hi"`, `assistant: "answer 0"`, quoted(instruction))
				if ask.Tools != nil || ask.Session != "s" {
					t.Errorf("request %+v", ask)
				}
				wantMessages(t, script, quoted(summaryText("We greeted.", true, false), "go on"))
				if got[1] != "compacted by itself: We greeted." || got[2] != "text answer 1" {
					t.Errorf("got:\n%s", strings.Join(got, "\n"))
				}
				if total := r.session.State().Usage; total.In != 2*(test.fills-2)+700 || total.Out != 4+50 {
					t.Errorf("totals %+v", total)
				}
			})
		})
	}
}

// The content of the event, and its effect on the session's state.
func TestCompacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		script := summarizes(coretest.Answer{}.Say("We greeted.").Use(core.Usage{In: 700, Out: 50}), func(n int, _ *inference.Request) coretest.Answer {
			if n == 0 {
				return coretest.Answer{}.Say("hello").Use(core.Usage{In: 800, Out: 50})
			}
			return coretest.Answer{Wait: gate}.Say("done")
		})
		r := start(t, script, setup{options: mini(Options{})})
		defer r.close()
		r.turn("hi")
		id := r.prompt("go on")
		synctest.Wait()
		events := r.read(func(ev core.Event) bool { _, ok := ev.(core.Compacted); return ok })
		i := slices.IndexFunc(events, func(ev core.Event) bool { _, ok := ev.(core.Compacted); return ok })
		made := events[i].(core.Compacted)
		usage, ok := events[i-1].(core.UsageChanged)
		if !ok || usage.Context != made.Before || usage.Last.In != 700 || usage.Turn != id {
			t.Errorf("in front of it: %+v", events[i-1])
		}
		if made.Turn != id || !made.Auto || made.Before != 851 || made.After < 50 || made.After > 150 {
			t.Errorf("%+v", made)
		}
		if st := r.session.State(); st.Context != made.After {
			t.Errorf("%d tokens, want %d", st.Context, made.After)
		}
		close(gate)
		r.until(id)
	})
}

// In the middle of a turn its calls and results are covered, except the last ones, which the
// model has not seen, and the user's messages in it stay. The model is not offered tools for the
// summary, and sees no calls.
func TestCompactWithinTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		script := summarizes(coretest.Answer{}.Think("hm").Call("x9", "look", `{}`).Say("I looked."), func(n int, _ *inference.Request) coretest.Answer {
			switch n {
			case 0:
				return coretest.Answer{}.Say("I look.").Call("x1", "look", `{"at":"a"}`).Use(core.Usage{In: 760, Out: 60})
			case 1:
				return coretest.Answer{}.Call("x2", "look", `{"at":"b"}`).Use(core.Usage{In: 800, Out: 60})
			case 2:
				return coretest.Answer{}.Call("x3", "look", `{"at":"c"}`).Use(core.Usage{In: 100, Out: 60})
			}
			return coretest.Answer{}.Say("Seen.")
		})
		r := start(t, script, setup{options: mini(Options{}), command: func(context.Context, *core.Turn, string) (core.CommandResult, bool, error) {
			return core.CommandResult{Prompt: "Review everything."}, true, nil
		}, tools: []core.Tool{tool("look", func(_ context.Context, inv core.Invocation) (core.Result, error) {
			if inv.Call == "x1" {
				<-gate
			}
			return core.Result{Blocks: words("seen " + string(inv.Args))}, nil
		})}})
		defer r.close()
		id := r.prompt("/review")
		synctest.Wait()
		r.steer("and quickly")
		close(gate)
		got := happened(r.until(id))
		wantMessagesOf(t, asked(script, true)[0], `user: "Review everything."`, `assistant: "I look.\n\n[calls look with {\"at\":\"a\"}]"`,
			quoted("[look returned]\nseen {\"at\":\"a\"}", instruction))
		after := []string{quoted(summaryText("I looked.", true, true), "Review everything.", "and quickly"), `assistant: x2=look({"at":"b"})`, `tool: x2=look "seen {\"at\":\"b\"}"`}
		wantMessagesOf(t, asked(script, false)[2], after...)
		wantMessages(t, script, append(after, `assistant: x3=look({"at":"c"})`, `tool: x3=look "seen {\"at\":\"c\"}"`)...)
		if strings.Contains(strings.Join(got, "\n"), "call x9") || strings.Count(strings.Join(got, "\n"), "I looked.") != 1 {
			t.Errorf("the summary is said to the user, or ran a call:\n%s", strings.Join(got, "\n"))
		}
	})
}

// There are no two summaries in a row, however large the summary and the prompt are,
// and none if the system prompt fills the window.
func TestCompactNotTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := summarizes(coretest.Answer{}.Say(strings.Repeat("long ", 1000)), func(n int, _ *inference.Request) coretest.Answer {
			switch n {
			case 0:
				return coretest.Answer{}.Say("hello").Use(core.Usage{In: 900})
			case 1: // no answer: the next prompt finds only the summary
				return coretest.Answer{Err: &inference.Error{Kind: inference.ErrOverloaded, Model: "script/model"}}
			}
			return coretest.Answer{}.Say("hello again").Use(core.Usage{In: 2000})
		})
		r := start(t, script, setup{options: mini(Options{})})
		defer r.close()
		for i, want := range []int{0, 1, 1, 2} {
			r.turn("hi")
			if got := len(asked(script, true)); got != want {
				t.Fatalf("after turn %d: %d summaries, want %d", i+1, got, want)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		script := summarizes(coretest.Answer{}.Say("short"), func(int, *inference.Request) coretest.Answer {
			return coretest.Answer{}.Say("hello").Use(core.Usage{In: 900})
		})
		r := start(t, script, setup{options: Options{System: func(core.Meta, string) []Section {
			return []Section{{inference.PartSystem, strings.Repeat("rules ", 600)}}
		}}})
		defer r.close()
		r.turn("hi")
		r.turn("hi")
		if n := len(asked(script, true)); n != 0 {
			t.Errorf("%d summaries", n)
		}
	})
}

// A user requests a summary: the turn does nothing else.
func TestCompactOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := summarizes(coretest.Answer{}.Say("We greeted.").Use(core.Usage{In: 5, Out: 3}), func(n int, _ *inference.Request) coretest.Answer {
			return coretest.Answer{}.Say(fmt.Sprint("answer ", n)).Use(core.Usage{In: 100})
		})
		r := start(t, script, setup{options: mini(Options{}), command: func(_ context.Context, _ *core.Turn, text string) (core.CommandResult, bool, error) {
			focus, is := strings.CutPrefix(text, "/compact")
			return core.CommandResult{Compact: true, Focus: focus}, is, nil
		}})
		defer r.close()
		wantLines(t, happened(r.turn("/compact")), "text There is nothing yet that could be summed up.", "ended end_turn")
		r.turn("hi")
		got := happened(r.turn("/compact the names"))
		wantLines(t, got, "usage 5+3 of 105+3, 104/1000", "compacted on demand: We greeted.",
			"text The conversation so far was summed up. It filled about 104 tokens; now it fills about 38.", "ended end_turn")
		wantMessages(t, script, `user: "/compact"`, `assistant: "There is nothing yet that could be summed up."`, `user: "hi"`, `assistant: "answer 0"`,
			quoted(instruction+"\n\nThe user wants the summary to pay attention to this: the names"))
		r.turn("go on")
		after := []string{quoted(summaryText("We greeted.", false, false)), `assistant: "The conversation so far was summed up. It filled about 104 tokens; now it fills about 38."`, `user: "go on"`}
		wantMessages(t, script, after...)
		r.turn("and on")
		wantMessages(t, script, append(after, `assistant: "answer 1"`, `user: "and on"`)...)
	})
}

// A message while a summary is made on demand is answered.
func TestCompactOnDemandSteered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		script := summarizes(coretest.Answer{Wait: gate}.Say("We greeted."), func(n int, _ *inference.Request) coretest.Answer {
			return coretest.Answer{}.Say(fmt.Sprint("answer ", n))
		})
		r := start(t, script, setup{options: mini(Options{}), command: func(_ context.Context, _ *core.Turn, text string) (core.CommandResult, bool, error) {
			return core.CommandResult{Compact: true}, true, nil
		}})
		defer r.close()
		r.turn("hi")
		id := r.prompt("/compact")
		synctest.Wait()
		r.steer("and then go on")
		close(gate)
		r.until(id)
		m := script.Requests()[len(script.Requests())-1].Messages
		if got := show(m[len(m)-1:]); got != "user: \"and then go on\"\n" || len(m) != 3 {
			t.Errorf("the model was shown:\n%s", show(m))
		}
	})
}

// A cancel ends the turn while the summary is made, and nothing is lost.
func TestCompactCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := summarizes(coretest.Answer{Hang: true}.Say("We gr"), func(n int, _ *inference.Request) coretest.Answer {
			return coretest.Answer{}.Say(fmt.Sprint("answer ", n)).Use(core.Usage{In: 900 - 800*min(n, 1)})
		})
		r := start(t, script, setup{options: mini(Options{})})
		defer r.close()
		r.turn("hi")
		id := r.prompt("go on")
		r.read(func(ev core.Event) bool { return ev == core.Phase{Turn: id, Kind: core.PhaseCompacting} })
		synctest.Wait()
		if err := r.session.Cancel(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		wantLines(t, happened(r.until(id)), "ended cancelled")
		if n := len(asked(script, false)); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// A summary that fails is reported, and the turn continues without it; the next turn
// tries again. Its usage is counted all the same.
func TestCompactFails(t *testing.T) {
	overloaded := &inference.Error{Kind: inference.ErrOverloaded, Model: "script/model", Message: "come back later"}
	why := "The conversation nearly fills the model's window, and could not be summed up to make room: "
	for _, test := range []struct {
		answer coretest.Answer
		want   string
	}{
		{coretest.Answer{Err: overloaded}.Say("We gr"), why + overloaded.Error()},
		{coretest.Answer{}.Think("hm").Call("x1", "look", `{}`), why + "the model script/model answered without a text"},
		{coretest.Answer{Stop: core.StopRefusal}.Say("No."), why + "the model script/model refused to"},
	} {
		synctest.Test(t, func(t *testing.T) {
			script := summarizes(test.answer.Use(core.Usage{In: 7}), func(n int, _ *inference.Request) coretest.Answer {
				if n == 1 {
					return coretest.Answer{}.Call("x1", "look", `{}`).Use(core.Usage{In: 950})
				}
				return coretest.Answer{}.Say(fmt.Sprint("answer ", n)).Use(core.Usage{In: 900})
			})
			r := start(t, script, setup{options: mini(Options{}), tools: []core.Tool{tool("look")}})
			defer r.close()
			r.turn("hi")
			got := happened(r.turn("go on"))
			if got[0] != "usage 7+0 of 907+0, 901/1000" || got[1] != "warning: "+test.want || got[len(got)-1] != "ended end_turn" {
				t.Errorf("got:\n%s", strings.Join(got, "\n"))
			}
			wantMessages(t, script, `user: "hi"`, `assistant: "answer 0"`, `user: "go on"`, `assistant: x1=look({})`, `tool: x1=look "look got {}"`)
			if n := len(asked(script, true)); n != 1 {
				t.Errorf("it was tried %d times in one turn", n)
			}
			r.turn("and on")
			if n := len(asked(script, true)); n != 2 {
				t.Errorf("it was tried %d times in two turns", n)
			}
			if got := happened(r.turn("/etc")); got[len(got)-1] != "ended end_turn" {
				t.Errorf("got:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// On demand, a failure of the summary is one of the turn.
func TestCompactOnDemandFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := summarizes(coretest.Answer{Err: errors.New("no power")}, func(n int, _ *inference.Request) coretest.Answer { return coretest.Answer{}.Say("hello") })
		r := start(t, script, setup{options: mini(Options{}), command: func(context.Context, *core.Turn, string) (core.CommandResult, bool, error) {
			return core.CommandResult{Compact: true}, true, nil
		}})
		defer r.close()
		r.turn("hi")
		wantLines(t, happened(r.turn("/compact")), "ended error the conversation could not be summed up: no power")
	})
}

// After a request that is too long for the model, the conversation is summarized and
// the request repeated, once.
func TestOverflow(t *testing.T) {
	long := &inference.Error{Kind: inference.ErrContextLength, Model: "script/model", Status: 400, Message: "too long"}
	for _, test := range []struct {
		name    string
		after   coretest.Answer // to the request after the summary
		summary coretest.Answer
		want    []string
	}{
		{
			"it helps", coretest.Answer{}.Say("Seen."), coretest.Answer{}.Say("I looked."),
			[]string{"compacted by itself: I looked.", "text Seen.", "ended end_turn"},
		},
		{
			"it does not help",
			coretest.Answer{Err: long},
			coretest.Answer{}.Say("I looked."),
			[]string{"compacted by itself: I looked.", "ended error " + long.Error()},
		},
		{
			"there is no summary",
			coretest.Answer{},
			coretest.Answer{Err: errors.New("no power")},
			[]string{"warning: The conversation nearly fills the model's window, and could not be summed up to make room: no power", "ended error " + long.Error()},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := summarizes(test.summary, func(n int, _ *inference.Request) coretest.Answer {
					switch n {
					case 0, 1:
						return coretest.Answer{}.Call(core.CallID(fmt.Sprint("x", n)), "look", `{}`)
					case 2:
						return coretest.Answer{Err: long}
					}
					return test.after
				})
				script.Is.Window = 0
				r := start(t, script, setup{options: mini(Options{MaxRequests: 3}), tools: []core.Tool{tool("look")}})
				defer r.close()
				got := happened(r.turn("look around"))
				got = got[slices.Index(got, "call x1 look succeeded allowed by the test")+1:]
				wantLines(t, got, test.want...)
				if n := len(asked(script, true)); n != 1 {
					t.Errorf("%d requests for a summary", n)
				}
			})
		})
	}
}

// If nothing can be summarized, the user is told that the request is too long.
func TestOverflowWithoutHistory(t *testing.T) {
	long := &inference.Error{Kind: inference.ErrContextLength, Model: "script/model"}
	synctest.Test(t, func(t *testing.T) {
		script := summarizes(coretest.Answer{}, func(int, *inference.Request) coretest.Answer { return coretest.Answer{Err: long} })
		r := start(t, script, setup{options: mini(Options{})})
		defer r.close()
		wantLines(t, happened(r.turn("hi")), "ended error "+long.Error())
	})
}

// A request for a summary that is itself too long is repeated in a shorter form.
func TestOverflowOfTheSummary(t *testing.T) {
	const limit = 20_000 // bytes that the model accepts
	long := &inference.Error{Kind: inference.ErrContextLength, Model: "script/model"}
	synctest.Test(t, func(t *testing.T) {
		sizes := []int{}
		script := &coretest.Script{Reply: func(n int, r *inference.Request) coretest.Answer {
			size := scriptBytes(r.Messages)
			for _, m := range r.Messages {
				size += weigh(m.Result.Blocks)
			}
			if isSummary(*r) {
				sizes = append(sizes, size)
			}
			switch {
			case size > limit:
				return coretest.Answer{Err: long}
			case isSummary(*r):
				return coretest.Answer{}.Say("I looked.").Use(core.Usage{In: 1})
			case n < 20:
				return coretest.Answer{}.Call(core.CallID(fmt.Sprint("x", n)), "look", fmt.Sprintf(`{"n":%d}`, n))
			}
			return coretest.Answer{}.Say("Seen.")
		}}
		r := start(t, script, setup{options: mini(Options{}), tools: []core.Tool{tool("look", func(context.Context, core.Invocation) (core.Result, error) {
			return core.Result{Blocks: words(strings.Repeat("x", 6000))}, nil
		})}})
		defer r.close()
		got := happened(r.turn("look around"))
		if last := got[len(got)-2:]; !slices.Equal(last, []string{"text Seen.", "ended end_turn"}) {
			t.Fatalf("got:\n%s", strings.Join(got, "\n"))
		}
		if len(sizes) == 0 || slices.Max(sizes) > 2*limit {
			t.Errorf("requests for summaries of %v bytes", sizes)
		}
	})
}

// After any summaries, truncations and reopening, the model sees the result of a new
// fold of the log.
func TestCompactedHistoryIsTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		check := func(got *inference.Request) {
			want := show(foldAll(t, r.session).messages())
			if shown := show(got.Messages); shown != want {
				t.Errorf("the model was shown:\n%swhat the log says:\n%s", shown, want)
			}
		}
		script := summarizes(coretest.Answer{}.Say("A summary."), func(n int, req *inference.Request) coretest.Answer {
			check(req)
			fills := 100 + 300*(n%3)
			if n%2 == 0 {
				return coretest.Answer{}.Say("I look.").Call(core.CallID(fmt.Sprint("x", n)), "look", `{}`).Use(core.Usage{In: fills})
			}
			return coretest.Answer{}.Say("Seen.").Use(core.Usage{In: fills + 200})
		})
		r = start(t, script, setup{options: mini(Options{}), tools: []core.Tool{tool("look")}})
		defer r.close()
		var heads []core.Pos
		for n := range 12 {
			r.turn(fmt.Sprint("prompt ", n))
			heads = append(heads, r.session.Head())
		}
		n := len(asked(script, true))
		if n < 3 {
			t.Fatalf("only %d summaries", n)
		}
		// A truncation that hides the summaries restores the conversation.
		if err := r.session.Truncate(t.Context(), heads[1]); err != nil {
			t.Fatal(err)
		}
		r.turn("after the truncation")
		last := asked(script, false)
		if got := show(last[len(last)-1].Messages); !strings.Contains(got, "after the truncation") || strings.Contains(got, "prompt 2") {
			t.Errorf("behind the truncation:\n%s", got)
		}
		// A fork has them as well.
		fork, err := fork.Session(t.Context(), r.gateway, r.session, r.session.Head(), "f")
		if err != nil {
			t.Fatal(err)
		}
		want := show(foldAll(t, r.session).messages())
		a := fork.Attach(core.Client{Name: "tester"})
		defer a.Close()
		if got := show(foldAll(t, a).messages()); got != want {
			t.Errorf("the fork:\n%swant:\n%s", got, want)
		}
	})
}

// foldAll folds a session's effective log.
func foldAll(t *testing.T, a *core.Attachment) *history {
	t.Helper()
	var h history
	rd, head := a.Read(core.Pos{}), a.Head()
	defer rd.Close()
	for {
		records, err := rd.Until(t.Context(), head)
		if err != nil {
			t.Error(err)
			return &h
		}
		if len(records) == 0 {
			return &h
		}
		for _, rec := range records {
			if rec.Seq > 0 {
				h.apply(rec.Event)
			}
		}
	}
}

// A truncation that hides a summary restores the part that it replaced.
func TestTruncatedSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := summarizes(coretest.Answer{}.Say("A summary."), func(n int, _ *inference.Request) coretest.Answer {
			return coretest.Answer{}.Say(fmt.Sprint("answer ", n)).Use(core.Usage{In: []int{100, 900, 100, 100}[n]})
		})
		r := start(t, script, setup{options: mini(Options{})})
		defer r.close()
		r.turn("one")
		r.turn("two")
		head := r.session.Head()
		r.turn("three")
		wantMessages(t, script, quoted(summaryText("A summary.", true, false), "three"))
		if err := r.session.Truncate(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		script.Is.Window = 10_000
		r.turn("four")
		wantMessages(t, script, `user: "one"`, `assistant: "answer 0"`, `user: "two"`, `assistant: "answer 1"`, `user: "four"`)
	})
}

// A model that is not a language model is not asked for a summary, and there are no
// automatic ones.
func TestCompactOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(
			coretest.Answer{}.Say("I read.").Call("x1", "look", `{"at":"a"}`).Use(core.Usage{In: 200_000}), coretest.Answer{Err: errors.New("no power")},
			coretest.Answer{}.Say("yes").Use(core.Usage{In: 200_000}),
		)
		script.Is = inference.ModelInfo{ID: "offline/script", Offline: true, Tools: true}
		fails := tool("look", func(context.Context, core.Invocation) (core.Result, error) {
			return core.Result{Blocks: words("no such\nfile"), Failed: true}, nil
		})
		r := start(t, script, setup{tools: []core.Tool{fails}, options: mini(Options{}), command: func(_ context.Context, _ *core.Turn, text string) (core.CommandResult, bool, error) {
			return core.CommandResult{Compact: true}, text == "/compact", nil
		}})
		defer r.close()
		r.turn("look there")
		r.turn("sure?")
		got := happened(r.turn("/compact"))
		want := "compacted on demand: - user: look there\n- agent: I read.\n- called look {\"at\":\"a\"}\n- that failed: no such file\n- user: sure?\n- agent: yes"
		if got[0] != want || len(script.Requests()) != 3 {
			t.Errorf("%d requests; got:\n%s", len(script.Requests()), strings.Join(got, "\n"))
		}
	})
}

// A phase shows that the model's service asked to wait, also during a summary.
func TestCompactRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		model := &gatedScript{Script: summarizes(coretest.Answer{}.Say("A summary."), func(n int, _ *inference.Request) coretest.Answer {
			return coretest.Answer{}.Say("hello").Use(core.Usage{In: 900})
		}), gate: gate}
		r := start(t, model, setup{options: mini(Options{})})
		defer r.close()
		r.turn("hi")
		id := r.prompt("go on")
		r.read(func(ev core.Event) bool {
			return ev == core.Phase{Turn: id, Kind: core.PhaseRetrying, After: time.Second}
		})
		close(gate)
		got := happened(r.until(id))
		if got[0] != "compacted by itself: A summary." {
			t.Errorf("got:\n%s", strings.Join(got, "\n"))
		}
	})
}

// gatedScript is a Script whose summaries arrive only when its gate opens; until then its
// service asks to wait.
type gatedScript struct {
	*coretest.Script
	gate <-chan struct{}
}

func (g *gatedScript) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		if isSummary(*r) {
			if !yield(inference.Delta{Kind: inference.DeltaRetry, After: time.Second}, nil) {
				return
			}
			<-g.gate
		}
		for d, err := range g.Script.Stream(ctx, r) {
			if !yield(d, err) {
				return
			}
		}
	}
}
