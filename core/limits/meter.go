package limits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/datadir"
)

// Meter counts what the turns of a process spend, and with other processes what is spent in a day.
type Meter struct {
	now    func() time.Time
	ledger datadir.Document[ledger]

	mu    sync.Mutex // a leaf; guards the fields below
	turns map[*core.Turn]*account
	owed  map[string]quantity // by date: what could not be added to the ledger
	quiet map[string]bool     // by session and agent: it has given no figures since its last turn began
}

// New returns a meter with its ledger in a file of the data folder. It reads nothing. now is the clock.
func New(file string, now func() time.Time) *Meter {
	return &Meter{now: now, ledger: datadir.Document[ledger]{Path: file}, turns: map[*core.Turn]*account{}, quiet: map[string]bool{}}
}

// With returns the limits of a profile; nil: it has none.
func (m *Meter) With(r Rules) core.Limits {
	if !r.inUnit(cost) && !r.inUnit(tokens) {
		return nil
	}
	return kept{m, r}
}

// account is what a turn spends, with all agents that work for it.
type account struct {
	turn   *core.Turn
	before quantity // spent by the session when the turn began
	asking chan struct{}

	// Meter.mu guards the fields below.
	spent   quantity
	held    quantity
	granted [day]quantity // up to where a person has let the turn and the session go on
	agreed  []string      // what a person has agreed to for the session
	over    error         // a person has stopped it
}

// of returns the account of the turn for which a turn works.
func (m *Meter) of(t *core.Turn) *account {
	t = t.Root()
	m.mu.Lock()
	a := m.turns[t]
	m.mu.Unlock()
	if a != nil {
		return a
	}
	st := t.State()
	a = &account{turn: t, before: quantityOf(st.Spent), asking: make(chan struct{}, 1), agreed: st.Agreed}
	for _, text := range st.Agreed {
		a.grant(text)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if other := m.turns[t]; other != nil {
		return other
	}
	m.turns[t] = a
	context.AfterFunc(t.Context(), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.turns, t)
	})
	return a
}

// grant takes up what agreedTo has written.
func (a *account) grant(text string) {
	key, amount, _ := strings.Cut(text, " up to ")
	n, err := strconv.ParseFloat(amount, 64)
	for u := range units {
		if l := (reached{scope: session, unit: u}); err == nil && key == l.key() {
			a.granted[session][u] = max(a.granted[session][u], n)
		}
	}
}

// agreedTo is what a person agrees to for a session who lets it go on up to an amount.
func agreedTo(l *reached, upTo float64) string {
	return l.key() + " up to " + strconv.FormatFloat(upTo, 'g', -1, 64)
}

// kept are the limits of a profile, kept by a meter.
type kept struct {
	*Meter

	rules Rules
}

// Hold implements core.Limits.
func (k kept) Hold(ctx context.Context, t *core.Turn, p core.Purchase) (settle func(core.Usage), err error) {
	a := k.of(t)
	if p.Unpriced && k.rules.inUnit(cost) {
		text := "The price of the model " + p.Model + " is not known, so limits.cost cannot be kept."
		if err := k.without(ctx, a, p.Model, text); err != nil {
			return nil, err
		}
	}
	least, date := quantityOf(p.Least), dateOf(k.now())
	take := func() (*reached, error) { return k.take(ctx, a, date, least) }
	if err := k.pass(ctx, a, date, take); err != nil {
		return nil, err
	}
	return func(u core.Usage) { k.settle(a, date, least, quantityOf(core.ExpenseOf(u))) }, nil
}

// settle replaces what was held by what was spent.
func (k kept) settle(a *account, date string, held, spent quantity) {
	k.mu.Lock()
	a.held.add(held.negative())
	a.spent.add(spent)
	k.mu.Unlock()
	if k.rules.inScope(day) {
		spent.add(held.negative())
		k.count(date, spent)
	}
}

// count adds to the expenses of a day. What cannot be written is owed, and the next request fails.
func (k kept) count(date string, q quantity) {
	err := k.change(context.Background(), date, func(e *expenses) bool {
		e.Spent.add(q)
		return true
	})
	if err != nil {
		k.owe(date, q)
	}
}

// take holds an expense in all scopes, or returns the limit that it would exceed.
func (k kept) take(ctx context.Context, a *account, date string, least quantity) (*reached, error) {
	k.mu.Lock()
	err := a.over
	used := [day]quantity{a.spent, a.before}
	used[session].add(a.spent)
	var at *reached
	for s := range used {
		used[s].add(a.held)
		if at == nil {
			at = k.rules.check(scope(s), used[s], a.granted[s], least)
		}
	}
	if err != nil || at != nil {
		k.mu.Unlock()
		return at, err
	}
	a.held.add(least)
	k.mu.Unlock()
	if !k.rules.inScope(day) {
		return nil, nil
	}
	err = k.change(ctx, date, func(e *expenses) bool {
		if at = k.rules.check(day, e.Spent, e.Granted, least); at != nil {
			return false
		}
		e.Spent.add(least)
		return least != quantity{}
	})
	if err != nil || at != nil {
		k.mu.Lock()
		a.held.add(least.negative())
		k.mu.Unlock()
	}
	return at, err
}

// pass takes an expense, and asks at each limit whether the turn goes on.
func (k kept) pass(ctx context.Context, a *account, date string, take func() (*reached, error)) error {
	at, err := take()
	if at == nil || err != nil {
		return err
	}
	leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for {
		at, err := take() // another agent of the turn may have asked meanwhile
		if at == nil || err != nil {
			return err
		}
		if err := k.pause(ctx, a, date, at); err != nil {
			return err
		}
	}
}

// enter takes the token of who asks.
func (a *account) enter(ctx context.Context) (leave func(), err error) {
	select {
	case a.asking <- struct{}{}:
		return func() { <-a.asking }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pause asks whether the turn goes on at a limit.
func (k kept) pause(ctx context.Context, a *account, date string, at *reached) error {
	upTo := at.used + at.more()
	agreed := ""
	if at.scope == session {
		agreed = agreedTo(at, upTo)
	}
	said, err := a.turn.AskToAgree(ctx, at.String()+" Go on?", "up to "+at.unit.words(at.more())+" more", agreed)
	if err != nil {
		return err
	}
	if said != core.GoOn {
		return k.stop(a, said, at.String(), "raise "+at.key()+k.file())
	}
	if at.scope == day {
		return k.change(ctx, date, func(e *expenses) bool {
			e.Granted[at.unit] = max(e.Granted[at.unit], upTo)
			return true
		})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a.granted[at.scope][at.unit] = max(a.granted[at.scope][at.unit], upTo)
	return nil
}

func (k kept) file() string {
	if k.rules.File == "" {
		return ""
	}
	return " in " + k.rules.File
}

// nobody begins the advice for who cannot be asked.
const nobody = " Nobody could be asked whether it goes on: "

// stop notes that the turn does not go on, and returns the reason.
func (k kept) stop(a *account, said core.Continuation, why, advice string) error {
	err := &core.LimitError{Text: why}
	if said == core.Unasked {
		err.Text += nobody + "prompt in an editor or in dragoman chat, or " + advice + "."
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a.over = cmp.Or(a.over, error(err))
	return a.over
}

// without asks, once in a session, whether it goes on without limits that cannot be kept because of a model or
// an agent.
func (k kept) without(ctx context.Context, a *account, what, text string) error {
	agreed := "limits.unknown " + what
	settled := func() (bool, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.rules.Unknown || slices.Contains(a.agreed, agreed), a.over
	}
	if ok, err := settled(); ok || err != nil {
		return err
	}
	leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if ok, err := settled(); ok || err != nil {
		return err
	}
	said, err := a.turn.AskToAgree(ctx, text+" Go on without?", "in this session, however much it takes", agreed)
	if err != nil {
		return err
	}
	if said != core.GoOn {
		return k.stop(a, said, text, "write limits.unknown: allow"+k.file())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a.agreed = append(slices.Clip(a.agreed), agreed)
	return nil
}

// Begin implements core.Limits.
func (k kept) Begin(ctx context.Context, t *core.Turn) error {
	a, date, agent := k.of(t), dateOf(k.now()), agentOf(t)
	asked := false
	err := k.pass(ctx, a, date, func() (*reached, error) {
		at, err := k.take(ctx, a, date, quantity{})
		asked = asked || at != nil
		return at, err
	})
	if err != nil {
		return err
	}
	if why := stopped(t.State().Limit); why != "" && !asked {
		said, err := a.turn.AskToContinue(ctx, "The last turn was ended by a limit. "+why+" Begin another turn?", "up to the same limit")
		if err != nil {
			return err
		}
		if said != core.GoOn {
			return k.stop(a, said, why, "raise it"+k.file())
		}
	}
	lacks, err := k.lacks(quietKey(t, agent), agent)
	if err != nil || lacks == "" {
		return err
	}
	return k.without(ctx, a, "agent "+agent, "It is not known what the agent "+agent+" takes, so "+lacks+" cannot be kept.")
}

// stopped returns the reason why the last turn was stopped at its own limit; "": it was not. The other limits
// are still reached, or are not kept any more.
func stopped(why string) string {
	why, _, _ = strings.Cut(why, nobody)
	for u := range units {
		if strings.Contains(why, (&reached{scope: turn, unit: u}).key()) {
			return why
		}
	}
	return ""
}

// maxQuiet limits the sessions with agents that have given no figures; beyond it all are forgotten.
const maxQuiet = 1024

// quietKey is that of an agent in a session.
func quietKey(t *core.Turn, agent string) string {
	m := t.Meta()
	return string(m.Principal) + "\x00" + string(m.ID) + "\x00" + agent
}

// agentOf is the name of the agent that runs a turn.
func agentOf(t *core.Turn) string {
	if p := t.Profile(); p != nil {
		if a, ok := p.Agent(t.Settings().Agent); ok {
			return a.Name
		}
	}
	return t.Settings().Agent
}

// lacks names the limits for which an agent gives no figures; "": it gives them for all.
func (k kept) lacks(key, agent string) (string, error) {
	l, err := k.ledger.Read()
	if err != nil {
		return "", fmt.Errorf("read what was spent: %w; remove the file to begin the day anew", err)
	}
	k.mu.Lock()
	quiet := k.quiet[key]
	if len(k.quiet) >= maxQuiet {
		clear(k.quiet)
	}
	k.quiet[key] = true
	k.mu.Unlock()
	var names []string
	for u, name := range []string{"limits.cost", "limits.tokens"} {
		if k.rules.inUnit(unit(u)) && (quiet || !l.Agents[agent][u]) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and "), nil
}

// Report implements core.Limits. The figures of an agent include those of sub-agents of its own, whose turns
// nobody has prompted.
func (k kept) Report(t *core.Turn, u core.Usage) {
	if t.Begun() && t.Meta().Parent != "" {
		return
	}
	if err := k.report(t, u); err != nil {
		t.Stop(err)
	}
}

func (k kept) report(t *core.Turn, u core.Usage) error {
	a, date, agent, spent := k.of(t), dateOf(k.now()), agentOf(t), quantityOf(core.ExpenseOf(u))
	gives := figures{u.Cost != nil, u.In+u.Out > 0}
	k.mu.Lock()
	a.spent.add(spent)
	if gives != (figures{}) {
		delete(k.quiet, quietKey(t, agent))
	}
	k.mu.Unlock()
	if k.rules.inScope(day) && spent != (quantity{}) {
		k.count(date, spent)
	}
	if err := k.learn(agent, gives); err != nil {
		return err
	}
	at, err := k.take(context.Background(), a, date, quantity{})
	if err == nil && at != nil {
		err = &core.LimitError{Text: at.String()}
	}
	return err
}

// learn notes that an agent gives figures.
func (k kept) learn(agent string, gives figures) error {
	if k.ledger.Path == "" { // it stays unknown
		return nil
	}
	known := func(l ledger) figures {
		has := l.Agents[agent]
		for u := range has {
			has[u] = has[u] || gives[u]
		}
		return has
	}
	if l, err := k.ledger.Read(); err != nil || l.Agents[agent] == known(l) {
		return err
	}
	err := k.edit(context.Background(), func(l *ledger) bool {
		l.Agents[agent] = known(*l)
		return true
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
