package mcp

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

var (
	// errLook ends one wait for records: there is something else to do.
	errLook   = errors.New("time to look up")
	errNoTurn = errors.New("no such turn")
)

// follower follows a turn for one call. It belongs to the call's goroutine.
type follower struct {
	c        *client
	req      *mcp.CallToolRequest
	h        *held
	turn     *turn
	again    bool          // what is there already was told in an earlier call
	wait     time.Duration // that are left
	progress *progress
	events   *events            // nil: not wanted
	asker    asker              // how the client's user can be asked
	lends    asker              // and its model
	lent     *lending           // nil: nothing is
	news     <-chan struct{}    // of what the model is to be asked
	rounds   int                // how often the client has come back
	open     []core.AskID       // what this call has put to the client
	seen     map[core.AskID]int // how often dialogs had been closed when the call came
	closed   <-chan struct{}    // that another one is
	logs     logs
	task     bool // a turn that goes on is to be a task
}

// outcome is why following ended.
type outcome uint8

const (
	turnEnded outcome = iota
	timeUp            // the turn goes on
	mustAsk           // what waits is for the caller to settle
)

// follow reads the log behind from, or behind where the fold was left, until the turn has ended, a
// person must be asked whom a request cannot reach, or the time is up. It blocks; when ctx ends it
// returns its cause.
func (f *follower) follow(ctx context.Context, from core.Pos) (outcome, error) {
	if from.Before(f.turn.at) {
		from = f.turn.at
		if err := f.catchUp(ctx); err != nil {
			return timeUp, err
		}
	}
	if f.turn.ended {
		return turnEnded, nil
	}
	defer func() {
		if ctx.Err() != nil {
			f.takeBack()
		}
	}()
	r := f.h.a.Read(from)
	defer r.Close()
	head := f.h.a.Head()
	for looked := false; ; looked = true {
		var recs []core.Record
		var err error
		replay := r.Pos().Before(head)
		if replay {
			recs, err = r.Until(ctx, head)
		} else if looked { // what the fold has may be enough
			recs, err = f.next(ctx, r)
		}
		if err != nil && !errors.Is(err, errLook) {
			return timeUp, err
		}
		f.take(ctx, recs, replay && f.again)
		if f.turn.ended {
			return turnEnded, nil
		}
		f.turn.at = r.Pos()
		if r.Pos().Before(head) {
			continue
		}
		f.progress.flush(ctx, time.Now())
		f.progress.beat(ctx, time.Now())
		if !f.turn.begun && !slices.Contains(f.h.a.State().Queued, f.turn.id) {
			return timeUp, errNoTurn
		}
		samples := f.samples()
		f.passOver()
		switch {
		case f.h.ending(f.turn.id): // what waits will be taken back
		case f.mustAsk(samples):
			return mustAsk, nil
		case f.wait > 0:
			f.ask(ctx, samples)
		}
		if f.wait <= 0 {
			return timeUp, nil
		}
	}
}

// catchUp tells what the fold has and the caller has not heard: the newest line, and the events
// behind its cursor.
func (f *follower) catchUp(ctx context.Context) error {
	f.progress.tell(ctx, time.Now(), f.turn.line, true)
	if f.events == nil {
		return nil
	}
	if f.events.after.Before(f.turn.from) {
		f.events.after = f.turn.from
	}
	for rec, err := range f.h.a.Records(ctx, f.events.after, f.turn.at) {
		at := core.Pos{Epoch: rec.Epoch, Seq: rec.Seq, Off: rec.Off}
		if err != nil || f.events.full || !at.Before(f.turn.at) {
			return err
		}
		f.events.add(f.turn, rec)
	}
	return nil
}

// take folds records.
func (f *follower) take(ctx context.Context, recs []core.Record, replay bool) {
	var news []core.Record
	for _, rec := range recs {
		if !f.turn.apply(rec) {
			continue
		}
		if f.logs.on && !(replay && f.again) {
			news = append(news, rec)
		}
		if f.events != nil {
			f.events.add(f.turn, rec)
		}
		if f.turn.ended {
			break
		}
		if text := told(f.turn, rec.Event); text != "" {
			f.turn.line = text
			f.progress.tell(ctx, time.Now(), text, replay)
		}
	}
	f.logs.tell(ctx, f.h.id, f.turn, news)
}

// next waits for records, at most until the call's time is over or the next progress is due.
func (f *follower) next(ctx context.Context, r *core.Reader) ([]core.Record, error) {
	begin := time.Now()
	due := begin.Add(f.wait)
	if p := f.progress.due(); !p.IsZero() && p.Before(due) {
		due = p
	}
	waiting, stop := context.WithDeadlineCause(ctx, due, errLook)
	defer stop()
	for _, news := range []<-chan struct{}{f.news, f.closed} {
		if news != nil {
			var over func()
			waiting, over = until(waiting, news, errLook)
			defer over()
		}
	}
	recs, err := r.Next(waiting)
	f.wait -= time.Since(begin)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return recs, err
}

// pending are the turn's approvals and questions that wait.
func (f *follower) pending() []core.Ask {
	if len(f.turn.asks) == 0 {
		return nil
	}
	return f.turn.waiting(f.h.a.Pending())
}

// passOver settles what an MCP client must not be asked.
func (f *follower) passOver() {
	for _, a := range f.h.a.Pending() {
		if a.Secret && a.Turn == f.turn.id && f.h.mine() {
			f.c.unable(f.h, a, "an MCP client is not asked for secrets")
		}
	}
}

// samples are what the turn wants to ask the client's model.
func (f *follower) samples() (list []*sample) {
	list, f.news = f.lent.waiting()
	return list
}

// askable returns the pending asks that the client's user is being asked, or is to be asked in this
// call. A dialog that was closed is opened again only by a later call, and only if the calling model
// may not pass an answer on.
func (f *follower) askable() (list []core.Ask) {
	var dismissed map[core.AskID]int
	dismissed, f.closed = f.h.dismissals()
	for _, a := range f.pending() {
		n := dismissed[a.ID]
		if n == 0 || n == f.seen[a.ID] && !f.c.modelMay(a) {
			list = append(list, a)
		}
	}
	if len(list) == 0 || f.asker != asksNow {
		f.closed = nil // there is no dialog to close
	}
	return list
}

// mustAsk reports whether something waits that only the call's result can tell.
func (f *follower) mustAsk(samples []*sample) bool {
	if len(f.pending()) > 0 && (f.asker == asksNobody || len(f.askable()) == 0) {
		return true
	}
	return f.wait > 0 && (f.asker == asksAgain && len(f.pending()) > 0 || f.lends == asksAgain && len(samples) > 0)
}

// answer is the call's result, whatever follow came to.
func (f *follower) answer() (*mcp.CallToolResult, any, error) {
	asks := f.pending()
	r := f.turn.result(f.h.id, asks)
	if missing := f.h.a.State().Missing; missing != "" { // wherever in the log it is
		r.note(missing)
	}
	for _, a := range asks {
		r.addStanding(a, f.c.standing(f.h, f.asker, a))
	}
	if f.events != nil {
		r.Events, r.Cursor = f.events.list, f.events.cursor()
	}
	r.finish()
	return r.toolResult(f.req.ProtocolVersion()), r, nil
}

// run follows a turn and makes the call's result of what that comes to.
func (f *follower) run(ctx context.Context, from core.Pos) (*mcp.CallToolResult, any, error) {
	f.turn = f.h.borrow(f.turn.id)
	f.logs = f.c.logsOf(f.req)
	if f.lends != asksNobody {
		f.lent = f.h.lending(f.c.server, f.turn.id)
	}
	defer func() { f.h.giveBack(f.turn) }()
	why, err := f.follow(ctx, from)
	if err != nil {
		return failed(f.h.id, err)
	}
	if why == mustAsk && (f.asker == asksAgain || f.lends == asksAgain) && f.rounds < maxRounds {
		return f.c.askAgain(f)
	}
	if why == timeUp && f.task {
		BeginTask(ctx, &turnTask{c: f.c, h: f.h, turn: f.turn.id, asks: f.asker == asksAgain, lends: f.lends == asksAgain})
	}
	return f.answer()
}
