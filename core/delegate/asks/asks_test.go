package asks_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/delegate/asks"
)

// touch is the tool that every call is of.
var touch = coretest.Tool{Is: core.Spec{Server: core.Native, Name: "touch", Title: "Touch a.go", Kind: core.KindEdit}}

// begun returns a client of a session in which a turn of this work runs, and the records so far.
func begun(t *testing.T, work func(context.Context, *core.Turn) (core.StopReason, error)) (*core.Attachment, []core.Record) {
	t.Helper()
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "explorer", Backend: &coretest.Backend{Run: work}}},
		Toolboxes: []core.Toolbox{coretest.Tools{touch}},
		Policy: coretest.Policy(func(core.Check) core.Verdict {
			return core.Verdict{Effect: core.MustAsk, Why: "it writes", Remember: "touch", RememberText: "touching", Hard: true}
		}),
	}
	g := core.New(core.Config{
		Store:    coretest.NewMemory(),
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s2", Cwd: "/w", Roots: []string{"/w"}})
	if err != nil {
		t.Fatal(err)
	}
	child := s.Attach(core.Client{Name: "session s", Asks: true, Questions: true})
	if _, err := child.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "look"}}}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	var recs []core.Record
	for r, err := range child.Records(t.Context(), core.Pos{}, child.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, r)
	}
	return child, recs
}

// replies returns all answers in the log.
func replies(t *testing.T, a *core.Attachment) (all []core.Reply) {
	t.Helper()
	for r, err := range a.Records(t.Context(), core.Pos{}, a.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := r.Event.(core.Answered); ok {
			all = append(all, e.Reply)
		}
	}
	return all
}

// authorizes is a turn with a call that a person is asked about.
func authorizes(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
	_, err := turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "touch"})
	return core.StopEnd, err
}

// questions is a turn with a question that the next message may answer.
func questions(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
	_, err := turn.Ask(ctx, core.Ask{Text: "which one?", Options: []core.Option{{ID: "a", Label: "A"}}, Later: true})
	return core.StopEnd, err
}

// An approval is put to the parent's user once, when the records have shown its call.
func TestApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child, recs := begun(t, authorizes)
		var got []core.Ask
		r := asks.NewRelay(func(_ context.Context, a core.Ask) (core.Reply, error) {
			got = append(got, a)
			return core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowOnce, By: "Zed"}, nil
		}, child, "explorer")
		defer r.Close()
		inner := child.Pending()[0]
		r.Take(t.Context(), nil)
		synctest.Wait()
		if len(got) > 0 {
			t.Fatalf("asked before its call was shown: %+v", got)
		}
		r.Take(t.Context(), recs)
		r.Take(t.Context(), nil)
		synctest.Wait()
		if len(got) != 1 {
			t.Fatalf("asked %+v", got)
		}
		q, id := got[0], core.CallID("s2/"+string(inner.Call))
		if q.Kind != core.AskApproval || q.Text != "it writes" || q.Remember != "touching" || !q.Hard || !q.Deadline.Equal(inner.Deadline) || q.Call != id || q.ID != "" {
			t.Errorf("asked %+v", q)
		}
		if q.About == nil || q.About.ID != id || q.About.Title != "explorer: Touch a.go" || q.About.Child != "s2" || q.About.State != core.Awaiting {
			t.Errorf("about %+v", q.About)
		}
		if all := replies(t, child); len(all) != 1 || all[0].By != "Zed" || all[0].Decision != core.AllowOnce {
			t.Errorf("in the sub-session: %+v", all)
		}
	})
}

// Where the parent's user could not be asked, the sub-session gets the reason.
func TestNobodyToAsk(t *testing.T) {
	for name, test := range map[string]struct {
		reply core.Reply
		err   error
		want  string
	}{
		"nobody is there":    {core.Reply{Outcome: core.OutcomeAlone}, nil, "no client is attached that could be asked"},
		"somebody has left":  {core.Reply{Outcome: core.OutcomeAlone, Text: "it has left"}, nil, "it has left"},
		"the session failed": {core.Reply{}, errors.New("the disk is full"), "the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				child, recs := begun(t, authorizes)
				r := asks.NewRelay(func(context.Context, core.Ask) (core.Reply, error) { return test.reply, test.err }, child, "explorer")
				defer r.Close()
				r.Take(t.Context(), recs)
				synctest.Wait()
				if all := replies(t, child); len(all) != 1 || all[0].Outcome != core.OutcomeAlone || all[0].Text != test.want {
					t.Errorf("%+v", all)
				}
			})
		})
	}
}

// What is withdrawn ends at the parent, and only what was settled in the sub-session has an answer there.
func TestWithdrawn(t *testing.T) {
	for name, test := range map[string]struct {
		withdraw func(t *testing.T, r *asks.Relay, child *core.Attachment, cancel context.CancelFunc)
		open     int // asks of the sub-session afterwards
	}{
		"by an answer in the sub-session": {func(t *testing.T, r *asks.Relay, child *core.Attachment, _ context.CancelFunc) {
			if err := child.Answer(t.Context(), child.Pending()[0].ID, core.Reply{Outcome: core.OutcomeAnswered, Option: "a"}); err != nil {
				t.Error(err)
			}
			r.Take(t.Context(), nil)
		}, 0},
		"by the end of the context": {func(_ *testing.T, _ *asks.Relay, _ *core.Attachment, cancel context.CancelFunc) { cancel() }, 1},
		"by Close":                  {func(_ *testing.T, r *asks.Relay, _ *core.Attachment, _ context.CancelFunc) { r.Close() }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				child, recs := begun(t, questions)
				var seen []string
				r := asks.NewRelay(func(ctx context.Context, a core.Ask) (core.Reply, error) {
					if seen = append(seen, "asked "+a.Text); !a.Later || a.About != nil || len(a.Options) != 1 {
						t.Errorf("asked %+v", a)
					}
					<-ctx.Done()
					seen = append(seen, "withdrawn")
					return core.Reply{Outcome: core.OutcomeCanceled}, ctx.Err()
				}, child, "explorer")
				defer r.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r.Take(ctx, recs)
				synctest.Wait()
				test.withdraw(t, r, child, cancel)
				synctest.Wait()
				if want := []string{"asked which one?", "withdrawn"}; !slices.Equal(seen, want) {
					t.Errorf("%q", seen)
				}
				if n := len(child.Pending()); n != test.open {
					t.Errorf("%d asks are open in the sub-session", n)
				}
			})
		})
	}
}
