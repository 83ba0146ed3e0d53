package egress

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
)

// person answers the questions of a session.
type person struct {
	mu     sync.Mutex
	asked  []core.Ask
	answer chan string // an option; closed: nobody is there
}

func (p *person) ask(ctx context.Context, a core.Ask) (core.Reply, error) {
	p.mu.Lock()
	p.asked = append(p.asked, a)
	p.mu.Unlock()
	select {
	case option, ok := <-p.answer:
		if !ok {
			return core.Reply{Outcome: core.OutcomeAlone}, nil
		}
		return core.Reply{Outcome: core.OutcomeAnswered, Option: option}, nil
	case <-ctx.Done():
		return core.Reply{}, ctx.Err()
	}
}

func (p *person) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// judged returns a session whose rules allow hosts that begin with "good", deny "bad" and must ask about
// "hard" ones.
func judged() (*Session, *person) {
	p := &person{answer: make(chan string, 10)}
	return NewSession(func(address string) core.Verdict {
		switch host := strings.TrimPrefix(address, "https://"); {
		case strings.HasPrefix(host, "good"):
			return core.Verdict{Effect: core.Allow}
		case strings.HasPrefix(host, "bad"):
			return core.Verdict{Effect: core.Deny, Why: "denied by rule 1"}
		default:
			return core.Verdict{Effect: core.MustAsk, Hard: strings.HasPrefix(host, "hard"), Why: "no rule allows it"}
		}
	}, p.ask), p
}

func TestRulesJudge(t *testing.T) {
	g, p := judged()
	if err := g.Judge(t.Context(), "https://good.example/"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := g.Judge(t.Context(), "https://bad.example/"); err == nil || !strings.Contains(err.Error(), "bad.example:443: denied by rule 1") {
			t.Error(err)
		}
	}
	if n := g.Notes(); len(n) != 1 || n[0].Person || !strings.Contains(n[0].Text, "refused a connection to bad.example:443") {
		t.Errorf("notes %+v", n)
	}
	if p.count() > 0 {
		t.Errorf("asked %+v", p.asked)
	}
}

func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := judged()
		ask := func(address, answer string) error {
			p.answer <- answer
			err := g.Judge(t.Context(), address)
			select {
			case <-p.answer: // nobody was asked
			default:
			}
			return err
		}
		for i, c := range []struct {
			address, answer string
			allowed         bool
			asked           int
		}{
			{"https://once.example/", allowOnce, true, 1},
			{"https://once.example/", "no", false, 2},
			{"https://once.example/", allowOnce, false, 2}, // refused a moment ago
			{"https://all.example/", allowSession, true, 3},
			{"https://ALL.example./", "no", true, 3},
			{"https://all.example:8443/", "no", false, 4}, // another port
			{"https://hard.example/", allowOnce, true, 5},
			{"https://hard.example/", "no", false, 6},
		} {
			if err := ask(c.address, c.answer); (err == nil) != c.allowed || p.count() != c.asked {
				t.Errorf("%d: %s: %v, asked %d times; want %v, %d", i, c.address, err, p.count(), c.allowed, c.asked)
			}
		}
		for _, a := range p.asked {
			hard := strings.Contains(a.Text, "hard.example")
			if offered := a.Options[0].ID == allowSession; offered == hard || a.Kind != core.AskConsent || !a.Hard {
				t.Errorf("question %+v", a)
			}
		}
		if n := g.Notes(); len(n) != 3 || !n[0].Person || !strings.Contains(n[0].Text, "the user said no") {
			t.Errorf("notes %+v", n)
		}
		<-time.After(refusalTime)
		if err := ask("https://once.example/", allowOnce); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// Nobody who could be asked means no.
func TestNobodyToAsk(t *testing.T) {
	g, p := judged()
	close(p.answer)
	if err := g.Judge(t.Context(), "https://a.example/"); err == nil || !strings.Contains(err.Error(), "nobody could be asked") {
		t.Error(err)
	}
	g.ask = func(context.Context, core.Ask) (core.Reply, error) { return core.Reply{}, errors.New("broken") }
	if err := g.Judge(t.Context(), "https://b.example/"); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
}

// Connections to one host wait for one answer. The question goes when the last of them has gone.
func TestConnectionsWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := judged()
		judge := func(n int) (errs chan error, leave []context.CancelFunc) {
			errs = make(chan error, n)
			for range n {
				ctx, cancel := context.WithCancel(t.Context())
				leave = append(leave, cancel)
				go func() { errs <- g.Judge(ctx, "https://a.example/") }()
				synctest.Wait()
			}
			return errs, leave
		}
		errs, leave := judge(5)
		leave[0]() // it has put the question
		synctest.Wait()
		p.answer <- allowOnce
		synctest.Wait()
		for range 5 {
			if err := <-errs; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if p.count() != 1 {
			t.Errorf("%d questions", p.count())
		}
		errs, leave = judge(2)
		leave[0]()
		leave[1]()
		for range 2 {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if len(g.waiting) > 0 || len(g.refused) > 0 {
			t.Errorf("%v %v", g.waiting, g.refused)
		}
	})
}

// A program that tries many hosts does not flood the user with questions.
func TestFewQuestionsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := judged()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		for i := range 100 {
			all.Go(func() {
				if err := g.Judge(ctx, fmt.Sprintf("https://host%d.example/", i)); strings.Contains(err.Error(), "wait for an answer") {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		if p.count() != maxQuestions || refused != 100-maxQuestions {
			t.Errorf("%d questions, %d refused", p.count(), refused)
		}
		cancel()
		all.Wait()
	})
}
