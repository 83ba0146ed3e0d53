package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/guide"
)

// scriptedCall is a tool call of a scripted model.
type scriptedCall struct {
	tool string
	args map[string]string
}

// scripted configures a model that makes the calls of one round after the other, and then answers
// "done". more is appended to the configuration.
func (r *room) scripted(more string, rounds ...[]scriptedCall) {
	r.t.Helper()
	var round atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		delta, finish := map[string]any{"content": "done"}, "stop"
		if i := int(round.Add(1)) - 1; i < len(rounds) {
			var calls []any
			for n, c := range rounds[i] {
				calls = append(calls, map[string]any{
					"index": n, "id": fmt.Sprintf("call%d_%d", i, n), "type": "function",
					"function": map[string]any{"name": c.tool, "arguments": string(coretest.Args(c.args))},
				})
			}
			delta, finish = map[string]any{"tool_calls": calls}, "tool_calls"
		}
		choice := map[string]any{"index": 0, "delta": delta, "finish_reason": finish}
		chunk, err := json.Marshal(map[string]any{"choices": []any{choice}})
		if err != nil {
			r.t.Error(err)
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}))
	r.t.Cleanup(srv.Close)
	r.configure("model: house/m\nproviders:\n  house: {base_url: " + srv.URL + "}\n" + more)
}

// looks counts the looks at the configuration's files and the guides'.
func (r *room) looks() (config, guides *atomic.Int32) {
	config, guides = new(atomic.Int32), new(atomic.Int32)
	p := r.profiles.edition()
	p.changed = func(s configs.FileStates) bool { config.Add(1); return s.Changed() }
	p.guides.changed = func(g *guide.Guide, ctx context.Context) bool { guides.Add(1); return g.Changed(ctx) }
	return config, guides
}

// ends lists the results of the last turn's calls.
func (r *room) ends() (list []string) {
	for _, ev := range r.events {
		if e, ok := ev.(core.CallChanged); ok && e.Call.State.Ended() {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %v %s", e.Call.Tool, e.Call.State, e.Call.Why)))
		}
	}
	return list
}

// A turn looks at the guide's files once and at the configuration's once for the prompt and once
// for each call, however often the model is asked.
func TestATurnLooksOnce(t *testing.T) {
	r := newRoom(t, nil, map[string]string{
		"AGENTS.md": "Be kind.\n@more.md", "more.md": "Be quick.", "a.txt": "tea",
		".agents/skills/tea/SKILL.md": "---\nname: tea\ndescription: How to make tea\n---\nBoil water.",
	})
	config, guides := r.looks()
	for _, c := range []struct {
		what   string
		rounds [][]scriptedCall
		calls  int32
	}{
		{"no call", nil, 0},
		{"one call", [][]scriptedCall{{{"read_file", map[string]string{"path": "a.txt"}}}}, 1},
		{"four calls in three rounds", [][]scriptedCall{
			{{"read_file", map[string]string{"path": "a.txt"}}, {"grep", map[string]string{"pattern": "tea"}}},
			{{"skill", map[string]string{"name": "tea"}}},
			{{"directory_tree", map[string]string{"path": "."}}},
		}, 4},
	} {
		t.Run(c.what, func(t *testing.T) {
			r.scripted("", c.rounds...)
			if _, err := r.profiles.In(t.Context(), []string{r.dir}); err != nil { // reads the new configuration
				t.Fatal(err)
			}
			config.Store(0)
			guides.Store(0)
			if said := r.say("hello"); said != "done" {
				t.Fatalf("said %q", said)
			}
			ends := r.ends()
			failed := slices.ContainsFunc(ends, func(s string) bool { return !strings.Contains(s, "succeeded") })
			if len(ends) != int(c.calls) || failed {
				t.Fatalf("calls: %q", ends)
			}
			if n := config.Load(); n != 1+c.calls {
				t.Errorf("the configuration was looked at %d times, want %d", n, 1+c.calls)
			}
			if n := guides.Load(); n != 1 {
				t.Errorf("the guides were looked at %d times, want once", n)
			}
		})
	}
}

// A rule that is written while a call runs applies from the next call of the same turn on. The
// running call is judged by the rules at its beginning, even if a person allows it later.
func TestADenyRuleAppliesFromTheNextCall(t *testing.T) {
	r := newRoom(t, nil, nil)
	write := func(name string) []scriptedCall {
		return []scriptedCall{{"write_file", map[string]string{"path": filepath.Join(r.dir, name), "content": "x"}}}
	}
	r.scripted("", write("a.txt"), write("b.txt"))
	if _, err := r.profiles.Load(); err != nil {
		t.Fatal(err)
	}
	base := r.profiles.edition().config()
	questions := 0
	r.answer = func(core.Ask) core.Reply {
		questions++
		url := base.Providers["house"].BaseURL.String()
		r.configure("model: house/m\nproviders:\n  house: {base_url: " + url + "}\npolicy: {deny: [{tool: write_file}]}\n")
		return core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowOnce, By: "test"}
	}
	if said := r.say("write"); said != "done" {
		t.Fatalf("said %q", said)
	}
	ends := r.ends()
	if len(ends) != 2 || questions != 1 ||
		!strings.Contains(ends[0], "succeeded") || !strings.Contains(ends[1], "rejected") || !strings.Contains(ends[1], "rule") {
		t.Errorf("%d questions, calls %q", questions, ends)
	}
}
