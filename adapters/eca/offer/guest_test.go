package offer

import (
	"fmt"
	"testing"

	"dragoman/core"
)

// offered is what the agent claude of these tests offers.
func offered(mode, model string) core.Offered {
	values := func(ids ...string) (list []core.ChoiceValue) {
		for _, id := range ids {
			list = append(list, core.ChoiceValue{ID: id})
		}
		return list
	}
	return core.Offered{Agent: "claude", Choices: []core.Choice{
		{ID: "m", Category: "mode", Value: mode, Values: values("ask", "plan")},
		{ID: "model", Category: "model", Value: model, Values: values("default", "opus")},
		{ID: "e", Category: "thought_level", Value: "low", Values: values("low", "high")},
	}}
}

// What clients name is applied to the agent that it belongs to, and to no other.
func TestApply(t *testing.T) {
	prof := &core.Profile{Agents: []core.Agent{{Name: "code"}, {Name: "claude", External: true}, {Name: "codex", External: true}}}
	in := func(agent string, offered core.Offered, choices core.Choices) State {
		return State{Settings: core.Settings{Agent: agent, Model: "acme/large", Choices: choices}, Offered: offered}
	}
	known := offered("plan", "opus")
	for name, c := range map[string]struct {
		known *core.Offered
		from  State
		ch    Choice
		want  string
	}{
		"a model of the agent":                {nil, in("claude", offered("ask", "default"), ""), Choice{Model: "claude/opus", Variant: "high"}, "claude acme/large [] [{model opus} {e high}]"},
		"a model that it does not have":       {nil, in("claude", offered("ask", "default"), ""), Choice{Model: "claude/x"}, "claude acme/large [] [{model x}]"},
		"what it has":                         {nil, in("claude", offered("ask", "opus"), ""), Choice{Model: "claude/opus", Variant: "low", Agent: "claude: ask"}, "claude acme/large [] []"},
		"what it has, but will lose":          {nil, in("claude", offered("ask", "opus"), `{"model":"default"}`), Choice{Model: "claude/opus"}, `claude acme/large [{"model":"default"}] [{model opus}]`},
		"a model of ours":                     {nil, in("claude", offered("ask", "default"), ""), Choice{Model: "acme/small", Variant: "high"}, "claude acme/large [] []"},
		"the placeholder":                     {nil, in("claude", core.Offered{}, ""), Choice{Model: "claude/" + ownModel}, "claude acme/large [] []"},
		"nothing is known":                    {nil, in("claude", core.Offered{}, ""), Choice{Model: "claude/opus", Agent: "claude: plan"}, "claude acme/large [] []"},
		"known from another chat":             {&known, in("claude", core.Offered{}, ""), Choice{Model: "claude/opus", Agent: "claude: ask"}, `claude acme/large [{"m":"ask","model":"opus"}] []`},
		"unknown, from another chat":          {&known, in("claude", core.Offered{}, ""), Choice{Model: "claude/x", Agent: "claude: y"}, "claude acme/large [] []"},
		"its model for another guest":         {nil, in("codex", core.Offered{}, ""), Choice{Model: "claude/opus"}, "codex acme/large [] []"},
		"its model for ours":                  {nil, in("", offered("ask", "default"), ""), Choice{Model: "claude/opus", Variant: "high"}, " acme/large [] []"},
		"a model of ours for ours":            {nil, in("", offered("ask", "default"), ""), Choice{Model: "acme/small"}, " acme/small [] []"},
		"another agent":                       {nil, in("claude", offered("ask", "default"), `{"m":"plan"}`), Choice{Agent: "codex"}, "codex acme/large [] []"},
		"one of ours, which has no choices":   {nil, in("claude", offered("ask", "default"), `{"m":"plan"}`), Choice{Agent: "code"}, ` acme/large [{"m":"plan"}] []`},
		"back to it":                          {nil, in("", offered("ask", "default"), `{"m":"plan"}`), Choice{Agent: "claude"}, `claude acme/large [{"m":"plan"}] []`},
		"an agent that is not there any more": {nil, in("claude", core.Offered{}, ""), Choice{Agent: "gone: plan"}, " acme/large [] []"},
	} {
		o := New(prof)
		o.Known = &Known{}
		if c.known != nil {
			o.Known.Add(*c.known, false)
		}
		st := c.from
		picks := o.Apply(c.ch, &st)
		if got := fmt.Sprintf("%s %s [%s] %v", st.Agent, st.Model, st.Choices, picks); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// Another chat's mode is not the mode of a new chat: it may allow more than is meant there.
func TestModeStaysInItsChat(t *testing.T) {
	o := New(&core.Profile{Agents: []core.Agent{{Name: "claude", External: true}}})
	o.Known = &Known{}
	o.Known.Add(offered("plan", "opus"), false)
	o.Known.Add(offered("ask", "default"), true) // an old offer does not replace it
	c := o.Config(State{})
	want := "claude [claude claude: ask claude: plan plan] [agent plan claude: ask claude: plan] claude/opus low"
	if got := fmt.Sprintf("%s %v %v %s %s", c.SelectAgent, c.Agents, c.Behaviors, c.SelectModel, *c.SelectVariant); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := o.AgentIn(State{Offered: offered("plan", "opus")}); got != "claude: plan" {
		t.Errorf("its own chat: got %s", got)
	}
}

// A listed chat has its own model, not that of another chat. One whose agent has told no model has a name
// that chooses nothing when it is sent back.
func TestModelsOfListedChats(t *testing.T) {
	o := New(&core.Profile{Agents: []core.Agent{{Name: "code"}, {Name: "claude", External: true}}})
	o.Known = &Known{}
	if got := o.ModelOf(core.Summary{Agent: "claude"}); got != "claude/agent-default" {
		t.Errorf("nothing is known: %s", got)
	}
	o.Known.Add(offered("ask", "opus"), false)
	for want, sum := range map[string]core.Summary{
		"claude/haiku": {Agent: "claude", Model: "haiku"},
		"acme/large":   {Agent: "code", Model: "acme/large"},
		"gone/x":       {Agent: "gone", Model: "gone/x"},
	} {
		if got := o.ModelOf(sum); got != want {
			t.Errorf("%+v: %s", sum, got)
		}
	}
	st := State{Settings: core.Settings{Agent: "claude"}, Offered: offered("ask", "opus")}
	if picks := o.Apply(Choice{Model: "claude/agent-default"}, &st); len(picks) > 0 || st.Choices != "" {
		t.Errorf("%v, %s", picks, st.Choices)
	}
}
