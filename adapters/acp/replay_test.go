package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// live lists the kinds that describe the current state, which are also in the answer to
// session/load.
var live = map[string]bool{"config_option_update": true, "current_mode_update": true, "available_commands_update": true}

// screen is an editor's display of a session: entries in the order in which they appeared, texts
// joined, calls with their last patch, and the last one of each kind that replaces earlier ones, which
// has no place of its own.
type screen struct {
	order []string
	entry map[string]any
	lines map[string]int // counts the updates of an entry
}

// latest lists the kinds of which the last one alone counts.
var latest = []string{"plan", "session_info_update", "usage_update"}

func (s *screen) take(t *testing.T, line string) {
	t.Helper()
	var m struct {
		Method string
		Params struct{ Update map[string]any }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	u := m.Params.Update
	kind, _ := u["sessionUpdate"].(string)
	if m.Method != "session/update" || live[kind] {
		return
	}
	delete(u, "sessionUpdate")
	delete(u, "updatedAt") // of a replay, that of the title
	if len(u) == 0 {
		return
	}
	key := kind
	switch kind {
	case "tool_call", "tool_call_update":
		key = fmt.Sprint("call ", u["toolCallId"])
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
		if u["messageId"] == nil { // texts of the gateway stand by themselves
			key = fmt.Sprint(kind, len(s.order))
		} else {
			key = fmt.Sprint(kind, u["messageId"])
		}
	}
	s.lines[key]++
	if slices.Contains(latest, kind) {
		s.entry[key] = u
		return
	}
	was, there := s.entry[key].(map[string]any)
	if !there {
		s.order = append(s.order, key)
		s.entry[key] = u
		return
	}
	old, text := was["content"].(map[string]any)
	now, _ := u["content"].(map[string]any)
	for name, v := range u {
		was[name] = v
	}
	if text && now != nil {
		was["content"] = map[string]any{"type": "text", "text": fmt.Sprint(old["text"], now["text"])}
	}
}

func (s *screen) String() string {
	var b strings.Builder
	for _, key := range append(latest, s.order...) {
		e, err := json.Marshal(s.entry[key])
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "%s %s\n", key, e)
	}
	return b.String()
}

// babble emits n random events.
func babble(ctx context.Context, t *core.Turn, rnd *rand.Rand, n int) error {
	m, h := t.NewMessage(), t.NewThought()
	open := map[core.CallID]core.Call{}
	for i := range n {
		var ev core.Event
		switch rnd.IntN(12) {
		case 0:
			m = t.NewMessage()
			fallthrough
		case 1, 2:
			ev = core.TextDelta{Message: m, Text: strings.Repeat(fmt.Sprint(i, " é\n\""), 1+rnd.IntN(9)*rnd.IntN(9))}
		case 3:
			h = t.NewThought()
			if err := t.Emit(ctx, core.ThoughtStarted{Thought: h}); err != nil {
				return err
			}
			fallthrough
		case 4:
			ev = core.ThoughtDelta{Thought: h, Text: fmt.Sprint("thought ", i)}
		case 5, 6, 7, 8:
			c := next(t, rnd, open)
			if c.State == core.Running && open[c.ID].State == core.Running && rnd.IntN(2) == 0 {
				ev = core.CallOutput{Call: c.ID, Text: fmt.Sprint("line ", i, "\n")}
				break
			}
			if open[c.ID] = c; c.State.Ended() {
				delete(open, c.ID)
			}
			ev = core.CallChanged{Call: c}
		case 9:
			ev = core.PlanChanged{Entries: []core.PlanEntry{{Text: fmt.Sprint("step ", i), Status: core.PlanActive}, {Text: "end", Priority: "low", Status: core.PlanPending}}}
		case 10:
			cost := float64(i) / 100
			ev = core.UsageChanged{Turn: t.ID(), Context: i, Window: 100_000, Total: core.Usage{In: i, Cost: &cost}}
		case 11:
			ev = core.Notice{Severity: core.Warning, Text: fmt.Sprint("notice ", i)}
		}
		if err := t.Emit(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

// next returns a random step of a random call.
func next(t *core.Turn, rnd *rand.Rand, open map[core.CallID]core.Call) core.Call {
	if rnd.IntN(3) == 0 || len(open) == 0 {
		return core.Call{ID: t.NewCall(), Turn: t.ID(), Server: core.Native, Tool: "run", Kind: core.KindExecute, State: core.Proposed}
	}
	var c core.Call
	for _, c = range open {
		break
	}
	switch c.State {
	case core.Proposed:
		c.State, c.Title, c.Args = core.Running, "Run it", []byte(`{"a":1}`)
		c.Locations = []core.Location{{Path: "/w/a", Line: rnd.IntN(3)}}
	case core.Running:
		if rnd.IntN(3) > 0 {
			c.State = []core.CallState{core.Succeeded, core.Errored}[rnd.IntN(2)]
			c.Content = []core.Block{core.Text{Text: strings.Repeat("out ", rnd.IntN(600))}, core.Diff{Path: "/w/a", New: "new", Created: rnd.IntN(2) == 0}}
			c.Output = []byte(`{"exit_code":1}`)
		}
	case core.Awaiting, core.Succeeded, core.Errored, core.Rejected, core.Canceled:
	}
	return c
}

// A loaded session of 10,000 events shows the same as live: all of it, in the same order, as for
// a client that watched.
func TestLoadShowsTheSameAsLive(t *testing.T) {
	const turns, each, last = 10, 1000, "this was the end"
	for seed := range uint64(1) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		g := coretest.Gateway(coretest.NewMemory(), func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if said, _ := turn.Prompt()[0].(core.Text); said.Text == last {
				return core.StopEnd, nil
			}
			return core.StopEnd, babble(ctx, turn, rnd, each)
		}, asks)
		prompter, stop1 := serve(t, g)
		watcher, stop2 := serve(t, g)
		if err := prompter.Send(hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`); err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(prompter.Until(t, `"id":1`), `"sessionId":"`)
		id, _, _ = strings.Cut(id, `"`)
		of := func(n int, method, more string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"sessionId":%q,"cwd":"/w","mcpServers":[]%s}}`, n, method, id, more)
		}
		if err := watcher.Send(hello, of(1, "session/resume", "")); err != nil {
			t.Fatal(err)
		}
		watcher.Until(t, `"id":1`)
		seen := &screen{entry: map[string]any{}, lines: map[string]int{}}
		watched := make(chan error, 1)
		go func() {
			for {
				line, err := watcher.Next()
				if err != nil {
					watched <- err
					return
				}
				if seen.take(t, line); strings.Contains(line, `"text":"`+last) {
					watched <- nil
					return
				}
			}
		}()
		for n := range turns + 1 {
			text := fmt.Sprintf("this was turn %d", n)
			if n == turns {
				text = last
			}
			if err := prompter.Send(of(10+n, "session/prompt", fmt.Sprintf(`,"prompt":[{"type":"text","text":%q}]`, text))); err != nil {
				t.Fatal(err)
			}
			prompter.Until(t, fmt.Sprintf(`"id":%d`, 10+n))
		}
		if err := <-watched; err != nil {
			t.Fatal(err)
		}
		loader, stop3 := serve(t, g)
		if err := loader.Send(hello, of(1, "session/load", "")); err != nil {
			t.Fatal(err)
		}
		again := &screen{entry: map[string]any{}, lines: map[string]int{}}
		loader.Until(t, `"id":0`)
		for {
			line, err := loader.Next()
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":1`) {
				break
			}
			again.take(t, line)
		}
		a, b := seen.String(), again.String()
		if len(seen.order) < 1000 || a != b {
			as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
			for i := range as {
				if i >= len(bs) || as[i] != bs[i] {
					t.Fatalf("seed %d: entry %d of %d and %d\nlive   %.600s\nloaded %.600s", seed, i, len(as), len(bs), as[i], append(bs, "")[min(i, len(bs))])
				}
			}
			t.Fatalf("seed %d: %d entries live, %d loaded", seed, len(as), len(bs))
		}
		for key, n := range again.lines {
			if n > 1 && !strings.Contains(key, "_chunk") {
				t.Errorf("%s was told %d times", key, n)
			}
		}
		stop1()
		stop2()
		stop3()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
