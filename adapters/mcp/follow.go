package mcp

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/loan"
	"dragoman/core"
	"dragoman/core/company"
)

var (
	// errLook interrupts a wait for records: there is other work.
	errLook   = errors.New("time to look up")
	errNoTurn = errors.New("no such turn")
)

// follower follows a turn for one call. It belongs to the call's goroutine.
type follower struct {
	c        *client
	req      *mcp.CallToolRequest
	h        *heldSession
	turn     *turn
	again    bool          // existing records were reported in an earlier call
	wait     time.Duration // the time left
	progress *progress
	events   *events            // nil: not wanted
	asker    asker              // the way in which the client's user can be asked
	lends    asker              // the same for its model
	lent     *loan.Loan         // nil: nothing is lent
	news     <-chan struct{}    // of requests to the model
	rounds   int                // the number of times that the client has come back
	open     []core.AskID       // questions that this call has put to the client
	seen     map[core.AskID]int // the number of dismissed dialogs when the call came
	closed   <-chan struct{}    // closed at the next dismissal
	logs     logs
	task     bool // a running turn becomes a task
}

// outcome is the reason why following ended.
type outcome uint8

const (
	turnEnded outcome = iota
	timeUp            // the turn continues
	mustAsk           // the caller must settle an open question
)

// follow reads the log from a position, or from the end of the fold, until the turn has ended, a
// person must be asked whom a request cannot reach, or the time is up. It blocks; when ctx ends
// it returns its cause.
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
		} else if looked { // the fold may be enough
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
		f.passOver()
		asks, samples := f.pending(), f.samples()
		switch {
		case f.h.ending(f.turn.id): // open questions will be withdrawn
		case f.mustAsk(asks, samples):
			return mustAsk, nil
		case f.wait > 0:
			f.ask(ctx, asks, samples)
		}
		if f.wait <= 0 {
			return timeUp, nil
		}
	}
}

// catchUp reports the part of the fold that the caller does not know: the newest line, and the
// events after its cursor.
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
		if text := progressLine(f.turn, rec.Event); text != "" {
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

// pending returns the turn's open approvals and questions. What is decided on them is decided on one
// list: another client may settle them at any time.
func (f *follower) pending() []core.Ask {
	if len(f.turn.asks) == 0 {
		return nil
	}
	return f.turn.waiting(f.h.a.Pending())
}

// passOver settles questions that an MCP client must not be asked.
func (f *follower) passOver() {
	for _, a := range f.h.a.Pending() {
		if a.Secret && a.Turn == f.turn.id && f.h.mine() {
			f.c.unable(f.h, a, "an MCP client is not asked for secrets")
		}
	}
}

// samples returns the turn's open requests to the client's model.
func (f *follower) samples() (list []*loan.Request) {
	list, f.news = f.lent.Waiting()
	return list
}

// askable returns those of the open asks that are being put to the client's user, or are to be put
// in this call. A closed dialog is opened again only by a later call, and only if the calling model
// may not pass on an answer. A question that no program may answer is put to nobody here.
func (f *follower) askable(asks []core.Ask) (list []core.Ask) {
	var dismissed map[core.AskID]int
	dismissed, f.closed = f.h.dismissals()
	for _, a := range asks {
		if a.Person { // at another client
			continue
		}
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

// mustAsk reports whether there is an open question that only the call's result can announce.
func (f *follower) mustAsk(asks []core.Ask, samples []*loan.Request) bool {
	if len(asks) > 0 && (f.asker == asksNobody || len(f.askable(asks)) == 0) {
		return true
	}
	return f.wait > 0 && (f.asker == asksAgain && len(asks) > 0 || f.lends == asksAgain && len(samples) > 0)
}

// answer returns the call's result, for any outcome of follow.
func (f *follower) answer() (*mcp.CallToolResult, any, error) {
	asks := f.pending()
	r := f.turn.result(f.h.id, asks)
	if r.By = company.Speaker(f.turn.by, f.h.a.Client().Name); r.By != "" {
		r.note("Prompted by " + r.By + ".")
	}
	if missing := f.h.a.State().Missing; missing != "" { // anywhere in the log
		r.note(missing)
	}
	for _, a := range asks {
		r.addAnswerer(a, f.c.answererOf(f.h, f.asker, a))
	}
	if f.events != nil {
		r.Events, r.Cursor = f.events.list, f.events.cursor()
	}
	r.finish()
	return r.toolResult(f.req.ProtocolVersion()), r, nil
}

// run follows a turn and returns the call's result.
func (f *follower) run(ctx context.Context, from core.Pos) (*mcp.CallToolResult, any, error) {
	f.turn = f.h.borrow(f.turn.id)
	f.logs = f.c.logsOf(f.req)
	if f.lends != asksNobody {
		f.lent = f.c.server.loans.To(f.h.a, f.turn.id)
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
