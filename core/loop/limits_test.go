package loop

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
	"dragoman/core/limits"
)

// withLimits returns limits whose ledger is in a folder of the test.
func withLimits(t *testing.T, r limits.Rules) core.Limits {
	return limits.New(filepath.Join(t.TempDir(), "limits.json"), time.Now).With(r)
}

func paid(cost float64) core.Usage { return core.Usage{In: 100, Out: 10, Cost: &cost} }

// priced is a model at a dollar for a thousand tokens in.
var priced = inference.ModelInfo{ID: "script/model", Window: 100_000, Tools: true, Price: &inference.Price{In: 1000}}

var asker = core.Client{Name: "editor", Asks: true, Questions: true}

// At a limit the model is asked no more until a person lets the turn go on, however much the session is trusted.
func TestLimitPausesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &coretest.Script{Is: priced, Reply: func(n int, _ *inference.Request) coretest.Answer {
			return coretest.Answer{}.Call("x", "look", `{}`).Use(paid(0.6))
		}}
		r := start(t, script, setup{
			tools: []core.Tool{tool("look")}, client: asker,
			limits: withLimits(t, limits.Rules{Cost: limits.Amounts{Turn: 1}}),
		})
		defer r.close()
		if err := r.session.Set(t.Context(), core.Settings{Trust: true}); err != nil {
			t.Fatal(err)
		}
		id := r.prompt("hi")
		for i, option := range []string{"go_on", "stop"} {
			synctest.Wait()
			if n, asked := len(script.Requests()), r.session.Pending(); n != 2*(i+1) || len(asked) != 1 {
				t.Fatalf("%d requests, asked %+v", n, asked)
			}
			if err := r.session.Answer(t.Context(), r.session.Pending()[0].ID, core.Reply{Outcome: core.OutcomeAnswered, Option: option}); err != nil {
				t.Fatal(err)
			}
		}
		got := r.until(id)
		if end := got[len(got)-1].(core.TurnEnded); end.Stop != core.StopLimit || !strings.Contains(end.Err, "$2.40 of the $1.00 of limits.cost.turn") {
			t.Errorf("%+v", end)
		}
	})
}

// A request whose input alone costs more than is left is not made. The input is estimated as for the window.
func TestInputBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &coretest.Script{Is: priced}
		r := start(t, script, setup{limits: withLimits(t, limits.Rules{Cost: limits.Amounts{Turn: 1}})})
		defer r.close()
		got := r.turn(strings.Repeat("word ", 2000))
		if end := got[len(got)-1].(core.TurnEnded); end.Stop != core.StopLimit || !strings.Contains(end.Err, "spent $0.00 of the $1.00 of limits.cost.turn, and the next request takes at least $2.") || len(script.Requests()) != 0 {
			t.Errorf("%+v after %d requests", end, len(script.Requests()))
		}
	})
}

// A summary is a request like any other: it is counted, and not made at a limit.
func TestSummariesWithinLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limit     float64
		stop      core.StopReason
		spent     float64
		summaries int
	}{
		"counted":  {3, core.StopEnd, 0.6 + 1 + 0.6, 1},
		"not made": {0.7, core.StopLimit, 0.6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := summarizes(coretest.Answer{}.Say("short").Use(paid(1)), func(n int, _ *inference.Request) coretest.Answer {
					u := paid(0.6)
					u.In = 900
					return coretest.Answer{}.Say("long").Use(u)
				})
				script.Is.Price = &inference.Price{In: 1}
				r := start(t, script, setup{limits: withLimits(t, limits.Rules{Cost: limits.Amounts{Session: c.limit}, Tokens: limits.Amounts{Session: 1e6}})})
				defer r.close()
				r.turn("one")
				if c.stop == core.StopLimit {
					script.Is.Price = &inference.Price{In: 1000}
				}
				got := r.turn("two")
				end := got[len(got)-1].(core.TurnEnded)
				if n := len(asked(script, true)); end.Stop != c.stop || n != c.summaries {
					t.Errorf("%+v after %d summaries", end, n)
				}
				if spent := r.session.State().Spent.Cost; spent < c.spent-0.001 || spent > c.spent+0.001 {
					t.Errorf("spent %v, want %v", spent, c.spent)
				}
			})
		})
	}
}

// A model that answers in place of another one is held to its own price.
func TestLimitsOfAnotherModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(coretest.Answer{}.With(inference.Delta{
			Kind: inference.DeltaFellBack, Instead: &inference.ModelInfo{ID: "other/model"}, Bad: errors.New("it is busy"),
		}).Say("hello"))
		script.Is = priced
		r := start(t, script, setup{limits: withLimits(t, limits.Rules{Cost: limits.Amounts{Turn: 1}})})
		defer r.close()
		got := r.turn("hi")
		if end := got[len(got)-1].(core.TurnEnded); end.Stop != core.StopLimit || !strings.Contains(end.Err, "The price of the model other/model is not known") {
			t.Errorf("%+v", end)
		}
	})
}

// A request that failed before the model answered has cost nothing; one that was stopped while it answered has cost its input.
func TestExpenseWithoutFigures(t *testing.T) {
	for name, c := range map[string]struct {
		answer coretest.Answer
		want   float64
	}{
		"failed":  {coretest.Answer{Err: &inference.Error{Kind: inference.ErrOverloaded, Model: "script/model"}}, 0},
		"stopped": {coretest.Answer{Hang: true}.Say("well"), 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &settled{}
				script := coretest.NewScript(c.answer)
				script.Is = priced
				r := start(t, script, setup{limits: k, options: Options{System: func(core.Meta, string) []Section { return nil }}})
				defer r.close()
				id := r.prompt(strings.Repeat("x", 2000))
				synctest.Wait()
				if err := r.session.Cancel(t.Context(), id, nil); err != nil {
					t.Fatal(err)
				}
				r.until(id)
				if len(k.least) != 1 || len(k.used) != 1 || core.ExpenseOf(k.used[0]).Cost < c.want-0.01 || core.ExpenseOf(k.used[0]).Cost > c.want+0.05 {
					t.Errorf("held %v, settled %v", k.least, k.used)
				}
			})
		})
	}
}

// settled are limits that keep what they are told. One goroutine at a time uses them.
type settled struct {
	least []core.Expense
	used  []core.Usage
}

func (*settled) Begin(context.Context, *core.Turn) error { return nil }

func (*settled) Report(*core.Turn, core.Usage) {}

func (k *settled) Hold(_ context.Context, _ *core.Turn, p core.Purchase) (func(core.Usage), error) {
	k.least = append(k.least, p.Least)
	return func(u core.Usage) { k.used = append(k.used, u) }, nil
}
