package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// agentNamed returns one of the agents.
func agentNamed(t *testing.T, name string) acpAgent {
	t.Helper()
	i := slices.IndexFunc(acpAgents, func(a acpAgent) bool { return a.name == name })
	if i < 0 {
		t.Fatalf("there is no agent %s", name)
	}
	return acpAgents[i]
}

// briefs lists what agents were told in the only session, by its log.
func (p *place) briefs(t *testing.T) (list []struct{ Agent, Text string }) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.data, "sessions", "??", "*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs: %v, %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r struct {
			Kind  string                       `json:"k"`
			Event struct{ Agent, Text string } `json:"v"`
		}
		if json.Unmarshal([]byte(line), &r) == nil && r.Kind == "briefed" {
			list = append(list, r.Event)
		}
	}
	return list
}

// One session is answered by the built-in agent, by Claude, by Codex, and by the built-in agent and Claude again.
// Each knows what the others were asked and said: its model answers only a request that has it. Claude continues its own
// session and is told only what it has not heard. Every face shows one conversation.
func TestSwitchingAgents(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	claude, codex := agentNamed(t, "claude-node20"), agentNamed(t, "codex-native")
	if everyAgent() {
		claude, codex = agentNamed(t, "claude"), agentNamed(t, "codex")
	}
	turns := []struct{ agent, prompt, answer string }{
		{"code", "Who is first?", "Alpha is first."},
		{claude.name, "Who is second?", "Bravo is second."},
		{codex.name, "Who is third?", "Charlie is third."},
		{"code", "Who is fourth?", "Delta is fourth."},
		{claude.name, "Who is fifth?", "Echo is fifth."},
	}
	var fixtures []object
	for i := len(turns) - 1; i >= 0; i-- { // a brief has the earlier prompts
		match := object{"userMessage": turns[i].prompt}
		if i > 0 {
			match["history"] = turns[i-1].answer
		}
		fixtures = append(fixtures, object{"match": match, "response": object{"content": turns[i].answer}})
	}
	url := p.aimock(t, asJSON(object{"fixtures": append(fixtures, object{"match": object{}, "response": object{"content": "I know nothing of that."}})}))
	flags := []string{"--config", p.config(t, asJSON(object{
		"model":     "mock/m",
		"providers": object{"mock": object{"kind": "openai-chat", "base_url": url + "/v1", "api_key": "none", "models": object{"m": object{}}}},
		"agents":    object{claude.name: claude.entry(t, p, url), codex.name: codex.entry(t, p, url)},
	}))}

	u := agentFaces[0].open(t, p, "code", flags)
	id := ""
	for i, turn := range turns {
		if i > 0 {
			u.turn(id, "/agent "+turn.agent, "agent `"+turn.agent+"` answers in this session")
		}
		id = u.turn(id, turn.prompt, turn.answer)
	}
	u.in.Close()
	u.drain()
	u.left(patience)
	p.noAgents(t)

	briefs := p.briefs(t)
	if len(briefs) != 3 {
		t.Fatalf("%d briefs: %q", len(briefs), briefs)
	}
	for i, c := range []struct {
		agent      string
		tells, not []int // turns
	}{{claude.name, []int{0}, nil}, {codex.name, []int{0, 1}, nil}, {claude.name, []int{2, 3}, []int{0, 1}}} {
		if briefs[i].Agent != c.agent {
			t.Errorf("brief %d is for %s", i, briefs[i].Agent)
		}
		for _, n := range c.tells {
			wantText(t, "a brief", briefs[i].Text, turns[n].prompt, turns[n].answer)
		}
		for _, n := range c.not {
			if strings.Contains(briefs[i].Text, turns[n].answer) {
				t.Errorf("brief %d repeats %q: %s", i, turns[n].answer, briefs[i].Text)
			}
		}
	}
	for _, face := range agentFaces {
		u := face.open(t, p, claude.name, flags)
		got := u.load(id)
		prompts, answers := got, got // editors are given the two apart
		for _, turn := range turns {
			var asked, said bool
			_, prompts, asked = strings.Cut(prompts, turn.prompt)
			_, answers, said = strings.Cut(answers, turn.answer)
			if !asked || !said {
				t.Errorf("%s does not show %q and %q in their place: %s", face.name, turn.prompt, turn.answer, got)
			}
		}
		u.in.Close()
		u.drain()
		u.left(patience)
	}
}
