package agent_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
	"dragoman/core/limits"
)

// costs is the prompt to report running totals, in dollars unless a currency is given.
func costs(currency string, totals ...float64) string {
	var lines []string
	for _, n := range totals {
		lines = append(lines, fmt.Sprintf(`update {"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":%v,"currency":%q}}`, n, currency))
	}
	return strings.Join(lines, "\n")
}

// An agent's costs are running totals. At a limit its turn is cancelled with the reason, and the next prompt
// asks before the agent gets it.
func TestCostsReachALimit(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.profile.Limits = limits.New(filepath.Join(t.TempDir(), "limits.json"), time.Now).With(limits.Rules{Cost: limits.Amounts{Turn: 1}, Unknown: true})
	if _, end := c.say(costs("USD", 0.4, 0.8, 0.9) + "\nsay well"); end.Stop != core.StopEnd {
		t.Errorf("within the limit: %+v", end)
	}
	if spent := c.at.State().Spent.Cost; spent < 0.899 || spent > 0.901 {
		t.Errorf("spent %v", spent)
	}
	if _, end := c.say(costs("USD", 1.5, 2) + "\nwait"); end.Stop != core.StopLimit || !strings.HasPrefix(end.Err, "This turn has spent $1.10 of the $1.00 of limits.cost.turn.") {
		t.Errorf("beyond it: %+v", end)
	}
	c.answer = func(core.Ask) core.Reply {
		return core.Reply{Outcome: core.OutcomeAnswered, Option: "stop"}
	}
	if said, end := c.say("say hello"); end.Stop != core.StopLimit || len(c.asked) != 1 || !strings.Contains(c.asked[0].Text, "$1.10") || said != "" {
		t.Errorf("the next prompt: %q, %+v, asked %+v", said, end, c.asked)
	}
	c.answer = func(core.Ask) core.Reply {
		return core.Reply{Outcome: core.OutcomeAnswered, Option: "go_on"}
	}
	c.says("say hello", "hello\n")
	c.answer = nil
	c.says(costs("USD", 0.3)+"\nsay anew", "anew\n") // it has begun to count anew
	if spent := c.at.State().Spent.Cost; spent < 2.299 || spent > 2.301 {
		t.Errorf("spent %v", spent)
	}
}

// What an agent takes is asked about until it has said so in dollars.
func TestUnknownCosts(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.profile.Limits = limits.New(filepath.Join(t.TempDir(), "limits.json"), time.Now).With(limits.Rules{Cost: limits.Amounts{Session: 1}})
	c.answer = func(core.Ask) core.Reply { return core.Reply{Outcome: core.OutcomeAlone} }
	if said, end := c.say(costs("EUR", 5) + "\nsay hello"); end.Stop != core.StopLimit || !strings.Contains(end.Err, "It is not known what the agent scripted takes") || said != "" {
		t.Errorf("nobody is there: %q, %+v", said, end)
	}
	c.answer = func(core.Ask) core.Reply {
		return core.Reply{Outcome: core.OutcomeAnswered, Option: "go_on"}
	}
	c.says(costs("EUR", 5)+"\nsay hello", "hello\n")
	if spent := c.at.State().Spent; spent != (core.Expense{}) {
		t.Errorf("spent %+v", spent)
	}
	c.answer = nil
	c.says("say again", "again\n")
	if _, end := c.say(costs("USD", 3) + "\nwait"); end.Stop != core.StopLimit {
		t.Errorf("it gives its costs now: %+v", end)
	}
}
