package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
	"dragoman/core/notices"
)

// progressEvery is the minimum time between two progress notifications of one call.
const progressEvery = 200 * time.Millisecond

// progressLine returns a line about a record of a turn for a waiting person, or "". t has folded
// the record.
//
// Deliberately there is none for: records before and after the turn, the prompt and its end (they
// are in the result), arguments and output as they stream, the text of thoughts, questions (the
// waiting call has a line), and records of the session rather than of the turn.
func progressLine(t *turn, ev core.Event) string {
	switch e := any(ev).(type) {
	case core.Phase:
		return phaseLine(e)
	case core.TextDelta:
		return fmt.Sprintf("answering: %d characters so far", t.text.size)
	case core.ThoughtStarted:
		return "thinking"
	case core.CallChanged:
		return callLine(e.Call)
	case core.PlanChanged:
		return planLine(e)
	case core.Notice, core.Missing, core.FellBack, core.Instructed, core.Briefed:
		return line(notices.Text(ev), maxSummary)
	case core.Foreign:
		return line(e.Text, maxSummary)
	}
	return ""
}

func phaseLine(p core.Phase) string {
	switch p.Kind {
	case core.PhaseWaiting:
		return "waiting for the model"
	case core.PhaseCompacting:
		return "summing the conversation up"
	case core.PhaseStarting:
		return "starting MCP servers: " + line(p.Tool, maxSummary)
	case core.PhaseRetrying:
		if p.After == 0 { // the wait has no known end
			return "waiting until the model's service may be asked"
		}
		return fmt.Sprintf("waiting for the model's service; next try in %s", notices.Pause(p))
	case core.PhaseGenerating, core.PhaseCalling: // text and calls have lines of their own
	}
	return ""
}

func callLine(c core.Call) string {
	s := "tool " + toolName(c) + ": "
	switch c.State {
	case core.Proposed:
		return s + "being prepared"
	case core.Awaiting:
		return s + "waiting for approval"
	case core.Running:
		return s + "running"
	case core.Succeeded:
		return s + "done"
	case core.Errored:
		return line(s+"failed: "+c.Why, maxSummary)
	case core.Rejected:
		return line(s+c.Why, maxSummary)
	case core.Canceled:
		return s + "cancelled"
	}
	return s + string(c.State)
}

func planLine(p core.PlanChanged) string {
	done, now := 0, ""
	for _, e := range p.Entries {
		switch e.Status {
		case core.PlanDone:
			done++
		case core.PlanActive:
			now = ", now: " + e.Text
		case core.PlanPending:
		}
	}
	return line(fmt.Sprintf("plan: %d of %d done%s", done, len(p.Entries), now), maxSummary)
}

// beatEvery is the maximum time between two progress notifications of one call. Some hosts give a call
// up after five seconds without one.
const beatEvery = 3 * time.Second

// progress sends a call's progress notifications (Basic, Progress), at most one each
// progressEvery. A line that comes in between is replaced by the next one, and dropped at the
// end, because the result contains it. If nothing comes it repeats the newest line each
// beatEvery, so that the caller knows that the call is open. Until follow is called a goroutine
// of its own does that; after that it belongs to the goroutine that follows the turn.
type progress struct {
	req     *mcp.CallToolRequest
	token   any // nil: no token was sent, so no progress is
	stalled func() bool
	n       int // number of lines so far; sent as the progress
	next    time.Time
	again   time.Time // the time when the newest line is repeated
	waiting string
	last    string

	over    chan struct{} // closed by follow
	beating sync.WaitGroup
	once    sync.Once
}

// newProgress begins a call's progress. The caller must call follow.
func newProgress(ctx context.Context, req *mcp.CallToolRequest, stalled func() bool) *progress {
	p := &progress{req: req, token: req.Params.GetProgressToken(), stalled: stalled, last: "waiting", over: make(chan struct{})}
	if p.token == nil {
		return p
	}
	p.again = time.Now().Add(beatEvery)
	p.beating.Go(func() {
		t := time.NewTicker(beatEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.beat(ctx, time.Now())
			case <-p.over:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return p
}

// follow passes the progress to the goroutine that calls it.
func (p *progress) follow() {
	if p.token != nil {
		p.once.Do(func() { close(p.over) })
		p.beating.Wait()
	}
}

// tell takes a line; "" is none. Of replayed lines only the newest is sent.
func (p *progress) tell(ctx context.Context, now time.Time, text string, replay bool) {
	if p.token == nil || text == "" {
		return
	}
	p.n++
	p.waiting, p.last = text, text
	if !replay {
		p.flush(ctx, now)
	}
}

// due returns the time of the next work of flush or beat; zero: never.
func (p *progress) due() time.Time {
	if p.waiting == "" {
		return p.again
	}
	return p.next
}

// flush sends the waiting line when it is due. A client that does not read gets none.
func (p *progress) flush(ctx context.Context, now time.Time) {
	if p.waiting == "" || now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	if p.stalled() {
		return
	}
	p.send(ctx, now, p.waiting)
	p.waiting = ""
}

// beat sends the newest line again if nothing was sent for beatEvery.
func (p *progress) beat(ctx context.Context, now time.Time) {
	if p.token == nil || now.Before(p.again) {
		return
	}
	p.again = now.Add(beatEvery)
	if p.waiting != "" || p.stalled() {
		return
	}
	p.n++
	p.send(ctx, now, p.last)
}

func (p *progress) send(ctx context.Context, now time.Time, text string) {
	p.again = now.Add(beatEvery)
	// Nobody reads after the connection has ended, and ctx ends as well.
	_ = p.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: p.token, Progress: float64(p.n), Message: text})
}
