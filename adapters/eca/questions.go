package eca

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/forms"
)

// ask puts the open questions to the client, and takes back those that are settled. It reads the
// current state and not the events, so nothing is asked twice and no question settled elsewhere
// stays open. The protocol has no message for taking back: a late answer is dropped. ask belongs
// to the pump.
func (f *feed) ask() {
	if f.chat.child { // its parent's session asks
		return
	}
	if len(f.view.asks) == 0 && len(f.questions) == 0 || !f.chat.srv.peerNow().asks() {
		return
	}
	waits := map[core.AskID]bool{}
	for _, a := range f.att.Pending() {
		// A question that the view has not seen comes after the records that the client has.
		if _, seen := f.view.asks[a.ID]; seen && (a.Kind != core.AskApproval || !a.Fits()) {
			waits[a.ID] = true
		}
	}
	for _, id := range slices.Collect(maps.Keys(f.questions)) {
		if !waits[id] {
			f.questions[id].Withdraw()
			delete(f.questions, id)
		}
	}
	for _, a := range f.att.Pending() {
		if waits[a.ID] && f.questions[a.ID] == nil {
			f.question(a)
		}
	}
}

// openedLabel is the answer to a question that shows a page to open.
const openedLabel = "Done"

// asking returns the request that puts a question to the client.
func (v *View) asking(a core.Ask) eca.QuestionParams {
	p := eca.QuestionParams{ChatID: v.chat, Question: a.Text, AllowFreeform: a.Kind != core.AskApproval && (a.Freeform || len(a.Options) == 0)}
	for _, o := range a.Options {
		p.Options = append(p.Options, eca.QuestionOption{Label: o.Label, Description: o.Description})
	}
	if a.URL != "" { // the user opens it, and confirms
		p.Question, p.AllowFreeform = strings.TrimSpace(a.Text+"\n"+a.URL), false
		p.Options = []eca.QuestionOption{{Label: openedLabel, Description: "The page was opened, and all is done there."}}
	}
	// Clients show the question in place of the call: they must know the call. That of an approval
	// stays in view.
	if c := v.calls[a.Call]; c != nil && c.prepared && !c.task && a.Kind != core.AskApproval {
		p.ToolCallID = string(a.Call)
	}
	return p
}

// question puts one question to the client, or an approval whose answers are not those of the
// client's buttons.
func (f *feed) question(a core.Ask) {
	s := f.chat.srv
	if a.Kind == core.AskApproval {
		a = f.view.inWords(a)
	}
	p := f.view.asking(a)
	asked, err := s.conn.Start(eca.MethodAskQuestion, p, func(result json.RawMessage, err error) {
		if errors.Is(err, wire.ErrClosed) {
			return // another client may answer
		}
		r := replyTo(a, result, err)
		s.within(func(ctx context.Context) {
			f.chat.queue.Go(func() {
				if err := f.att.Answer(ctx, a.ID, r); err != nil && !errors.Is(err, core.ErrNotAsked) {
					s.log.Warn("an answer was not stored", zap.String("session", string(f.chat.id)), zap.Error(err))
				}
			})
		})
	})
	if err != nil {
		return // the connection has ended
	}
	if f.questions == nil {
		f.questions = map[core.AskID]*wire.Ask{}
	}
	f.questions[a.ID] = asked
}

// inWords returns an approval with a text that describes its call, and with different labels.
func (v *View) inWords(a core.Ask) core.Ask {
	now := core.Call{}
	if c := v.calls[a.Call]; c != nil {
		now = c.now
	} else if a.About != nil {
		now = *a.About
	}
	a.Text, a.Options = content.Approval(a, now), slices.Clone(a.Options)
	for i, label := range content.Answers(a) {
		a.Options[i].Label = label
	}
	return a
}

// unask takes all questions back: a new feed asks them again.
func (f *feed) unask() {
	for _, asked := range f.questions {
		asked.Withdraw()
	}
	f.questions = nil
}

// replyTo reads the client's answer. An answer of another form, as clients give to requests they
// do not know, means that nobody was asked.
func replyTo(a core.Ask, result json.RawMessage, err error) core.Reply {
	var r eca.QuestionResult
	if err != nil || !strings.HasPrefix(strings.TrimLeft(string(result), " \t\r\n"), "{") ||
		json.Unmarshal(result, &r) != nil {
		return core.Reply{Outcome: core.OutcomeAlone, Text: "the client could not show the question"}
	}
	if r.Cancelled || len(r.Answer) == 0 || string(r.Answer) == "null" {
		return core.Reply{Outcome: core.OutcomeDeclined}
	}
	if a.URL != "" {
		return core.Reply{Outcome: core.OutcomeAnswered}
	}
	text := string(r.Answer)
	if s := ""; json.Unmarshal(r.Answer, &s) == nil {
		text = s
	}
	if a.Kind == core.AskApproval { // only a label that was shown decides
		i := slices.IndexFunc(a.Options, func(o core.Option) bool { return o.Label == strings.TrimSpace(text) })
		if i < 0 {
			return core.Reply{Outcome: core.OutcomeAlone, Text: "the client answered with something that was not offered"}
		}
		return core.Reply{Outcome: core.OutcomeDecided, Option: a.Options[i].ID}
	}
	reply, ok := forms.Of(a).ReplyInWords(text)
	text = strings.TrimSpace(text)
	switch {
	case ok:
		return reply
	case text == "":
		return core.Reply{Outcome: core.OutcomeDeclined}
	}
	// These are the user's own words, although the question allows none.
	return core.Reply{Outcome: core.OutcomeAnswered, Text: text}
}
