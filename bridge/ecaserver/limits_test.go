package ecaserver_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
	"dragoman/core/limits"
)

// A server's costs are running totals. At a limit its turn is stopped with the reason, and the next prompt asks first.
func TestCostsReachALimit(t *testing.T) {
	c := one(t, ecatest.Options{})
	c.profile.Limits = limits.New(filepath.Join(t.TempDir(), "limits.json"), time.Now).With(limits.Rules{Cost: limits.Amounts{Turn: 1}, Tokens: limits.Amounts{Session: 500}, Unknown: true})
	usage := func(tokens, cost, total string) string {
		return `content system {"type":"usage","sessionTokens":` + tokens + `,"lastMessageCost":"` + cost + `","sessionCost":"` + total + `"}`
	}
	if end := c.ended(c.prompt(usage("100", "0.4", "0.4"), usage("150", "0.4", "0.8"), usage("150", "0.4", "0.8"), "say well")); end.Stop != core.StopEnd {
		t.Errorf("within the limit: %+v", end)
	}
	if spent := c.at.State().Spent; spent.Tokens != 150 || spent.Cost < 0.799 || spent.Cost > 0.801 {
		t.Errorf("spent %+v", spent)
	}
	if end := c.ended(c.prompt(usage("200", "1.1", "1.9"), "wait")); end.Stop != core.StopLimit || !strings.HasPrefix(end.Err, "This turn has spent $1.10 of the $1.00 of limits.cost.turn.") {
		t.Errorf("beyond it: %+v", end)
	}
	c.answer = func(core.Ask) core.Reply {
		return core.Reply{Outcome: core.OutcomeAnswered, Option: "go_on"}
	}
	if end := c.ended(c.prompt(usage("600", "0.1", "2.0"), "wait")); end.Stop != core.StopLimit || !strings.Contains(end.Err, "limits.tokens.session") || len(c.asked) != 1 {
		t.Errorf("tokens: %+v, asked %+v", end, c.asked)
	}
}
