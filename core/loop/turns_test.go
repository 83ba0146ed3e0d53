package loop

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

var update = flag.Bool("update", false, "write the golden files")

func (r *rig) steer(text string) {
	r.t.Helper()
	if _, err := r.session.Prompt(r.t.Context(), core.Prompt{Blocks: words(text), Busy: core.BusySteer}); err != nil {
		r.t.Fatal(err)
	}
}

// The user's messages during a turn are part of the next request, and cause one more
// if the model had already finished.
func TestSteering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		script := coretest.NewScript(
			coretest.Answer{}.Call("x1", "wait", `{}`),
			coretest.Answer{Wait: gate}.Say("one"),
			coretest.Answer{}.Say("two"),
		)
		r := start(t, script, setup{tools: []core.Tool{tool("wait", func(context.Context, core.Invocation) (core.Result, error) {
			<-gate
			return core.Result{}, nil
		})}})
		defer r.close()
		id := r.prompt("hi")
		synctest.Wait()
		r.steer("faster")
		gate <- struct{}{} // the call ends; the second request has "faster"
		synctest.Wait()
		if m := script.Requests()[1].Messages; show(m[len(m)-1:]) != "user: \"faster\"\n" {
			t.Errorf("the second request:\n%s", show(m))
		}
		r.steer("and louder")
		gate <- struct{}{} // the answer, which would be the last
		r.finish(id)
		wantMessages(t, script, `user: "hi"`, `assistant: x1=wait({})`, `tool: x1=wait "(The call succeeded and returned nothing.)"`,
			`user: "faster"`, `assistant: "one"`, `user: "and louder"`)
		if n := len(script.Requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestTooManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &coretest.Script{Reply: func(n int, _ *inference.Request) coretest.Answer {
			return coretest.Answer{}.Call(core.CallID(fmt.Sprint("x", n)), "look", `{}`)
		}}
		r := start(t, script, setup{tools: []core.Tool{tool("look")}, options: Options{MaxRequests: 3}})
		defer r.close()
		got := r.finish(r.prompt("hi"))
		if last := got[len(got)-1]; last != "ended max_turn_requests" || len(script.Requests()) != 3 {
			t.Errorf("%q after %d requests", last, len(script.Requests()))
		}
	})
}

// Truncated records are removed from the history, before and after the place up to
// which the conversation has read.
func TestTruncation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &coretest.Script{Reply: func(n int, _ *inference.Request) coretest.Answer {
			return coretest.Answer{}.Say(fmt.Sprint("answer ", n)).Use(core.Usage{In: 1})
		}}
		r := start(t, script, setup{})
		defer r.close()
		r.finish(r.prompt("one"))
		head := r.session.Head()
		r.finish(r.prompt("two"))
		if err := r.session.Truncate(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		r.finish(r.prompt("three"))
		wantMessages(t, script, `user: "one"`, `assistant: "answer 0"`, `user: "three"`)
		if err := r.session.Truncate(t.Context(), r.session.Head()); err != nil { // hides nothing
			t.Fatal(err)
		}
		r.finish(r.prompt("four"))
		wantMessages(t, script, `user: "one"`, `assistant: "answer 0"`, `user: "three"`, `assistant: "answer 2"`, `user: "four"`)
		if total := r.session.State().Usage.In; total != 3 {
			t.Errorf("%d tokens in all, want those of the three that are left", total)
		}
	})
}

// A session that another process opens again has the same history.
func TestHistoryOfAnOpenedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []coretest.Answer{
			coretest.Answer{}.Think("hm").Say("I look.").Call("x1", "look", `{"a":1}`).Use(core.Usage{In: 4}), coretest.Answer{}.Say("one").Use(core.Usage{In: 5}),
		}
		first := start(t, coretest.NewScript(answers...), setup{tools: []core.Tool{tool("look")}})
		first.finish(first.prompt("hi"))
		first.close()

		script := coretest.NewScript(coretest.Answer{}.Say("two").Use(core.Usage{In: 6}))
		prof := &core.Profile{
			Agents: []core.Agent{{Name: "code", Backend: New(Options{Model: func(context.Context, *core.Turn) (inference.Model, error) { return script, nil }})}}, Policy: allowed,
		}
		g := core.New(core.Config{Store: first.store, Node: "other", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		s, err := g.Open(t.Context(), core.Local, "s")
		if err != nil {
			t.Fatal(err)
		}
		second := &rig{t: t, gateway: g, session: s.Attach(core.Client{Name: "tester"})}
		second.reader = second.session.Read(core.Pos{})
		defer second.close()
		second.finish(second.prompt("and?"))
		wantMessages(t, script, `user: "hi"`, `assistant: <hm> "I look." x1=look({"a":1})`, `tool: x1=look "look got {\"a\":1}"`, `assistant: "one"`, `user: "and?"`)
		if total := second.session.State().Usage.In; total != 15 {
			t.Errorf("%d tokens in all", total)
		}
	})
}

func TestEffortAndPictures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(coretest.Answer{}.Say("x"), coretest.Answer{}.Say("y"))
		script.Is = inference.ModelInfo{ID: "blind/model", Efforts: []string{"low", "high"}}
		r := start(t, script, setup{})
		defer r.close()
		for i, effort := range []string{"high", "extreme"} {
			if err := r.session.Set(t.Context(), core.Settings{Effort: effort}); err != nil {
				t.Fatal(err)
			}
			id, err := r.session.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "see"}, core.Image{MIME: "image/png"}}})
			if err != nil {
				t.Fatal(err)
			}
			r.finish(id)
			if got := script.Requests()[i].Effort; got != []string{"high", ""}[i] {
				t.Errorf("effort %q became %q", effort, got)
			}
		}
		picture := `"(There was a picture here. The model blind/model does not accept pictures.)"`
		wantMessages(t, script, `user: "see" `+picture, `assistant: "x"`, `user: "see" `+picture)
	})
}

// A long answer needs no more memory than a short one.
func TestLongAnswer(t *testing.T) {
	const count, size = 60_000, 1 << 10 // 60 MB
	r := start(t, endlessModel{count, strings.Repeat("x", size)}, setup{})
	defer r.close()
	r.reader.Close() // without readers: the turn continues, and the log keeps only its head
	before, head := heap(), r.session.Head()
	id := r.prompt("hi")
	last := r.session.Read(head)
	defer last.Close()
	var most uint64
	for done := false; !done; {
		records, err := last.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range records {
			e, ok := rec.Event.(core.TurnEnded)
			done = done || ok && e.Turn == id
		}
	}
	most = heap() - min(before, heap())
	// The memory store has the text itself; the rest is ours.
	if limit := uint64(count*size) + 24<<20; most > limit {
		t.Errorf("%d MiB are held after an answer of %d MiB", most>>20, count*size>>20)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

type endlessModel struct {
	count int
	piece string
}

func (endlessModel) Info() inference.ModelInfo { return inference.ModelInfo{ID: "endless/model"} }

func (e endlessModel) Stream(context.Context, *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		for range e.count {
			if !yield(inference.Delta{Kind: inference.DeltaText, Text: e.piece}, nil) {
				return
			}
		}
		yield(inference.Delta{Kind: inference.DeltaStop}, nil)
	}
}

// Turns leave no goroutine behind.
func TestThousandTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &coretest.Script{Reply: func(n int, r *inference.Request) coretest.Answer {
			if m := r.Messages; m[len(m)-1].Role == inference.RoleTool {
				return coretest.Answer{}.Say("done")
			}
			return coretest.Answer{}.Say("look").Call(core.CallID(fmt.Sprint("x", n)), "look", `{}`).Call(core.CallID(fmt.Sprint("y", n)), "look", `{}`)
		}}
		r := start(t, forgetfulScript{script}, setup{tools: []core.Tool{tool("look")}})
		defer r.close()
		r.finish(r.prompt("hi"))
		synctest.Wait()
		before := bubbled()
		for range 1000 {
			r.finish(r.prompt("hi"))
		}
		synctest.Wait()
		if after := bubbled(); after > before || before < 2 {
			t.Errorf("%d goroutines before, %d after", before, after)
		}
	})
}

// bubbled counts the goroutines of a synctest bubble. Those of the runtime, which may
// run finalizers at any time, do not count.
func bubbled() int {
	buf := make([]byte, 4<<20)
	return bytes.Count(buf[:runtime.Stack(buf, true)], []byte(", synctest bubble "))
}

// forgetfulScript is a Script that shows its model only one turn, so that a thousand turns
// do not keep a thousand copies of the history.
type forgetfulScript struct{ *coretest.Script }

func (f forgetfulScript) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	kept := *r
	kept.Messages = kept.Messages[len(kept.Messages)-1:]
	return f.Script.Stream(ctx, &kept)
}

// The system prompt is in a golden file, so that changes of it are noticed.
func TestSystem(t *testing.T) {
	got := System("dragoman", core.Meta{Cwd: "/home/ada/app", Roots: []string{"/home/ada/app", "/home/ada/lib"}})
	name := filepath.Join("testdata", "system.txt")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the system prompt is not what %s holds:\n%s", name, got)
	}
	if len(got) > 2500 {
		t.Errorf("it has %d bytes: it goes out with every request", len(got))
	}
}

// TestAClientsSystemPrompt puts a client's text behind ours, or in its place. What the workspace
// says stays in both.
func TestAClientsSystemPrompt(t *testing.T) {
	for _, c := range []struct {
		prompt *core.SystemPrompt
		want   string
	}{
		{nil, "Ours.\nThe workspace's.\n"},
		{&core.SystemPrompt{Text: " Speak Latin. "}, "Ours.\nThe workspace's.\n\n# Instructions of the client\nSpeak Latin.\n"},
		{&core.SystemPrompt{Text: "Speak Latin.", Override: true}, "Speak Latin.\nThe workspace's.\n"},
	} {
		sections := []Section{{inference.PartSystem, "Ours.\n"}, {inference.PartInstructions, "The workspace's.\n"}}
		if got := joined(withClients(sections, c.prompt)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.prompt, got, c.want)
		}
	}
}
