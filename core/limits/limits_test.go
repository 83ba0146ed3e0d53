package limits_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/delegate"
	"dragoman/core/fork"
	"dragoman/core/limits"
)

// answer is what one request of a test costs; its input alone costs least.
const answer, least = 0.40, 0.10

// gateway is one process of a test.
type gateway struct {
	t *testing.T
	*core.Gateway

	run   func(context.Context, *core.Turn) (core.StopReason, error)
	agent core.Agent
}

// tasks is a toolbox with a tool that delegates a task.
type tasks struct{}

func (tasks) Open(_ context.Context, h core.ToolHost) (core.Toolset, error) {
	return coretest.Tools{coretest.Tool{Is: core.Spec{Server: core.Native, Name: "task"}, Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
		return delegated(ctx, h, inv)
	}}}, nil
}

var person = core.Client{Name: "editor", Asks: true, Questions: true}

// open opens a gateway over a store whose turns make as many requests as their prompts have words.
func open(t *testing.T, store core.Store, l core.Limits) *gateway {
	t.Helper()
	g := &gateway{t: t, run: requests}
	g.agent = core.Agent{Name: "code", Backend: &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) { return g.run(ctx, turn) }}}
	g.Gateway = core.New(core.Config{Store: store, Node: "test", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
		return &core.Profile{
			Agents: []core.Agent{g.agent}, Limits: l, Toolboxes: []core.Toolbox{tasks{}},
			Policy: coretest.Always(core.Verdict{Effect: core.Allow}),
		}, nil
	})})
	return g
}

func (g *gateway) close() {
	if err := g.Close(context.Background()); err != nil {
		g.t.Error(err)
	}
}

// requests makes requests until the prompt's words are used up.
func requests(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	for range strings.Fields(t.Prompt()[0].(core.Text).Text) {
		if err := request(ctx, t, false); err != nil {
			return core.StopError, err
		}
	}
	return core.StopEnd, nil
}

func request(ctx context.Context, t *core.Turn, unpriced bool) error {
	p := core.Purchase{Model: "some/model", Least: core.Expense{Cost: least, Tokens: 10}, Unpriced: unpriced}
	paid := answer
	u := core.Usage{In: 10, Out: 30, Cost: &paid}
	if unpriced {
		p.Least.Cost, u.Cost = 0, nil
	}
	settle, err := t.Limits().Hold(ctx, t, p)
	if err != nil {
		return err
	}
	if err := t.Emit(ctx, core.UsageChanged{Turn: t.ID(), Last: u, Total: t.State().Usage.Add(u)}); err != nil {
		return err
	}
	settle(u)
	return nil
}

// delegated hands a task of one request over.
func delegated(ctx context.Context, h core.ToolHost, inv core.Invocation) (core.Result, error) {
	var spent core.Expense
	d, err := delegate.Run(ctx, h, delegate.Task{
		Agent: "code", Origin: inv.Origin, Prompt: []core.Block{core.Text{Text: "one"}},
		Started: func(id core.SessionID) { inv.Show(core.Showing{Child: id}) },
		Follow: func(r core.Record) {
			if u, ok := r.Event.(core.UsageChanged); ok {
				spent = spent.Plus(core.ExpenseOf(u.Last))
				inv.Show(core.Showing{Spent: spent})
			}
		},
	})
	return core.Result{Failed: d.Stop != core.StopEnd}, err
}

func (g *gateway) session(id core.SessionID) *core.Attachment {
	g.t.Helper()
	s, err := g.Open(g.t.Context(), core.Local, id)
	if errors.Is(err, core.ErrNotFound) {
		s, err = g.Create(g.t.Context(), core.Meta{Principal: core.Local, ID: id, Cwd: "/w"})
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return s.Attach(person)
}

// turn prompts and answers the questions in their order, until the turn has ended. It returns the questions and the end.
func turn(t *testing.T, a *core.Attachment, text string, answers ...string) (asked []string, end core.TurnEnded) {
	t.Helper()
	r := a.Read(a.Head())
	defer r.Close()
	id, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		recs, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			switch e := rec.Event.(type) {
			case core.Asked:
				asked = append(asked, e.Ask.Text)
				reply := core.Reply{Outcome: core.OutcomeAlone}
				if len(answers) >= len(asked) {
					reply = core.Reply{Outcome: core.OutcomeAnswered, Option: answers[len(asked)-1]}
				}
				if err := a.Answer(t.Context(), e.Ask.ID, reply); err != nil {
					t.Fatal(err)
				}
			case core.TurnEnded:
				if e.Turn == id {
					return asked, e
				}
			}
		}
	}
}

func want(t *testing.T, what string, asked []string, end core.TurnEnded, wantEnd string, wantAsked ...string) {
	t.Helper()
	if got := strings.TrimSpace(string(end.Stop) + " " + end.Err); !strings.HasPrefix(got, wantEnd) || wantEnd == "end_turn" && got != wantEnd {
		t.Errorf("%s: it ended with %q, want %q", what, got, wantEnd)
	}
	if len(asked) != len(wantAsked) {
		t.Errorf("%s: asked %q, want %q", what, asked, wantAsked)
		return
	}
	for i := range asked {
		if asked[i] != wantAsked[i] {
			t.Errorf("%s: asked %q, want %q", what, asked[i], wantAsked[i])
		}
	}
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "limits.json") }

// A turn pauses before the request that would exceed its limit, and goes on by as much again.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t)
		g := open(t, coretest.NewMemory(), limits.New(path, time.Now).With(limits.Rules{Cost: limits.Amounts{Turn: 1}}))
		defer g.close()
		a := g.session("s")
		defer a.Close()
		const first, second = "This turn has spent $1.20 of the $1.00 of limits.cost.turn. Go on?", "This turn has spent $2.40 of the $1.00 of limits.cost.turn. Go on?"
		asked, end := turn(t, a, "1 2 3")
		want(t, "within the limit", asked, end, "end_turn")
		asked, end = turn(t, a, "1 2 3 4 5 6 7", "go_on", "stop")
		want(t, "beyond it", asked, end, "limit This turn has spent $2.40 of the $1.00 of limits.cost.turn.", first, second)
		asked, end = turn(t, a, "1 2 3 4", "stop")
		want(t, "the next turn", asked, end, "limit This turn has spent $1.20", first)
		asked, end = turn(t, a, "1 2 3 4")
		want(t, "nobody is there", asked, end, "limit This turn has spent $1.20 of the $1.00 of limits.cost.turn. Nobody could be asked", first)
		if _, err := os.Stat(path); err == nil {
			t.Error("there is a ledger without a limit for the day")
		}
	})
}

// The least that the next request takes is held against what is left: no request is made that cannot fit.
func TestLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, coretest.NewMemory(), limits.New(file(t), time.Now).With(limits.Rules{Tokens: limits.Amounts{Turn: 45}}))
		defer g.close()
		a := g.session("s")
		defer a.Close()
		asked, end := turn(t, a, "1 2", "stop")
		want(t, "40 of 45 tokens", asked, end, "limit This turn has spent 40 tokens of the 45 tokens of limits.tokens.turn, and the next request takes at least 10 tokens.",
			"This turn has spent 40 tokens of the 45 tokens of limits.tokens.turn, and the next request takes at least 10 tokens. Go on?")
	})
}

// A session's expense outlives the process and a rollback, and so does a person's answer. A fork begins with the
// expense of what it has copied, and without the answer.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		with := func() core.Limits {
			return limits.New(file(t), time.Now).With(limits.Rules{Cost: limits.Amounts{Session: 1}})
		}
		question := func(spent string) string {
			return "This session has spent " + spent + " of the $1.00 of limits.cost.session. Go on?"
		}
		g := open(t, store, with())
		a := g.session("s")
		start := a.Head()
		asked, end := turn(t, a, "1 2")
		want(t, "the first turn", asked, end, "end_turn")
		if err := a.Truncate(t.Context(), start); err != nil {
			t.Fatal(err)
		}
		if st := a.State(); st.Usage.Cost != nil || st.Spent.Cost != 2*answer {
			t.Errorf("taken back: %+v, spent %+v", st.Usage, st.Spent)
		}
		asked, end = turn(t, a, "3 4")
		want(t, "after it was taken back", asked, end, "limit", question("$1.20"))
		asked, end = turn(t, a, "4 5", "go_on")
		want(t, "a person goes on", asked, end, "end_turn", question("$1.20"))
		a.Close()
		g.close()

		g = open(t, store, with())
		defer g.close()
		a = g.session("s")
		defer a.Close()
		asked, end = turn(t, a, "6 7", "stop")
		want(t, "in another process", asked, end, "limit This session has spent $2.40", question("$2.40"))
		s, err := fork.Session(t.Context(), g.Gateway, a, a.Head(), "f")
		if err != nil {
			t.Fatal(err)
		}
		f := s.Attach(person)
		defer f.Close()
		asked, end = turn(t, f, "1", "stop")
		want(t, "a fork", asked, end, "limit This session has spent $1.60", question("$1.60"))
	})
}

// A day's limit is that of all processes with the data folder. The day is the one in which a request begins.
func TestDay(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	was := time.Local
	time.Local = berlin
	defer func() { time.Local = was }()
	synctest.Test(t, func(t *testing.T) {
		path := file(t)
		clock := time.Date(2026, 10, 25, 0, 30, 0, 0, time.Local)
		with := func() core.Limits {
			return limits.New(path, func() time.Time { return clock }).With(limits.Rules{Cost: limits.Amounts{Day: 1}})
		}
		one, two := open(t, coretest.NewMemory(), with()), open(t, coretest.NewMemory(), with())
		defer one.close()
		defer two.close()
		a, b := one.session("a"), two.session("b")
		defer a.Close()
		defer b.Close()
		question := func(spent string) string {
			return "Today's sessions have spent " + spent + " of the $1.00 of limits.cost.day. Go on?"
		}
		asked, end := turn(t, a, "1 2")
		want(t, "one process", asked, end, "end_turn")
		asked, end = turn(t, b, "3 4", "go_on")
		want(t, "another process", asked, end, "end_turn", question("$1.20"))
		asked, end = turn(t, a, "5 6 7", "stop")
		want(t, "what was allowed holds for both", asked, end, "limit", question("$2.40"))
		clock = clock.Add(23*time.Hour + 29*time.Minute) // the day has 25 hours
		asked, end = turn(t, a, "8", "stop")
		want(t, "late on the same day", asked, end, "limit", question("$2.40"))
		clock = time.Date(2026, 10, 26, 0, 0, 0, 0, time.Local)
		asked, end = turn(t, a, "1 2 3", "stop")
		want(t, "the next day", asked, end, "end_turn")
		clock = time.Date(2026, 10, 25, 23, 0, 0, 0, time.Local)
		asked, end = turn(t, b, "6", "stop")
		want(t, "where it is still the day before", asked, end, "limit", question("$2.40"))
		for range 10 {
			clock = clock.AddDate(0, 0, 1)
			turn(t, a, "1")
		}
		if data, err := os.ReadFile(path); err != nil || strings.Count(string(data), "2026-") > 3 {
			t.Errorf("%s, %v", data, err)
		}
	})
}

// At midnight the turn goes on in the new day, and what it has spent before does not count there.
func TestMidnightInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := time.Date(2026, 3, 28, 23, 59, 0, 0, time.Local)
		g := open(t, coretest.NewMemory(), limits.New(file(t), func() time.Time { return clock }).With(limits.Rules{Cost: limits.Amounts{Day: 1}}))
		defer g.close()
		g.run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			for i := range 6 {
				if i == 3 {
					clock = clock.Add(time.Hour)
				}
				if err := request(ctx, turn, false); err != nil {
					return core.StopError, err
				}
			}
			return core.StopEnd, nil
		}
		a := g.session("s")
		defer a.Close()
		asked, end := turn(t, a, "go")
		want(t, "three before midnight and three behind it", asked, end, "end_turn")
	})
}

// What a process that died has held stays counted.
func TestDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t)
		rules := limits.Rules{Cost: limits.Amounts{Day: 0.15}}
		g := open(t, coretest.NewMemory(), limits.New(path, time.Now).With(rules))
		g.run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			_, err := turn.Limits().Hold(ctx, turn, core.Purchase{Model: "m", Least: core.Expense{Cost: least}})
			return core.StopEnd, err // it is never settled
		}
		a := g.session("s")
		turn(t, a, "go")
		a.Close()
		g.close()
		g = open(t, coretest.NewMemory(), limits.New(path, time.Now).With(rules))
		defer g.close()
		b := g.session("s")
		defer b.Close()
		asked, end := turn(t, b, "1", "stop")
		want(t, "the next process", asked, end, "limit", "Today's sessions have spent $0.100 of the $0.150 of limits.cost.day, and the next request takes at least $0.100. Go on?")
	})
}

// Without a ledger that can be read and written nothing is spent.
func TestLedger(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"damaged": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(`{"days":{"2026`), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a folder": func(t *testing.T, path string) {
			if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"unwritable": func(t *testing.T, path string) {
			dir := filepath.Dir(path)
			if os.Getuid() == 0 { // which may write everywhere: a file takes the folder's place
				if err := os.Remove(dir); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(dir, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err := os.Chmod(dir, 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data", "limits.json")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			spoil(t, path)
			g := open(t, coretest.NewMemory(), limits.New(path, time.Now).With(limits.Rules{Cost: limits.Amounts{Day: 1}}))
			defer g.close()
			a := g.session("s")
			defer a.Close()
			asked, end := turn(t, a, "1", "go_on")
			if end.Stop != core.StopError || !strings.Contains(end.Err, path) || len(asked) != 0 || a.State().Spent != (core.Expense{}) {
				t.Errorf("%+v, asked %q, spent %+v", end, asked, a.State().Spent)
			}
		})
	}
}

// A price that is not known is asked about once in a session, unless the user's configuration allows it.
func TestUnknownPrice(t *testing.T) {
	const question = "The price of the model some/model is not known, so limits.cost cannot be kept. Go on without?"
	unpriced := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		for range 2 {
			if err := request(ctx, turn, true); err != nil {
				return core.StopError, err
			}
		}
		return core.StopEnd, nil
	}
	synctest.Test(t, func(t *testing.T) {
		store, rules := coretest.NewMemory(), limits.Rules{Cost: limits.Amounts{Session: 1}, File: "/c.yaml"}
		g := open(t, store, limits.New(file(t), time.Now).With(rules))
		g.run = unpriced
		a := g.session("s")
		asked, end := turn(t, a, "go")
		want(t, "nobody is there", asked, end, "limit The price of the model some/model is not known, so limits.cost cannot be kept. Nobody could be asked whether it goes on: "+
			"prompt in an editor or in dragoman chat, or write limits.unknown: allow in /c.yaml.", question)
		asked, end = turn(t, a, "go", "stop")
		want(t, "a person stops", asked, end, "limit The price", question)
		asked, end = turn(t, a, "go", "go_on")
		want(t, "a person goes on", asked, end, "end_turn", question)
		asked, end = turn(t, a, "go")
		want(t, "it is not asked again", asked, end, "end_turn")
		a.Close()
		g.close()
		g = open(t, store, limits.New(file(t), time.Now).With(rules))
		defer g.close()
		g.run = unpriced
		a = g.session("s")
		defer a.Close()
		asked, end = turn(t, a, "go")
		want(t, "in another process", asked, end, "end_turn")
	})
	for name, rules := range map[string]limits.Rules{
		"the user allows it":       {Cost: limits.Amounts{Turn: 1}, Unknown: true},
		"tokens need no price":     {Tokens: limits.Amounts{Turn: 1000}},
		"there is nothing to keep": {},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limits.New(file(t), time.Now).With(rules)
			if l == nil {
				if name != "there is nothing to keep" {
					t.Error(name)
				}
				return
			}
			g := open(t, coretest.NewMemory(), l)
			defer g.close()
			g.run = unpriced
			a := g.session("s")
			defer a.Close()
			asked, end := turn(t, a, "go")
			want(t, name, asked, end, "end_turn")
		})
	}
}

// A task counts for the turn and the session that delegated it; the agents beside each other are asked about once.
func TestTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := limits.Rules{Cost: limits.Amounts{Turn: 1, Session: 2.5}}
		store := coretest.NewMemory()
		g := open(t, store, limits.New(file(t), time.Now).With(rules))
		g.run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if turn.Meta().Parent != "" {
				return requests(ctx, turn)
			}
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					_, _ = turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "task"})
				})
			}
			wg.Wait()
			return core.StopEnd, request(ctx, turn, false)
		}
		a := g.session("s")
		asked, end := turn(t, a, "go", "go_on")
		if end.Stop != core.StopEnd || len(asked) != 1 || !strings.HasPrefix(asked[0], "This turn has spent $1.") {
			t.Errorf("asked %q, %+v", asked, end)
		}
		if spent := a.State().Spent.Cost; spent < 5*answer-0.001 || spent > 5*answer+0.001 {
			t.Errorf("the session has spent %v", spent)
		}
		asked, end = turn(t, a, "go", "stop")
		if end.Stop != core.StopLimit || len(asked) != 1 || !strings.HasPrefix(end.Err, "This session has spent $2.4") && !strings.HasPrefix(end.Err, "This session has spent $2.8") {
			t.Errorf("asked %q, %+v", asked, end)
		}
		before := a.State().Spent
		a.Close()
		g.close()
		g = open(t, store, limits.New(file(t), time.Now).With(rules))
		defer g.close()
		a = g.session("s")
		defer a.Close()
		if after := a.State().Spent; after != before {
			t.Errorf("reloaded: %+v, before %+v", after, before)
		}
	})
}
