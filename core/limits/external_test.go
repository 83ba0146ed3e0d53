package limits_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/limits"
)

// reports is an agent behind the gateway, whose turns report these costs and then wait for their end.
func reports(costs ...float64) func(context.Context, *core.Turn) (core.StopReason, error) {
	return func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
		for _, c := range costs {
			u := core.Usage{Cost: &c}
			if c == 0 { // in another currency
				u.Cost = nil
			}
			if err := t.Emit(ctx, core.UsageChanged{Turn: t.ID(), Last: u, Total: t.State().Usage.Add(u)}); err != nil {
				return core.StopError, err
			}
			t.Limits().Report(t, u)
			if ctx.Err() != nil {
				return core.StopCanceled, context.Cause(ctx)
			}
		}
		return core.StopEnd, nil
	}
}

// An agent behind the gateway is stopped when its figures reach a limit, and its next turn begins with the question.
func TestAgentBehindTheGateway(t *testing.T) {
	const (
		unknown = "It is not known what the agent code takes, so limits.cost cannot be kept. Go on without?"
		ended   = "This turn has spent $1.20 of the $1.00 of limits.cost.turn."
		again   = "The last turn was ended by a limit. " + ended + " Begin another turn?"
	)
	synctest.Test(t, func(t *testing.T) {
		path, store := file(t), coretest.NewMemory()
		rules := limits.Rules{Cost: limits.Amounts{Turn: 1, Session: 3}}
		g := open(t, store, limits.New(path, time.Now).With(rules))
		g.agent.External, g.run = true, reports(0.6, 0.6, 0.6)
		a := g.session("s")
		asked, end := turn(t, a, "go")
		want(t, "nobody is there", asked, end, "limit It is not known what the agent code takes, so limits.cost cannot be kept. Nobody could be asked", unknown)
		asked, end = turn(t, a, "go", "go_on")
		want(t, "the first turn", asked, end, "limit "+ended, unknown)
		asked, end = turn(t, a, "go")
		want(t, "nobody is there again", asked, end, "limit "+ended+" Nobody could be asked", again)
		asked, end = turn(t, a, "go", "stop")
		want(t, "the next one", asked, end, "limit "+ended, again)
		g.run = reports(0.3)
		asked, end = turn(t, a, "go", "go_on")
		want(t, "a person begins another one", asked, end, "end_turn", again)
		asked, end = turn(t, a, "go")
		want(t, "it has given its figures", asked, end, "end_turn")
		g.run = reports(0.9, 0.9)
		asked, end = turn(t, a, "go")
		want(t, "the turn again", asked, end, "limit This turn has spent $1.80")
		asked, end = turn(t, a, "go", "stop")
		want(t, "the session", asked, end, "limit This session has spent $3.60 of the $3.00 of limits.cost.session.", "This session has spent $3.60 of the $3.00 of limits.cost.session. Go on?")
		a.Close()
		g.close()

		g = open(t, store, limits.New(path, time.Now).With(rules))
		defer g.close()
		g.agent.External, g.run = true, reports(0.3)
		b := g.session("other")
		defer b.Close()
		asked, end = turn(t, b, "go")
		want(t, "another session of another process", asked, end, "end_turn")
		g.run = reports(0)
		asked, end = turn(t, b, "go")
		want(t, "another currency", asked, end, "end_turn")
		asked, end = turn(t, b, "go", "go_on")
		want(t, "the turn after it", asked, end, "end_turn", unknown)
		asked, end = turn(t, b, "go")
		want(t, "it is asked once", asked, end, "end_turn")
	})
}

// The user's configuration may allow agents without figures.
func TestUnknownAgentAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, coretest.NewMemory(), limits.New(file(t), time.Now).With(limits.Rules{Cost: limits.Amounts{Turn: 1}, Tokens: limits.Amounts{Day: 10}, Unknown: true}))
		defer g.close()
		g.agent.External, g.run = true, reports(0)
		a := g.session("s")
		defer a.Close()
		asked, end := turn(t, a, "go")
		want(t, "allowed", asked, end, "end_turn")
	})
}
