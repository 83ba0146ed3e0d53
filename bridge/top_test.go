package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/core"
)

// top is the gateway on top of a stack, with a client of a session.
type top struct {
	t      *testing.T
	stack  []string
	ctx    context.Context //nolint:containedctx // ends what hangs
	at     *core.Attachment
	reader *core.Reader
}

// patience is the time after which a test counts as hanging.
const patience = 2 * time.Minute

func onTop(t *testing.T, stack []string, turns [][]core.Event) *top {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	back, err := beneath(stack, write(t, turns), func(level, text string) { t.Logf("%s: %s", level, text) })
	if err != nil {
		t.Fatal(err)
	}
	g := gateway(back)
	t.Cleanup(func() {
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Error("close:", err)
		}
	})
	s, err := g.Create(ctx, core.Meta{Principal: core.Local, Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	at := s.Attach(core.Client{Name: "tester", Principal: core.Local, Asks: true, Questions: true})
	return &top{t: t, stack: stack, ctx: ctx, at: at, reader: at.Read(core.Pos{})}
}

// play has the nth turn played, answers its questions as they were answered below, stops it where it was stopped,
// and returns the events that the top shows.
func (p *top) play(n int, turn []core.Event) (events []core.Event) {
	p.t.Helper()
	begin, ok := turn[0].(core.TurnStarted)
	if !ok {
		p.t.Fatalf("turn %d begins with %T", n, turn[0])
	}
	var replies []core.Reply
	var asks []core.Ask
	for _, ev := range turn {
		switch e := ev.(type) {
		case core.Asked:
			asks = append(asks, e.Ask)
		case core.Answered:
			replies = append(replies, e.Reply)
		}
	}
	id, err := p.at.Prompt(p.ctx, core.Prompt{Blocks: numbered(n, begin.Prompt)})
	if err != nil {
		p.t.Fatal(err)
	}
	stop := func() {
		if err := p.at.Cancel(p.ctx, id, core.ErrCanceled); err != nil {
			p.t.Error(err)
		}
	}
	ending, _ := turn[len(turn)-1].(core.TurnEnded)
	halt := ending.Stop == core.StopCanceled && len(replies) == 0
	silent := silentlyRuns(p.stack)
	began := map[core.CallID]bool{}
	for {
		records, err := p.reader.Next(p.ctx)
		if err != nil {
			p.t.Fatalf("turn %d: %v; so far:\n%s", n, err, strings.Join(lines(events), "\n"))
		}
		for _, r := range records {
			events = append(events, r.Event)
			switch e := r.Event.(type) {
			case core.TurnStarted:
				if e.Turn == id { // what is before it is a turn that nobody prompted: what came after an answer
					events = []core.Event{e}
				}
			case core.CallOutput:
				if halt && stopsAt(turn, e) {
					stop()
				}
			case core.CallChanged:
				if began[e.Call.ID] = true; halt && silent && e.Call.State == core.Running && len(began) == callsIn(turn) {
					halt = false
					stop()
				}
			case core.Asked:
				if len(replies) == 0 {
					p.t.Errorf("turn %d: unexpected question: %+v", n, e.Ask)
					stop()
					continue
				}
				ask, reply := asks[0], replies[0]
				asks, replies = asks[1:], replies[1:]
				if halt = ending.Stop == core.StopCanceled && len(replies) == 0; reply.Outcome == core.OutcomeCanceled {
					stop()
					continue
				}
				if err := p.at.Answer(p.ctx, e.Ask.ID, translated(reply, ask, e.Ask)); err != nil {
					p.t.Error(err)
				}
			case core.TurnEnded:
				if e.Turn == id {
					return events
				}
			}
		}
	}
}

// stopsAt reports whether a turn that the user stops is stopped at an output: its last one.
func stopsAt(turn []core.Event, out core.CallOutput) bool {
	last := ""
	for _, ev := range turn {
		if e, ok := ev.(core.CallOutput); ok {
			last = e.Text
		}
	}
	return strings.Contains(out.Text, strings.TrimSpace(last))
}

// translated returns the answer at the top that is the one to what was asked below: a form has ids of its own
// for the answers, and an approval may have become a question with the same answers, or with the gateway's.
func translated(reply core.Reply, below, top core.Ask) core.Reply {
	at := slices.IndexFunc(below.Options, func(o core.Option) bool { return o.ID == reply.Option })
	switch {
	case top.Kind == core.AskQuestion && below.Kind == core.AskApproval:
		reply.Outcome = core.OutcomeAnswered
		if at < 0 {
			at = slices.Index([]core.Decision{core.AllowOnce, core.AllowSession, core.RejectOnce, core.RejectAlways}, reply.Decision)
		}
	case top.Kind == core.AskApproval:
		at = slices.IndexFunc(top.Options, func(o core.Option) bool { return o.Decision == reply.Decision })
	}
	if at >= 0 && at < len(top.Options) {
		reply.Option = top.Options[at].ID
	}
	return reply
}

// callsIn counts the calls of a turn.
func callsIn(turn []core.Event) int {
	seen := map[core.CallID]bool{}
	for _, ev := range turn {
		if e, ok := ev.(core.CallChanged); ok {
			seen[e.Call.ID] = true
		}
	}
	return len(seen)
}

// lines shows events.
func lines(events []core.Event) (list []string) {
	for _, ev := range events {
		list = append(list, fmt.Sprintf("%T %.200s", ev, fmt.Sprint(ev)))
	}
	return list
}
