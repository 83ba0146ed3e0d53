package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/delegate"
	"dragoman/core/ide"
)

// family is a session whose agent hands tasks over, and the sessions that do them.
type family struct {
	t      *testing.T
	g      *core.Gateway
	store  *coretest.Memory
	parent *core.Attachment
	after  func(*core.Turn) // looks at the parent's turn when its tasks are over; nil: nothing does

	mu       sync.Mutex // guards the fields below
	children []core.SessionID
	came     []delegate.Result
	failed   []error
	followed []string
}

// kin is what a family is made of. Its children run work; what they call is asked
// about, with a decision that can be remembered.
type kin struct {
	work   runFunc
	client core.Client
	task   delegate.Task // its Agent and Prompt are filled in
	tasks  int           // that the parent hands over, beside each other; 0: one
	store  func(core.SessionID, string) error
	within time.Duration                        // of AskTimeout
	use    func(context.Context, core.ToolHost) // the tool of that name
}

// box opens toolsets that keep their host.
type box func(core.ToolHost) coretest.Tools

func (b box) Open(_ context.Context, h core.ToolHost) (core.Toolset, error) { return b(h), nil }

var asking = core.Client{Name: "tester", Asks: true, Questions: true}

func raise(t *testing.T, k kin) *family {
	t.Helper()
	f := &family{t: t, store: coretest.NewMemory()}
	if k.store != nil {
		f.store.Before = func(_ context.Context, op string, id core.SessionID) error { return k.store(id, op) }
	}
	spawn := func(h core.ToolHost) coretest.Tools {
		is := core.Spec{Server: core.Native, Name: "spawn", Kind: core.KindOther}
		use := coretest.Tool{Is: core.Spec{Server: core.Native, Name: "use"}, Runs: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
			k.use(ctx, h)
			return core.Result{}, nil
		}}
		return coretest.Tools{touch, use, coretest.Tool{Is: is, Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			return f.spawn(ctx, h, inv, k.task)
		}}}
	}
	prof := &core.Profile{
		Agents:     []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: f.hand(max(1, k.tasks))}}},
		Subagents:  []core.Agent{{Name: "explorer", Backend: &coretest.Backend{Run: k.work}}},
		Toolboxes:  []core.Toolbox{box(spawn)},
		AskTimeout: k.within,
		Policy: coretest.Policy(func(c core.Check) core.Verdict {
			d, known := c.Remembered["touch"]
			if known && !d.Allows() && c.Call.Tool == "touch" {
				return core.Verdict{Effect: core.Deny, Why: "rejected for this session"}
			}
			if known || c.Call.Tool != "touch" || c.Settings.Trust && c.Meta.Parent != "" {
				return core.Verdict{Effect: core.Allow, Why: "allowed by a rule"}
			}
			return core.Verdict{Effect: core.MustAsk, Why: "it writes", Remember: "touch", RememberText: "touching"}
		}),
	}
	f.g = core.New(core.Config{Store: f.store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	s, err := f.g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w", Roots: []string{"/w", "/v"}})
	if err != nil {
		t.Fatal(err)
	}
	if k.client.Name == "" {
		k.client = asking
	}
	f.parent = s.Attach(k.client)
	return f
}

// spawn hands the task over.
func (f *family) spawn(ctx context.Context, h core.ToolHost, inv core.Invocation, task delegate.Task) (core.Result, error) {
	task.Agent, task.Origin = "explorer", inv.Origin
	task.Prompt = say("look around").Blocks
	task.Started = func(id core.SessionID) {
		f.mu.Lock()
		f.children = append(f.children, id)
		f.mu.Unlock()
		inv.Show(core.Showing{Child: id})
	}
	task.Follow = func(r core.Record) {
		f.mu.Lock()
		f.followed = append(f.followed, line(r.Event))
		f.mu.Unlock()
	}
	d, err := delegate.Run(ctx, h, task)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.came, f.failed = append(f.came, d), append(f.failed, err)
	return core.Result{Blocks: say(d.Text).Blocks, Failed: d.Stop != core.StopEnd}, err
}

// hand is the parent's turn: n tasks beside each other.
func (f *family) hand(n int) runFunc {
	return func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				_, errs[i] = turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "spawn"})
			})
		}
		wg.Wait()
		if f.after != nil {
			f.after(turn)
		}
		return core.StopEnd, errors.Join(errs...)
	}
}

// child attaches to the n-th child.
func (f *family) child(n int, c core.Client) *core.Attachment {
	f.t.Helper()
	synctest.Wait()
	f.mu.Lock()
	if len(f.children) <= n {
		f.mu.Unlock()
		f.t.Fatalf("there are %d children", len(f.children))
	}
	id := f.children[n]
	f.mu.Unlock()
	s, err := f.g.Open(f.t.Context(), core.Local, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return s.Attach(c)
}

// logOf is all that a session holds now, a line for each record.
func logOf(t *testing.T, a *core.Attachment) (lines []string) {
	t.Helper()
	for _, r := range effective(t, a, a.Head()) {
		lines = append(lines, line(r.Event))
	}
	return lines
}

// over waits for everything to have ended, and tells how the parent's turn did.
func (f *family) over() core.TurnEnded {
	f.t.Helper()
	synctest.Wait()
	if st := f.parent.State(); st.Turn != "" || len(st.Asks) > 0 {
		f.t.Fatalf("the turn has not ended: %+v", st)
	}
	var end core.TurnEnded
	for _, r := range effective(f.t, f.parent, f.parent.Head()) {
		if e, ok := r.Event.(core.TurnEnded); ok {
			end = e
		}
	}
	return end
}

// touches is a child's turn: it calls a tool and says what became of that.
func touches(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
	res, err := turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "touch"})
	if err != nil {
		return "", err
	}
	return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: res.Blocks[0].(core.Text).Text})
}

// A task is done in a session of its own, under its parent's settings; what its agent
// says last comes back.
func TestDelegate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{
			task: delegate.Task{Title: "look", Model: "offline/other"},
			work: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				if o := turn.Origin(); o.Client != "session s" || o.Hops != 2 || o.Approvals != core.ApprovalsReadOnly {
					t.Errorf("origin %+v", o)
				}
				if set := turn.Settings(); set != (core.Settings{Agent: "explorer", Model: "offline/other", Effort: "high", Trust: true}) {
					t.Errorf("settings %+v", set)
				}
				m := turn.NewMessage()
				return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: m, Text: "first"}, core.TextDelta{Message: turn.NewMessage(), Text: "se"}, core.TextDelta{Message: m, Text: ""})
			},
		})
		defer closeGateway(t, f.g)
		p := say("go")
		p.Hops, p.Approvals, p.Settings = 2, core.ApprovalsReadOnly, &core.Settings{Agent: "code", Model: "offline/demo", Effort: "high", Trust: true}
		prompt(t, f.parent, p)
		if end := f.over(); end.Stop != core.StopEnd {
			t.Errorf("%+v", end)
		}
		c := f.child(0, asking)
		defer c.Close()
		if m := c.Meta(); m.Parent != "s" || m.ParentAgent != "code" || m.Cwd != "/w" || !slices.Equal(m.Roots, []string{"/w", "/v"}) || m.Principal != core.Local {
			t.Errorf("%+v", m)
		}
		if d := f.came[0]; d.Text != "se" || d.Stop != core.StopEnd || d.Session != c.Meta().ID || f.failed[0] != nil {
			t.Errorf("%+v, %v", d, f.failed[0])
		}
		if st := c.State(); st.Title != "look" {
			t.Errorf("title %q", st.Title)
		}
		wantLines(t, f.followed, logOf(t, c)...)
		var shown core.SessionID
		for _, r := range effective(t, f.parent, f.parent.Head()) {
			if e, ok := r.Event.(core.CallChanged); ok && e.Call.State == core.Succeeded {
				shown = e.Call.Child
			}
		}
		if shown != c.Meta().ID {
			t.Errorf("the call shows session %q", shown)
		}
	})
}

// What a child asks is put to its parent's user, about the child's call; the decision
// is theirs, and holds in the child.
func TestDelegateApproval(t *testing.T) {
	for _, test := range []struct {
		decision core.Decision
		note     string
		want     string // that the child's model hears
		second   bool   // the second call is asked about
	}{
		{core.AllowOnce, "", "done", true},
		{core.AllowSession, "", "done", false},
		{core.RejectOnce, "not there", "rejected by the user: not there", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := raise(t, kin{work: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				if _, err := touches(ctx, turn); err != nil {
					return "", err
				}
				return touches(ctx, turn)
			}})
			defer closeGateway(t, f.g)
			prompt(t, f.parent, say("go"))
			c := f.child(0, core.Client{Name: "viewer", Role: core.Observe})
			defer c.Close()
			pending, inner := f.parent.Pending(), c.Pending()
			if len(pending) != 1 || len(inner) != 1 {
				t.Fatalf("pending: %+v, in the child %+v", pending, inner)
			}
			q, about := pending[0], pending[0].About
			if q.Kind != core.AskApproval || q.Text != "it writes" || q.Remember != "touching" || q.Turn == "" || !q.Deadline.Equal(inner[0].Deadline) || about == nil {
				t.Fatalf("%+v", q)
			}
			id := c.Meta().ID
			if about.ID != q.Call || about.ID != core.CallID(string(id)+"/"+string(inner[0].Call)) || about.Child != id || about.Tool != "touch" || about.State != core.Awaiting {
				t.Errorf("about %+v", about)
			}
			if !strings.HasPrefix(about.Title, "explorer: ") {
				t.Errorf("title %q", about.Title)
			}
			if err := f.parent.Decide(t.Context(), q.ID, test.decision, test.note); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if again := f.parent.Pending(); len(again) > 0 != test.second {
				t.Fatalf("the second call: %+v", again)
			} else if test.second {
				if err := f.parent.Decide(t.Context(), again[0].ID, test.decision, test.note); err != nil {
					t.Fatal(err)
				}
			}
			f.over()
			if d := f.came[0]; d.Text != test.want {
				t.Errorf("the child's model heard %q", d.Text)
			}
			for _, r := range effective(t, c, c.Head()) {
				if e, ok := r.Event.(core.Answered); ok && (e.Reply.By != "tester" || e.Reply.Decision != test.decision) {
					t.Errorf("in the child: %+v", e.Reply)
				}
			}
		})
	}
}

// A running task goes by the trust of the session that handed it over as it is now, and shows it; what
// a client chooses in the task's own session stays until that changes.
func TestATaskGoesByTheTrustOfItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan struct{})
		f := raise(t, kin{work: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			for range 5 {
				if _, err := touches(ctx, turn); err != nil {
					return "", err
				}
				<-next
			}
			return core.StopEnd, nil
		}})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		c := f.child(0, core.Client{Name: "viewer"})
		defer c.Close()
		trust := func(a *core.Attachment, is bool) {
			t.Helper()
			set := a.State().Settings
			set.Trust = is
			if err := a.Set(t.Context(), set); err != nil {
				t.Fatal(err)
			}
		}
		for i, step := range []struct {
			before func()
			asks   bool
		}{
			{func() {}, true},
			{func() { trust(f.parent, true) }, false},
			{func() { trust(f.parent, false) }, true},
			{func() { trust(c, true) }, false},
			{func() { trust(f.parent, true); trust(f.parent, false) }, false}, // nothing has changed between two calls
		} {
			if step.before(); i > 0 {
				next <- struct{}{}
			}
			synctest.Wait()
			pending := f.parent.Pending()
			if len(pending) > 0 != step.asks {
				t.Errorf("call %d: %+v is asked", i, pending)
			}
			if got, want := c.State().Settings.Trust, !step.asks; got != want {
				t.Errorf("call %d: the task's session shows the trust %v", i, got)
			}
			for _, q := range pending {
				if err := f.parent.Decide(t.Context(), q.ID, core.AllowOnce, ""); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		next <- struct{}{}
		f.over()
	})
}

// What was answered for the whole session counts in the tasks that it hands over later, and also in one
// that runs.
func TestATaskGoesByTheAnswersOfItsSession(t *testing.T) {
	for _, decision := range []core.Decision{core.AllowSession, core.RejectAlways} {
		synctest.Test(t, func(t *testing.T) {
			f := raise(t, kin{work: touches})
			defer closeGateway(t, f.g)
			f.after = func(turn *core.Turn) {
				_, _ = turn.Invoke(turn.Context(), core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "touch"}) // what became of it is in the log
			}
			decide := func(d core.Decision) {
				t.Helper()
				synctest.Wait()
				pending := f.parent.Pending()
				if len(pending) != 1 {
					t.Fatalf("pending: %+v", pending)
				}
				if err := f.parent.Decide(t.Context(), pending[0].ID, d, ""); err != nil {
					t.Fatal(err)
				}
			}
			prompt(t, f.parent, say("go"))
			decide(core.AllowOnce) // the task's call
			decide(decision)       // the session's own
			f.over()
			prompt(t, f.parent, say("go"))
			f.over() // nothing was asked
			if got, want := f.came[1].Text, map[core.Decision]string{core.AllowSession: "done", core.RejectAlways: "rejected for this session"}[decision]; got != want {
				t.Errorf("the second task heard %q, want %q", got, want)
			}
		})
	}
}

// The child's question is withdrawn at the parent when somebody settles it in the
// child's own session, and the other way round.
func TestDelegateDecidedInTheChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: touches})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		c := f.child(0, core.Client{Name: "another", Asks: true})
		defer c.Close()
		q := f.parent.Pending()[0]
		if err := c.Decide(t.Context(), c.Pending()[0].ID, core.AllowOnce, ""); err != nil {
			t.Fatal(err)
		}
		f.over()
		if err := f.parent.Decide(t.Context(), q.ID, core.RejectOnce, ""); !errors.Is(err, core.ErrNotAsked) {
			t.Errorf("a decision that comes too late: %v", err)
		}
		if d := f.came[0]; d.Text != "done" {
			t.Errorf("%+v", d)
		}
		got := logOf(t, f.parent)
		if !slices.Contains(got, "Answered canceled") {
			t.Errorf("the parent's log:\n%s", strings.Join(got, "\n"))
		}
	})
}

// Where the parent has nobody who could be asked, the child's call is rejected and
// says why: at once, and when the last one leaves.
func TestDelegateAlone(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := raise(t, kin{work: touches, client: core.Client{Name: "tester", Asks: leaves}})
			defer closeGateway(t, f.g)
			prompt(t, f.parent, say("go"))
			want := "rejected: it writes, and no client is attached that could be asked"
			if leaves {
				synctest.Wait()
				f.parent.Close()
				want = "rejected: it writes, and the client that could decide has left"
			}
			f.over()
			if d := f.came[0]; d.Text != want {
				t.Errorf("%+v", d)
			}
		})
	}
}

// What nobody answers expires in both.
func TestDelegateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: touches, within: time.Minute})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		<-time.After(time.Minute + time.Second)
		f.over()
		if d := f.came[0]; d.Text != "rejected: there was no answer within 1m0s" {
			t.Errorf("%+v", d)
		}
	})
}

// A question is put to the parent's user as it is.
func TestDelegateQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			r, err := turn.Ask(ctx, core.Ask{Text: "which one?", Options: []core.Option{{ID: "a", Label: "A"}}, Freeform: true})
			if err != nil {
				return "", err
			}
			return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: fmt.Sprint(r.Outcome, r.Option, r.By)})
		}})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		synctest.Wait()
		pending := f.parent.Pending()
		if len(pending) != 1 || pending[0].Kind != core.AskQuestion || pending[0].Text != "which one?" || len(pending[0].Options) != 1 || !pending[0].Freeform || pending[0].About != nil {
			t.Fatalf("%+v", pending)
		}
		if err := f.parent.Answer(t.Context(), pending[0].ID, core.Reply{Outcome: core.OutcomeAnswered, Option: "a"}); err != nil {
			t.Fatal(err)
		}
		f.over()
		if d := f.came[0]; d.Text != "answeredatester" {
			t.Errorf("%+v", d)
		}
	})
}

// Tasks beside each other have their own sessions and questions.
func TestDelegateTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: touches, tasks: 2})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		synctest.Wait()
		pending := f.parent.Pending()
		if len(pending) != 2 || pending[0].Call == pending[1].Call {
			t.Fatalf("%+v", pending)
		}
		for i, d := range []core.Decision{core.AllowOnce, core.RejectOnce} {
			if err := f.parent.Decide(t.Context(), pending[i].ID, d, ""); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := len(f.parent.Pending()); n != 1-i {
				t.Errorf("%d questions are left", n)
			}
		}
		f.over()
		got := []string{f.came[0].Text, f.came[1].Text}
		if !slices.Equal(got, []string{"done", "rejected by the user"}) || f.came[0].Session == f.came[1].Session {
			t.Errorf("%q", got)
		}
	})
}

// A task that was handed over hands over none.
func TestDelegateDeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			res, err := turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "spawn"})
			if err != nil {
				return "", err
			}
			return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: res.Blocks[0].(core.Text).Text})
		}})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		f.over()
		if d := f.came[1]; !strings.Contains(d.Text, "cannot delegate another one") || len(f.children) != 1 {
			t.Errorf("%+v", f.came)
		}
	})
}

// The child's editor is the parent's, and is asked in the parent's name.
func TestDelegateEditor(t *testing.T) {
	calls := map[string]ide.Call{
		"ReadFile": ide.ReadFile{}, "WriteFile": ide.WriteFile{}, "StatFile": ide.StatFile{}, "GlobFiles": ide.GlobFiles{}, "ReadBytes": ide.ReadBytes{},
		"Diagnose": ide.Diagnose{}, "Locate": ide.Locate{}, "OpenTerminal": ide.OpenTerminal{}, "AwaitTerminal": ide.AwaitTerminal{},
		"PeekTerminal": ide.PeekTerminal{}, "CloseTerminal": ide.CloseTerminal{},
	}
	synctest.Test(t, func(t *testing.T) {
		e := &recorder{}
		f := raise(t, kin{
			client: core.Client{Name: "tester", Editor: e},
			use: func(ctx context.Context, h core.ToolHost) {
				lent := ide.Of(h.Editor(""))
				if !lent.Caps().ReadFile || lent.Caps().WriteFile {
					t.Errorf("caps %+v", lent.Caps())
				}
				for name, c := range calls {
					if reply, err := lent.Do(ctx, c); err != nil || reply != (ide.FileText{Text: "text"}) {
						t.Errorf("%s: %v, %v", name, reply, err)
					}
				}
			},
			work: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				_, err := turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "use"})
				return core.StopEnd, err
			},
		})
		defer closeGateway(t, f.g)
		prompt(t, f.parent, say("go"))
		f.over()
		if len(e.got) != len(calls) {
			t.Errorf("%d calls reached the editor", len(e.got))
		}
		for _, c := range e.got {
			if id := sessionOf(c); id != "s" {
				t.Errorf("%T is asked for session %q", c, id)
			}
		}
	})
}

// recorder is an editor that keeps what it is asked.
type recorder struct{ got []ide.Call }

func (r *recorder) Lend(id core.SessionID) core.Editor { return ide.Lend(r, id) }

func (*recorder) Caps() ide.Caps { return ide.Caps{ReadFile: true} }

func (r *recorder) Do(_ context.Context, c ide.Call) (ide.Reply, error) {
	r.got = append(r.got, c)
	return ide.FileText{Text: "text"}, nil
}

func sessionOf(c ide.Call) core.SessionID {
	switch c := c.(type) {
	case ide.ReadFile:
		return c.Session
	case ide.WriteFile:
		return c.Session
	case ide.StatFile:
		return c.Session
	case ide.GlobFiles:
		return c.Session
	case ide.ReadBytes:
		return c.Session
	case ide.Diagnose:
		return c.Session
	case ide.Locate:
		return c.Session
	case ide.OpenTerminal:
		return c.Session
	case ide.AwaitTerminal:
		return c.Session
	case ide.PeekTerminal:
		return c.Session
	case ide.CloseTerminal:
		return c.Session
	}
	return ""
}
