package setup

import (
	"os"
	"path/filepath"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/core"
)

// A change of the configuration makes another revision of the agents that it concerns, and of no
// others; an agent that is in no workspace's profile any more is removed.
func TestAReloadRemakesOnlyTheAgentsThatItConcerns(t *testing.T) {
	r := newRoom(t, nil, nil)
	here, there := []string{r.dir}, []string{t.TempDir()}
	revs := func(roots []string) map[string]string {
		t.Helper()
		p, err := r.gateway.Profile(t.Context(), nil, roots)
		if err != nil {
			t.Fatal(err)
		}
		list := map[string]string{}
		for _, a := range p.Agents {
			list[a.Name] = a.Rev
		}
		for _, a := range p.Subagents {
			if was, ok := list[a.Name]; ok && was != a.Rev {
				t.Errorf("agent %s has the revisions %s and %s", a.Name, was, a.Rev)
			}
			list[a.Name] = a.Rev
		}
		return list
	}
	const both = "agents: {one: {mode: all, instructions: Be short.}, two: {}}\n"
	file := filepath.Join(r.dir, ".dragoman", "agents", "mine.md")
	write := func(text string) { programtest.Write(t, file, "---\ndescription: ours\n---\n"+text+"\n") }
	r.configure(both)
	write("Look.")
	was, elsewhere := revs(here), revs(there)
	if was["one"] != elsewhere["one"] || was["mine"] == "" || elsewhere["mine"] != "" {
		t.Fatalf("here %v, there %v", was, elsewhere)
	}
	for _, step := range []struct {
		name    string
		change  func()
		changed []string
	}{
		{"a setting of no agent", func() { r.configure("log: {level: debug}\n" + both) }, nil},
		{"a provider", func() { r.configure("providers: {box: {kind: openai, base_url: http://127.0.0.1:1}}\n" + both) }, nil},
		{"one agent", func() { r.configure("agents: {one: {mode: all, instructions: Be long.}, two: {}}\n") }, []string{"one"}},
		{"a mistake", func() { r.configure("agents: {one: {instructoins: Be long.}}\n") }, nil},
		{"mended", func() { r.configure("agents: {one: {mode: all, instructions: Be long.}, two: {}}\n") }, nil},
		{"the workspace's", func() { write("Look again.") }, []string{"mine"}},
		{"the limits of all", func() { r.configure("limits: {max_turn_requests: 9}\nagents: {two: {}}\n") }, []string{"code", "plan", "explorer", "general", "one", "two", "mine"}},
	} {
		step.change()
		now := revs(here)
		for name, rev := range was {
			same := true
			for _, c := range step.changed {
				same = same && c != name
			}
			if (now[name] == rev) != same {
				t.Errorf("%s: agent %s had the revision %s and has %s", step.name, name, rev, now[name])
			}
		}
		was = now
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	was, elsewhere = revs(here), revs(there)
	if n := len(r.profiles.edition().backends.made); n != len(was) || len(was) != len(elsewhere) {
		t.Errorf("%d back ends are kept for the agents %v and %v", n, was, elsewhere)
	}
}

// A session keeps its history across a reload that does not concern its agent, and also across
// one that does: the new revision of the agent answers the next turn.
func TestASessionContinuesAfterAReload(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.configure("agents: {one: {instructions: Be short.}}\n")
	r.say("hello")
	before := r.att.State().Messages
	for _, text := range []string{"log: {level: debug}\n", "limits: {max_turn_requests: 9}\n"} {
		r.configure(text)
		r.profiles.edition().look(t.Context())
		r.say("again")
		if end, ok := r.events[len(r.events)-1].(core.TurnEnded); !ok || end.Stop != core.StopEnd {
			t.Errorf("behind %q the turn ended as %+v", text, end)
		}
	}
	if now := r.att.State().Messages; now <= before {
		t.Errorf("the session had %d messages and has %d", before, now)
	}
}
