package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// rig is a session whose agent is the loop, with one client that can be asked.
type rig struct {
	t       *testing.T
	gateway *core.Gateway
	session *core.Attachment
	reader  *core.Reader
	store   *coretest.Memory
}

type setup struct {
	options Options
	policy  core.Policy
	tools   []core.Tool
	boxes   []core.Toolbox // in addition to them
	limits  core.Limits
	client  core.Client // without a name: one for approvals only
	command func(context.Context, *core.Turn, string) (core.CommandResult, bool, error)
	dir     string // of the session; empty: /w
}

var allowed = coretest.Always(core.Verdict{Effect: core.Allow, Why: "allowed by the test"})

func start(t *testing.T, model inference.Model, s setup) *rig {
	t.Helper()
	if s.options.Model == nil {
		s.options.Model = func(context.Context, *core.Turn) (inference.Model, error) { return model, nil }
	}
	if s.policy == nil {
		s.policy = allowed
	}
	prof := &core.Profile{
		Agents: []core.Agent{{Name: "code", Backend: New(s.options)}}, Toolboxes: append(s.boxes, coretest.Tools(s.tools)), Policy: s.policy, Command: s.command, Limits: s.limits,
	}
	r := &rig{t: t, store: coretest.NewMemory()}
	r.gateway = core.New(core.Config{Store: r.store, Node: "test", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	s.dir = cmp.Or(s.dir, "/w")
	session, err := r.gateway.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: s.dir, Roots: []string{s.dir}})
	if err != nil {
		t.Fatal(err)
	}
	if s.client.Name == "" {
		s.client = core.Client{Name: "tester", Asks: true}
	}
	r.session = session.Attach(s.client)
	r.reader = r.session.Read(core.Pos{})
	return r
}

func (r *rig) close() {
	r.reader.Close()
	if err := r.gateway.Close(r.t.Context()); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) prompt(text string) core.TurnID {
	r.t.Helper()
	id, err := r.session.Prompt(r.t.Context(), core.Prompt{Blocks: words(text)})
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// read yields events until until returns true.
func (r *rig) read(until func(core.Event) bool) (events []core.Event) {
	r.t.Helper()
	for {
		records, err := r.reader.Next(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		enough := false
		for _, rec := range records {
			events = append(events, rec.Event)
			enough = enough || until(rec.Event)
		}
		if enough {
			return events
		}
	}
}

// finish reads to the end of a turn and renders the events since the last reading.
func (r *rig) finish(id core.TurnID) []string {
	r.t.Helper()
	return lines(r.read(func(ev core.Event) bool {
		e, ok := ev.(core.TurnEnded)
		return ok && e.Turn == id
	}))
}

// lines renders events; pieces of one stream are joined, however they were read, and
// events without a meaning for the loop are left out.
func lines(events []core.Event) (list []string) {
	stream := ""
	piece := func(id, head, text string) {
		if n := len(list); n > 0 && stream == id {
			list[n-1] += text
			return
		}
		list, stream = append(list, head+text), id
	}
	for _, ev := range events {
		switch e := ev.(type) {
		case core.TextDelta:
			piece("text "+string(e.Message), "text ", e.Text)
			continue
		case core.ThoughtDelta:
			piece("thought "+string(e.Thought), "  ", e.Text)
			continue
		case core.CallArgs:
			piece("args "+string(e.Call), "args "+string(e.Call)+" ", e.Text)
			continue
		case core.Phase: // its place between the other events is not fixed
			continue
		case core.ThoughtStarted:
			list = append(list, "thought")
		case core.ThoughtEnded:
			list = append(list, strings.TrimSpace(fmt.Sprintf("thought ended %v %s", e.Took, e.Sealed)))
		case core.CallChanged:
			list = append(list, strings.TrimSpace(fmt.Sprintf("call %s %s %s %s", e.Call.ID, e.Call.Tool, e.Call.State, e.Call.Why)))
		case core.UsageChanged:
			list = append(list, fmt.Sprintf("usage %d+%d of %d+%d, %d/%d", e.Last.In, e.Last.Out, e.Total.In, e.Total.Out, e.Context, e.Window))
		case core.TurnEnded:
			list = append(list, strings.TrimSpace(fmt.Sprintf("ended %s %s", e.Stop, e.Err)))
		case core.Steered:
			list = append(list, "steered")
		case core.Opened, core.Claimed, core.PromptQueued, core.TurnStarted, core.CallOutput, core.Asked, core.Answered,
			core.PlanChanged, core.TitleChanged, core.SettingsChanged, core.Bound, core.Notice, core.Flagged, core.Expanded, core.Compacted, core.Reverted, core.Cited, core.Moved, core.Truncated, core.Unknown:
		}
		stream = ""
	}
	return list
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantMessages compares the messages in the last request.
func wantMessages(t *testing.T, script *coretest.Script, want ...string) {
	t.Helper()
	requests := script.Requests()
	got := show(requests[len(requests)-1].Messages)
	if text := strings.Join(want, "\n") + "\n"; got != text {
		t.Errorf("the model was shown:\n%swant:\n%s", got, text)
	}
}

// tool returns a tool that returns its arguments; it has no effect.
func tool(name string, run ...func(context.Context, core.Invocation) (core.Result, error)) coretest.Tool {
	t := coretest.Tool{Is: core.Spec{Server: core.Native, Name: name, Kind: core.KindRead, ReadOnly: true}, Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
		return core.Result{Blocks: words(name + " got " + string(inv.Args))}, nil
	}}
	if run != nil {
		t.Runs = run[0]
	}
	return t
}

// changing returns a tool that has an effect.
func changing(name string, run ...func(context.Context, core.Invocation) (core.Result, error)) coretest.Tool {
	t := tool(name, run...)
	t.Is.ReadOnly, t.Is.Kind = false, core.KindEdit
	return t
}

func TestText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(coretest.Answer{}.Say("hel", "lo").Use(core.Usage{In: 10, Out: 2}), coretest.Answer{Stop: core.StopTokens}.Say("more").Use(core.Usage{In: 20, Out: 3}))
		script.Is = inference.ModelInfo{ID: "script/model", Window: 1000}
		r := start(t, script, setup{tools: []core.Tool{tool("look")}})
		defer r.close()
		wantLines(t, r.finish(r.prompt("hi")), "text hello", "usage 10+2 of 10+2, 12/1000", "ended end_turn")
		wantLines(t, r.finish(r.prompt("go on")), "text more", "usage 20+3 of 30+5, 23/1000", "ended max_tokens")
		wantMessages(t, script, `user: "hi"`, `assistant: "hello"`, `user: "go on"`)
		req := script.Requests()[0]
		if req.Session != "s" || !strings.Contains(req.System, "/w") || req.Tools != nil {
			t.Errorf("session %q, tools %v, prompt %q", req.Session, req.Tools, req.System)
		}
		if second := script.Requests()[1]; second.System != req.System {
			t.Error("the system prompt changed")
		}
	})
}

func TestThoughts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &coretest.Script{Reply: func(n int, _ *inference.Request) coretest.Answer {
			if n > 0 {
				return coretest.Answer{}.Say("yes")
			}
			return coretest.Answer{}.With(
				inference.Delta{Kind: inference.DeltaThought, Block: 0, Text: "hm"}, inference.Delta{Kind: inference.DeltaThought, Block: 0, Text: "m"},
				inference.Delta{Kind: inference.DeltaSealed, Block: 0, Sealed: json.RawMessage(`"s1"`)},
				inference.Delta{Kind: inference.DeltaThought, Block: 1, Text: "so"},
				inference.Delta{Kind: inference.DeltaText, Block: 2, Text: "one"},
				inference.Delta{Kind: inference.DeltaText, Block: 2, Text: ""},
				inference.Delta{Kind: inference.DeltaText, Block: 3, Text: "two"},
				inference.Delta{Kind: inference.DeltaSealed, Block: 4, Sealed: json.RawMessage(`"s2"`)},
			)
		}}
		r := start(t, script, setup{})
		defer r.close()
		wantLines(t, r.finish(r.prompt("hi")), "thought", "  hmm", `thought ended 0s "s1"`, "thought", "  so", "thought ended 0s", "text one", "text two",
			"thought", `thought ended 0s "s2"`, "ended end_turn")
		r.finish(r.prompt("sure?"))
		wantMessages(t, script, `user: "hi"`, `assistant: <hmm"s1"> <so> <"s2"> "one\n\ntwo"`, `user: "sure?"`)
	})
}

// The duration of a thought is recorded.
func TestThoughtTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, slowModel{}, setup{})
		defer r.close()
		wantLines(t, r.finish(r.prompt("hi")), "thought", "  hm", "thought ended 3s", "text ok", "ended end_turn")
	})
}

// slowModel thinks for three seconds.
type slowModel struct{}

func (slowModel) Info() inference.ModelInfo { return inference.ModelInfo{ID: "slow/model"} }

func (slowModel) Stream(context.Context, *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		if !yield(inference.Delta{Kind: inference.DeltaThought, Text: "hm"}, nil) {
			return
		}
		<-time.After(3 * time.Second)
		if yield(inference.Delta{Kind: inference.DeltaText, Block: 1, Text: "ok"}, nil) {
			yield(inference.Delta{Kind: inference.DeltaStop}, nil)
		}
	}
}

func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(
			coretest.Answer{}.Say("I look.").Call("x1", "look", `{"at":"a"}`).Use(core.Usage{In: 1, Out: 1}),
			coretest.Answer{}.Say("Seen."),
		)
		r := start(t, script, setup{tools: []core.Tool{tool("look")}})
		defer r.close()
		wantLines(t, r.finish(r.prompt("hi")), "text I look.", "call x1 look proposed", `args x1 {"at":"a"}`, "usage 1+1 of 1+1, 2/0",
			"call x1 look proposed", "call x1 look running allowed by the test", "call x1 look succeeded allowed by the test", "text Seen.", "ended end_turn")
		wantMessages(t, script, `user: "hi"`, `assistant: "I look." x1=look({"at":"a"})`, `tool: x1=look "look got {\"at\":\"a\"}"`)
	})
}

func TestCallNeedsApproval(t *testing.T) {
	for _, test := range []struct {
		decision core.Decision
		result   string
	}{
		{core.AllowOnce, `tool: x1=change "change got {}"`},
		{core.RejectOnce, `tool: x1=change failed "This call did not run: rejected by the user: not now."`},
	} {
		synctest.Test(t, func(t *testing.T) {
			script := coretest.NewScript(coretest.Answer{}.Call("x1", "change", `{}`), coretest.Answer{}.Say("So be it."))
			r := start(t, script, setup{tools: []core.Tool{changing("change")}, policy: coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it changes"})})
			defer r.close()
			id := r.prompt("hi")
			r.read(func(ev core.Event) bool { _, ok := ev.(core.Asked); return ok })
			ask := r.session.Pending()[0]
			if err := r.session.Decide(t.Context(), ask.ID, test.decision, "not now"); err != nil {
				t.Fatal(err)
			}
			r.finish(id)
			wantMessages(t, script, `user: "hi"`, `assistant: x1=change({})`, test.result)
		})
	}
}

// Calls without effect run concurrently, up to the limit; if one has an effect, all
// wait for those before them.
func TestManyCalls(t *testing.T) {
	for _, test := range []struct {
		name string
		last coretest.Tool
		most int32
	}{
		{"reading", tool("last"), 3},
		{"one that changes", changing("last"), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var now, most atomic.Int32
				var order []string
				var calls atomic.Int32
				work := func(ctx context.Context, inv core.Invocation) (core.Result, error) {
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					if test.most == 1 {
						order = append(order, string(inv.Call))
					}
					<-time.After(time.Second)
					now.Add(-1)
					calls.Add(1)
					return core.Result{Blocks: words(string(inv.Call))}, nil
				}
				test.last.Runs = work
				script := coretest.NewScript(
					coretest.Answer{}.Call("x1", "look", `{}`).Call("x2", "look", `{}`).Call("x3", "look", `{}`).Call("x4", "look", `{}`).Call("x5", "last", `{}`),
					coretest.Answer{}.Say("done"),
				)
				r := start(t, script, setup{tools: []core.Tool{tool("look", work), test.last}, options: Options{Parallel: 3}})
				defer r.close()
				r.finish(r.prompt("hi"))
				if most.Load() != test.most || calls.Load() != 5 {
					t.Errorf("%d calls, at most %d at a time, want %d", calls.Load(), most.Load(), test.most)
				}
				if test.most == 1 && !slices.Equal(order, []string{"x1", "x2", "x3", "x4", "x5"}) {
					t.Errorf("they ran as %v", order)
				}
				wantMessages(t, script, `user: "hi"`, `assistant: x1=look({}) x2=look({}) x3=look({}) x4=look({}) x5=last({})`,
					`tool: x1=look "x1"`, `tool: x2=look "x2"`, `tool: x3=look "x3"`, `tool: x4=look "x4"`, `tool: x5=last "x5"`)
			})
		})
	}
}

// The model gets the mistakes in its calls as results, and the turn continues.
func TestInvalidCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := inference.Delta{Kind: inference.DeltaToolEnd, Block: 1, Bad: errors.New("unexpected end of JSON")}
		script := coretest.NewScript(
			coretest.Answer{}.With(
				inference.Delta{Kind: inference.DeltaToolStart, Block: 1, ToolID: "x1", ToolName: "look"}, inference.Delta{Kind: inference.DeltaToolArgs, Block: 1, Text: `{"a`}, bad,
				inference.Delta{Kind: inference.DeltaToolStart, Block: 2, ToolID: "x2", ToolName: "look"},
				inference.Delta{Kind: inference.DeltaToolStart, Block: 3, ToolID: "x3", ToolName: "look"}, inference.Delta{Kind: inference.DeltaToolEnd, Block: 3, Args: json.RawMessage(`[1]`)},
			).Call("x4", "no such/tool", `{}`).Call("x5", "broken", `{}`).Call("x6", "look", ``),
			coretest.Answer{}.Say("sorry"),
		)
		broken := tool("broken")
		broken.Previews = func(context.Context, core.Invocation) (core.Preview, error) {
			return core.Preview{}, errors.New("path is missing")
		}
		r := start(t, script, setup{tools: []core.Tool{tool("look"), broken}})
		defer r.close()
		got := r.finish(r.prompt("hi"))
		if got[len(got)-1] != "ended end_turn" {
			t.Errorf("%s", strings.Join(got, "\n"))
		}
		again := "; make it again with a JSON object that fits the tool's schema"
		wantMessages(t, script, `user: "hi"`, `assistant: x1=look({}) x2=look({}) x3=look({}) x4=`+inference.ToolName(core.Native, "no such/tool")+`({}) x5=broken({}) x6=look({})`,
			`tool: x1=look failed "the call did not run: unexpected end of JSON`+again+`"`,
			`tool: x2=look failed "the call did not run: the arguments stopped in the middle`+again+`"`,
			`tool: x3=look failed "the call did not run: the arguments are not a JSON object`+again+`"`,
			`tool: x4=`+inference.ToolName(core.Native, "no such/tool")+` failed "there is no tool \"no such/tool\" here"`,
			`tool: x5=broken failed "path is missing"`,
			`tool: x6=look "look got {}"`)
	})
}

// Providers that number their calls from the start in each answer, or not at all.
func TestCallIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(
			coretest.Answer{}.Call("call_0", "look", `{"n":1}`).Call("call_0", "look", `{"n":2}`).Call("", "look", `{"n":3}`).Call("a\nb", "look", `{"n":4}`),
			coretest.Answer{}.Call("call_0", "look", `{"n":5}`),
			coretest.Answer{}.Say("done"),
		)
		r := start(t, script, setup{tools: []core.Tool{tool("look")}})
		defer r.close()
		r.finish(r.prompt("hi"))
		seen := map[core.CallID]bool{}
		for _, m := range script.Requests()[2].Messages {
			for i, c := range m.Calls {
				if seen[c.ID] || c.ID == "" || c.ID == "a\nb" {
					t.Errorf("call %d has the id %q", i, c.ID)
				}
				seen[c.ID] = true
			}
		}
		if len(seen) != 5 || !seen["call_0"] {
			t.Errorf("got %v", seen)
		}
	})
}

// Tools of other servers have their server's name as a prefix, and are found by it.
func TestToolsOfServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := tool("look"), tool("look", func(context.Context, core.Invocation) (core.Result, error) {
			return core.Result{Blocks: words("theirs")}, nil
		})
		theirs.Is.Server = "files"
		script := coretest.NewScript(coretest.Answer{}.Call("x1", "files__look", `{}`).Call("x2", "look", `{}`), coretest.Answer{}.Say("done"))
		r := start(t, script, setup{tools: []core.Tool{mine, theirs}})
		defer r.close()
		r.finish(r.prompt("hi"))
		wantMessages(t, script, `user: "hi"`, `assistant: x1=files__look({}) x2=look({})`, `tool: x1=files__look "theirs"`, `tool: x2=look "look got {}"`)
	})
}

func TestCancelWhileTheModelSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(
			coretest.Answer{Hang: true}.Think("hm").Say("I beg").With(inference.Delta{Kind: inference.DeltaToolStart, Block: 2, ToolID: "x1", ToolName: "look"}),
			coretest.Answer{}.Say("ok"),
		)
		r := start(t, script, setup{tools: []core.Tool{tool("look")}})
		defer r.close()
		id := r.prompt("hi")
		r.read(func(ev core.Event) bool { _, ok := ev.(core.CallChanged); return ok })
		if err := r.session.Cancel(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		wantLines(t, r.finish(id), "call x1 look canceled the turn was cancelled", "ended cancelled")
		wantLines(t, r.finish(r.prompt("again")), "text ok", "ended end_turn")
		wantMessages(t, script, `user: "hi"`, `assistant: <hm> "I beg"`, `user: "again"`)
	})
}

func TestCancelWhileACallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(coretest.Answer{}.Call("x1", "wait", `{}`).Call("x2", "wait", `{}`).Call("x3", "wait", `{}`), coretest.Answer{}.Say("ok"))
		r := start(t, script, setup{tools: []core.Tool{tool("wait", func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			if inv.Call == "x2" {
				inv.Output("one\n")
				inv.Output("two\n")
			}
			<-ctx.Done()
			if inv.Call == "x3" { // its output is not part of the result
				return core.Result{Blocks: words("three\n")}, ctx.Err()
			}
			return core.Result{}, ctx.Err()
		})}})
		defer r.close()
		id := r.prompt("hi")
		synctest.Wait()
		if err := r.session.Cancel(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		r.finish(id)
		r.finish(r.prompt("again"))
		wantMessages(t, script, `user: "hi"`, `assistant: x1=wait({}) x2=wait({}) x3=wait({})`,
			`tool: x1=wait failed "This call was stopped before it ended: the turn was cancelled."`,
			`tool: x2=wait failed "one\ntwo\n" "This call was stopped before it ended: the turn was cancelled."`,
			`tool: x3=wait failed "three\n" "This call was stopped before it ended: the turn was cancelled."`, `user: "again"`)
	})
}

func TestModelFails(t *testing.T) {
	overloaded := &inference.Error{Kind: inference.ErrOverloaded, Model: "script/model", Message: "come back later"}
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(
			coretest.Answer{Err: overloaded}.Think("hm").Say("the answ").Use(core.Usage{In: 3}),
			coretest.Answer{Err: overloaded},
			coretest.Answer{}.Say("ok"),
		)
		r := start(t, script, setup{})
		defer r.close()
		wantLines(t, r.finish(r.prompt("one")), "thought", "  hm", "thought ended 0s", "text the answ", "usage 3+0 of 3+0, 3/0", "ended error model script/model: overloaded: come back later")
		wantLines(t, r.finish(r.prompt("two")), "ended error model script/model: overloaded: come back later")
		r.finish(r.prompt("three"))
		wantMessages(t, script, `user: "one"`, `assistant: <hm> "the answ"`, `user: "two"`, `assistant: "(This turn failed before there was an answer.)"`, `user: "three"`)
	})
}

func TestInvalidStreams(t *testing.T) {
	for want, deltas := range map[string][]inference.Delta{
		"ended error model odd/model: truncated: the answer stopped without an end. Try again.": {{Kind: inference.DeltaText, Text: "x"}},
		`ended error model odd/model: a delta of the unknown kind "smell" came`:                 {{Kind: "smell"}},
		"ended error model odd/model: arguments came for a call that was not begun (part 7)":    {{Kind: inference.DeltaToolArgs, Block: 7}},
		"ended refusal":  {{Kind: inference.DeltaToolStart, ToolID: "x", ToolName: "look"}, {Kind: inference.DeltaStop, Stop: core.StopRefusal}},
		"ended end_turn": {{Kind: inference.DeltaStop}, {Kind: inference.DeltaText, Text: "behind the end"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, oddDeltas(deltas), setup{})
			defer r.close()
			got := r.finish(r.prompt("hi"))
			if got[len(got)-1] != want || slices.Contains(got, "text behind the end") {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// oddDeltas yields its deltas and no end.
type oddDeltas []inference.Delta

func (oddDeltas) Info() inference.ModelInfo { return inference.ModelInfo{ID: "odd/model"} }

func (o oddDeltas) Stream(context.Context, *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		for _, d := range o {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func TestNoModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked string
		r := start(t, nil, setup{options: Options{Model: func(_ context.Context, turn *core.Turn) (inference.Model, error) {
			asked = turn.Settings().Model
			return nil, fmt.Errorf("model %q: there are offline/demo and x/y", asked)
		}}})
		defer r.close()
		if err := r.session.Set(t.Context(), core.Settings{Model: "a/b"}); err != nil {
			t.Fatal(err)
		}
		wantLines(t, r.finish(r.prompt("hi")), `ended error model "a/b": there are offline/demo and x/y`)
		if asked != "a/b" {
			t.Errorf("asked for %q", asked)
		}
	})
}

func TestPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := make(chan struct{})
		model := stepModel{step, []inference.Delta{
			{Kind: inference.DeltaRetry, After: 2 * time.Second, Attempt: 1},
			{Kind: inference.DeltaText, Text: "x"},
			{Kind: inference.DeltaToolStart, Block: 1, ToolID: "x1", ToolName: "wait"},
			{Kind: inference.DeltaToolEnd, Block: 1},
			{Kind: inference.DeltaStop},
		}}
		r := start(t, model, setup{options: Options{MaxRequests: 1}, tools: []core.Tool{tool("wait", func(context.Context, core.Invocation) (core.Result, error) {
			<-step
			return core.Result{}, nil
		})}})
		defer r.close()
		id := r.prompt("hi")
		for _, want := range []struct {
			phase core.Phase
			steps int // to the next phase
		}{
			{core.Phase{Turn: id, Kind: core.PhaseWaiting}, 1},
			{core.Phase{Turn: id, Kind: core.PhaseRetrying, After: 2 * time.Second}, 1},
			{core.Phase{Turn: id, Kind: core.PhaseGenerating}, 3},
			{core.Phase{Turn: id, Kind: core.PhaseCalling, Tool: "wait"}, 1},
		} {
			r.read(func(ev core.Event) bool { return ev == want.phase }) // else nothing more arrives, and the bubble ends the test
			for range want.steps {
				step <- struct{}{}
			}
		}
		r.finish(id)
	})
}

// stepModel waits for a step before each delta.
type stepModel struct {
	step   chan struct{}
	deltas []inference.Delta
}

func (stepModel) Info() inference.ModelInfo {
	return inference.ModelInfo{ID: "stepwise/model", Tools: true}
}

func (s stepModel) Stream(context.Context, *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		for _, d := range s.deltas {
			<-s.step
			if !yield(d, nil) {
				return
			}
		}
	}
}

// A prompt that names a command: a text replaces it for the model, while the log keeps
// the typed prompt; or it is answered without a model.
func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(coretest.Answer{}.Say("reviewed"), coretest.Answer{}.Say("went on"), coretest.Answer{}.Say("as it is"))
		r := start(t, script, setup{command: func(_ context.Context, _ *core.Turn, text string) (core.CommandResult, bool, error) {
			switch text {
			case "/review now":
				return core.CommandResult{Prompt: "Review everything, now."}, true, nil
			case "/costs":
				return core.CommandResult{Answer: "nothing yet"}, true, nil
			}
			return core.CommandResult{}, false, nil
		}})
		defer r.close()
		r.finish(r.prompt("/review now"))
		r.finish(r.prompt("/costs"))
		r.finish(r.prompt("go on"))
		r.finish(r.prompt("/etc/passwd is a path"))
		reqs := script.Requests()
		if len(reqs) != 3 {
			t.Fatalf("the model was asked %d times, want 3", len(reqs))
		}
		if got := reqs[0].Messages[0].Blocks[0]; got != (core.Text{Text: "Review everything, now."}) {
			t.Errorf("the model got %v for the command", got)
		}
		if got := reqs[2].Messages; got[0].Blocks[0] != (core.Text{Text: "Review everything, now."}) || got[len(got)-1].Blocks[0] != (core.Text{Text: "/etc/passwd is a path"}) {
			t.Errorf("later the model got %v", got)
		}
	})
}

// A command with its own answer ends the turn, and the model is not asked.
func TestCommandEndsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, coretest.NewScript(), setup{command: func(ctx context.Context, turn *core.Turn, text string) (core.CommandResult, bool, error) {
			if text == "/fail" {
				return core.CommandResult{}, false, errors.New("there is no such model")
			}
			return core.CommandResult{}, true, turn.Emit(ctx, core.Moved{To: "other"})
		}})
		defer r.close()
		wantLines(t, r.finish(r.prompt("/fork")), "ended end_turn")
		wantLines(t, r.finish(r.prompt("/fail")), "ended error there is no such model")
	})
}

// An agent cannot run a tool that it is not offered, under any name.
func TestOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := func(context.Context, core.Invocation) (core.Result, error) {
			t.Error("a tool ran that was not offered")
			return core.Result{}, nil
		}
		script := coretest.NewScript(coretest.Answer{}.Call("x1", "change", `{"a":1}`).Call("x2", "look", `{}`), coretest.Answer{}.Say("so be it"))
		r := start(t, script, setup{
			tools:   []core.Tool{changing("change", ran), tool("look")},
			options: Options{Offer: func(s core.Spec) bool { return s.ReadOnly }},
		})
		defer r.close()
		r.finish(r.prompt("hi"))
		for _, req := range script.Requests() {
			if len(req.Tools) != 1 || req.Tools[0].Name != "look" {
				t.Errorf("offered: %+v", req.Tools)
			}
		}
		wantMessages(t, script, `user: "hi"`, `assistant: x1=change({"a":1}) x2=look({})`, `tool: x1=change failed "there is no tool \"change\" here"`, `tool: x2=look "look got {}"`)
	})
}
