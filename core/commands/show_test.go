package commands

import (
	"iter"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/inference"
)

func TestShowCosts(t *testing.T) {
	cost := 1.5
	for _, tt := range []struct {
		u    core.Usage
		want string
	}{
		{core.Usage{}, "No model was asked yet.\n"},
		{core.Usage{In: 1000, Out: 20, Reasoning: 7}, "- Sent: 1,000 tokens\n- Received: 20 tokens\n- Of these reasoning: 7 tokens\n- Price: not known\n"},
		{
			core.Usage{In: 5, CacheRead: 3, CacheWrite: 1, Cost: &cost, Estimated: true},
			"- Sent: about 5 tokens\n- Of these read from the provider's cache: about 3 tokens\n- Of these written to the provider's cache: about 1 tokens\n- Price: about $1.50\n",
		},
	} {
		if got, ok := Show(nil, "costs", State{Session: core.State{Usage: tt.u}}); !ok || got != "**Costs of this session**\n\n"+tt.want {
			t.Errorf("%v\n%s\nwant\n%s", ok, got, tt.want)
		}
	}
}

// sectioned is a guide with one rule.
type sectioned struct{ Guide }

func (sectioned) Sections(string, string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield(inference.PartRules, "Be brief, always.") }
}

// /context divides the whole window among what fills it, shows what is free, and marks the place
// where the conversation is summarized automatically.
func TestShowContextDividesTheWholeWindow(t *testing.T) {
	s := State{Session: core.State{Context: 4000, Window: 16_000, CompactAt: 75, Shares: []core.Share{
		{Part: inference.PartSystem, Tokens: 500},
		{Part: inference.PartSkills, Tokens: 100},
		{Part: inference.PartContext, Tokens: 400},
		{Part: inference.PartTools, Tokens: 1000},
		{Part: inference.PartCalls, Tokens: 1500},
		{Part: inference.PartMessages, Tokens: 500},
	}}}
	const want = `**Context**

█████░░░░░░░░░░│░░░░░ 25 %

4,000 of 16,000 tokens are used.

- System prompt: about 500 tokens (3.1 %)
- Skills: about 100 tokens (0.6 %)
- Context files: about 400 tokens (2.5 %)
- Tool definitions: about 1,000 tokens (6.2 %)
- Tool calls: about 1,500 tokens (9.4 %)
- Conversation: about 500 tokens (3.1 %)
- Free: 12,000 tokens (75.0 %)

The conversation is summarized automatically at 75 %, 12,000 tokens (│).
`
	if got, ok := Show(sectioned{}, "context", s); !ok || got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s.Session.CompactAt = 0
	if got, _ := Show(sectioned{}, "context", s); strings.Contains(got, "│") {
		t.Errorf("a mark without automatic summaries:\n%s", got)
	}
	const first = "**Context**\n\nNo model was asked yet.\n\nIn every request:\n\n- Rules: about 5 tokens\n"
	if got, _ := Show(sectioned{}, "context", State{}); got != first {
		t.Errorf("got\n%s\nwant\n%s", got, first)
	}
}

func TestShowConfig(t *testing.T) {
	got, ok := Show(nil, "config", State{Config: "a: |\n  ```\n"})
	if want := "**Configuration in use**\n\nNo configuration file was read.\n\n````yaml\na: |\n  ```\n````\n"; !ok || got != want {
		t.Errorf("%v\n%s\nwant\n%s", ok, got, want)
	}
}

// Only the user of dragoman chat reads about the command line.
func TestGoOnFitsTheClient(t *testing.T) {
	for _, c := range []struct {
		people       bool
		client, want string
	}{
		{true, "dragoman chat", "Open it with: dragoman chat --session s1"},
		{true, "emacs 30.1", "If your editor has not gone there, open it from its list of sessions."},
		{false, "dragoman chat", "Prompt it by that id."},
	} {
		if got := goOn(c.people, c.client, "s1"); got != c.want {
			t.Errorf("%s: %q, want %q", c.client, got, c.want)
		}
	}
}
