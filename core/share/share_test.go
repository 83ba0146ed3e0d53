package share_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/ide"
	"dragoman/core/jsonl"
	"dragoman/core/share"
)

// process is a gateway with a store and a Sharing of its own, as another process has them.
type process struct {
	t       *testing.T
	store   *jsonl.Store
	over    func(core.Store) core.Store // nil: the store as it is
	sharing *share.Sharing
	gateway *core.Gateway
	backend *coretest.Backend
	tools   coretest.Tools
	policy  core.Policy

	mu      sync.Mutex
	present []string
}

// place is the folders that processes share.
type place struct{ data, sockets string }

func newPlace(t *testing.T) place {
	t.Helper()
	sockets, err := os.MkdirTemp("", "share") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	return place{filepath.Join(t.TempDir(), "data"), sockets}
}

// start starts a process. change may change its options and parts before it serves.
func (at place) start(t *testing.T, name string, change func(*process, *share.Options)) *process {
	t.Helper()
	p := &process{t: t, store: jsonl.New(at.data), backend: &coretest.Backend{Run: echo}}
	o := share.Options{Node: name, Config: "config", Dir: at.sockets}
	o.Present = func(_ core.Principal, _ core.SessionID, list []core.Attendee) {
		var names []string
		for _, c := range list {
			names = append(names, c.Name+" in "+c.Node)
		}
		p.mu.Lock()
		p.present = names
		p.mu.Unlock()
	}
	if change != nil {
		change(p, &o)
	}
	p.sharing = share.New(o)
	p.store.Address = p.sharing.Address
	store := core.Store(p.store)
	if p.over != nil {
		store = p.over(store)
	}
	p.gateway = core.New(core.Config{
		Store: store, Node: name, Sharing: p.sharing,
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
			return &core.Profile{
				Agents: []core.Agent{{Name: "code", Backend: p.backend}}, Toolboxes: []core.Toolbox{p.tools}, Policy: p.policy,
			}, nil
		}),
	})
	p.sharing.Serve(p.gateway)
	t.Cleanup(p.end)
	return p
}

// end ends the process as its editor does.
func (p *process) end() {
	if err := p.gateway.Close(context.Background()); err != nil && !errors.Is(err, core.ErrFenced) {
		p.t.Error(err)
	}
	_ = p.store.Close()
	p.sharing.Close()
}

// open opens the session "s", and makes it if there is none.
func (p *process) open(c core.Client) *core.Attachment {
	p.t.Helper()
	s, err := p.gateway.Open(p.t.Context(), core.Local, "s")
	if errors.Is(err, core.ErrNotFound) {
		s, err = p.gateway.Create(p.t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	c.Asks, c.Questions, c.Visible = true, true, true
	return s.Attach(c)
}

func echo(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	text, _ := t.Prompt()[0].(core.Text)
	return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: "heard " + text.Text})
}

func say(text string) core.Prompt { return core.Prompt{Blocks: []core.Block{core.Text{Text: text}}} }

// until waits for something that becomes true soon.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.After(10 * time.Second)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-end:
			t.Fatal("in vain: " + what)
		}
	}
}

// shown reads a session's log from its beginning to the end of a turn, as a client is shown it.
func shown(t *testing.T, a *core.Attachment, turn core.TurnID) (list []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := a.Read(core.Pos{})
	defer r.Close()
	for {
		recs, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err, list)
		}
		for _, rec := range recs {
			if rec.Seq == 0 {
				continue
			}
			list = append(list, fmt.Sprintf("%d %T %+v", rec.Seq, rec.Event, rec.Event))
			if e, ok := rec.Event.(core.TurnEnded); ok && e.Turn == turn {
				return list
			}
		}
	}
}

func prompt(t *testing.T, a *core.Attachment, text string) core.TurnID {
	t.Helper()
	id, err := a.Prompt(t.Context(), say(text))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A prompt of a client in another process runs where the session is owned, and both are shown the same.
func TestPromptInAnotherProcess(t *testing.T) {
	at := newPlace(t)
	one, two := at.start(t, "one", nil), at.start(t, "two", nil)
	a := one.open(core.Client{Name: "Zed"})
	shown(t, a, prompt(t, a, "first"))
	b := two.open(core.Client{Name: "Emacs"})
	id := prompt(t, b, "second")
	there, here := shown(t, b, id), shown(t, a, id)
	if !slices.Equal(there, here) {
		t.Errorf("one process shows\n%s\nand the other\n%s", strings.Join(here, "\n"), strings.Join(there, "\n"))
	}
	if all := strings.Join(there, "\n"); !strings.Contains(all, "Client:Emacs") || !strings.Contains(all, "heard second") {
		t.Error(all)
	}
	if got := one.backend.Heard(); !slices.Equal(got, []string{"first", "second"}) || len(two.backend.Heard()) > 0 {
		t.Errorf("the owner heard %q, the other %q", got, two.backend.Heard())
	}
	for _, p := range []*process{one, two} {
		until(t, "both are shown in both", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return slices.Equal(p.present, []string{"Emacs in two", "Zed in one"})
		})
	}
}

// The commands of a client in another process have the effect that they have in this one.
func TestCommandsInAnotherProcess(t *testing.T) {
	at := newPlace(t)
	images := func(p *process, _ *share.Options) { p.backend.CapsNow = core.BackendCaps{Steer: true} }
	one, two := at.start(t, "one", images), at.start(t, "two", images)
	a := one.open(core.Client{Name: "Zed"})
	turn := prompt(t, a, "first")
	shown(t, a, turn)
	b := two.open(core.Client{Name: "Emacs"})
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("set", b.Set(ctx, core.Settings{Model: "a/b"}))
	check("rename", b.Rename(ctx, "New name"))
	check("archive", b.Archive(ctx, true))
	said, err := b.Say(ctx, "by the way")
	check("say", err)
	check("flag", b.Flag(ctx, said, "here"))
	check("reverted", b.Reverted(ctx, []core.RevertedFile{{Path: "/w/x"}}))
	check("prepare", two.gateway.Prepare(ctx, b))
	check("can", two.gateway.Can(ctx, b, core.CanRewind))
	watcher := b.Attach(core.Client{Name: "session/fork", Role: core.Observe})
	check("can, of who only watches", two.gateway.Can(ctx, watcher, core.CanRewind))
	watcher.Close()
	var lacks *core.UnsupportedError
	if err := two.gateway.Can(ctx, b, core.CanImages); !errors.As(err, &lacks) || lacks.Agent != "code" || lacks.What != core.CanImages {
		t.Errorf("can: %v", err)
	}
	if _, err := b.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Image{MIME: "image/png", Data: []byte("x")}}}); !errors.As(err, &lacks) {
		t.Errorf("an image: %v", err)
	}
	if err := b.Answer(ctx, "q1-1", core.Reply{Outcome: core.OutcomeAnswered}); !errors.Is(err, core.ErrNotAsked) {
		t.Errorf("an answer to nothing: %v", err)
	}
	if b.Steer([]core.Block{core.Text{Text: "no turn runs"}}) {
		t.Error("a message was taken by no turn")
	}
	for _, att := range []*core.Attachment{a, b} {
		st := att.State()
		if st.Title != "New name" || st.Settings.Model != "a/b" || !st.Archived || att.Flags()[said] != "here" || !strings.HasPrefix(string(said), "m1-") {
			t.Errorf("%+v, flags %v, said %s", st, att.Flags(), said)
		}
	}
	pos, err := b.Find(ctx, said)
	check("find", err)
	check("truncate", b.Truncate(ctx, pos))
	if _, err := a.Find(ctx, said); !errors.Is(err, core.ErrNoMessage) {
		t.Errorf("a message behind the truncation: %v", err)
	}
	if n := len(two.backend.Bindings()); n > 0 {
		t.Errorf("the other process has opened %d conversations", n)
	}
}

// asking asks whether a tool may run, and runs it.
func asking(p *process, _ *share.Options) {
	p.policy = coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it writes"})
	p.tools = coretest.Tools{coretest.Tool{Is: core.Spec{Server: core.Native, Name: "write"}}}
	p.backend.Run = func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
		res, err := t.Invoke(ctx, core.Call{ID: t.NewCall(), Server: core.Native, Tool: "write"})
		if err != nil {
			return core.StopError, err
		}
		return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: fmt.Sprint(res.Blocks)})
	}
}

// asked waits until an approval waits for a client.
func asked(t *testing.T, a *core.Attachment) core.Ask {
	t.Helper()
	until(t, "something waits for "+a.Client().Name, func() bool { return len(a.Pending()) > 0 })
	return a.Pending()[0]
}

// An approval reaches the clients of all processes. The first decision counts, and is in the log in the
// name of the client that gave it.
func TestApprovalInAnotherProcess(t *testing.T) {
	at := newPlace(t)
	one, two, three := at.start(t, "one", asking), at.start(t, "two", asking), at.start(t, "three", asking)
	a := one.open(core.Client{Name: "Zed"})
	b, c := two.open(core.Client{Name: "Emacs"}), three.open(core.Client{Name: "agent", Caller: "caller 1"})
	for _, test := range []struct {
		prompts, answers *core.Attachment
		d                core.Decision
		who              string
	}{{a, b, core.AllowOnce, "allowed by the user"}, {b, a, core.RejectOnce, "rejected by the user"}, {b, b, core.AllowOnce, "allowed by the user"}, {c, c, core.RejectOnce, "rejected by agent"}} {
		id := prompt(t, test.prompts, "go")
		for _, att := range []*core.Attachment{a, b, c} {
			asked(t, att)
		}
		ask := asked(t, test.answers)
		if err := test.answers.Decide(t.Context(), ask.ID, test.d, ""); err != nil {
			t.Fatal(err)
		}
		for _, late := range []*core.Attachment{a, b, c} {
			if err := late.Decide(t.Context(), ask.ID, core.AllowAlways, ""); !errors.Is(err, core.ErrNotAsked) {
				t.Errorf("a late decision of %s: %v", late.Client().Name, err)
			}
		}
		all := strings.Join(shown(t, c, id), "\n")
		if n := strings.Count(all, "By:"+test.answers.Client().Name); n == 0 || !strings.Contains(all, test.who) {
			t.Errorf("%s answered for %s: %s", test.answers.Client().Name, test.prompts.Client().Name, all)
		}
		until(t, "nothing waits", func() bool { return len(a.Pending())+len(b.Pending())+len(c.Pending()) == 0 })
	}
}

// The end of a prompt's context stops its turn in the other process, and so does Cancel.
func TestCancelInAnotherProcess(t *testing.T) {
	at := newPlace(t)
	waiting := func(p *process, _ *share.Options) {
		p.backend.Run = func(ctx context.Context, _ *core.Turn) (core.StopReason, error) {
			<-ctx.Done()
			return core.StopCanceled, context.Cause(ctx)
		}
	}
	one, two := at.start(t, "one", waiting), at.start(t, "two", waiting)
	a := one.open(core.Client{Name: "Zed"})
	b := two.open(core.Client{Name: "Emacs"})
	ended := func(a *core.Attachment, id core.TurnID) {
		t.Helper()
		list := shown(t, a, id)
		if last := list[len(list)-1]; !strings.Contains(last, "cancelled") {
			t.Error(last)
		}
	}
	first := prompt(t, a, "first")
	ctx, stop := context.WithCancelCause(t.Context())
	second, err := b.Prompt(ctx, say("second"))
	if err != nil {
		t.Fatal(err)
	}
	stop(core.ErrCanceled) // while it is queued
	ended(a, second)
	if st := b.State(); st.Turn != first {
		t.Errorf("turn %q runs", st.Turn)
	}
	if err := b.Cancel(t.Context(), "", core.ErrCanceled); err != nil {
		t.Fatal(err)
	}
	ended(b, first)
	ctx, stop = context.WithCancelCause(t.Context())
	third, err := b.Prompt(ctx, say("third"))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it runs", func() bool { return a.State().Turn == third })
	stop(core.ErrClientGone)
	list := shown(t, b, third)
	if last := list[len(list)-1]; !strings.Contains(last, core.ErrClientGone.Error()) {
		t.Error(last)
	}
}

// buffers is an editor with texts that are not saved.
type buffers struct{ text string }

func (b buffers) Caps() ide.Caps                     { return ide.Caps{ReadFile: true, Terminal: true} }
func (b buffers) Lend(id core.SessionID) core.Editor { return ide.Lend(b, id) }
func (b buffers) Do(ctx context.Context, c ide.Call) (ide.Reply, error) {
	switch c := c.(type) {
	case ide.ReadFile:
		if c.Path == "/w/missing" {
			return nil, &ide.Lacks{Why: "has no such file"}
		}
		return ide.FileText{Text: b.text + " " + c.Path + " of " + string(c.Session), Version: 3}, nil
	case ide.AwaitTerminal:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case ide.OpenTerminal:
		return ide.TerminalOpened{ID: strings.Join(append([]string{c.Command}, c.Args...), " ")}, nil
	}
	return nil, errors.New("it will not")
}

// The editor of a client in another process is asked in that client's turns, and no other one.
func TestEditorInAnotherProcess(t *testing.T) {
	at := newPlace(t)
	reading := func(p *process, _ *share.Options) {
		p.backend.Run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			e := ide.Of(p.backend.Bindings()[0].Host.Editor("/w/x"))
			if e == nil {
				return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: "no editor"})
			}
			var said []string
			add := func(r ide.Reply, err error) { said = append(said, fmt.Sprint(r, " ", err)) }
			add(e.Do(ctx, ide.ReadFile{Session: "s", Path: "/w/x"}))
			add(e.Do(ctx, ide.ReadFile{Session: "s", Path: "/w/missing"}))
			add(e.Do(ctx, ide.OpenTerminal{Session: "s", Command: "make", Args: []string{"all"}}))
			add(e.Do(ctx, ide.WriteFile{Session: "s", Path: "/w/x"}))
			brief, stop := context.WithTimeout(ctx, 20*time.Millisecond)
			defer stop()
			add(e.Do(brief, ide.AwaitTerminal{Session: "s", ID: "1"}))
			return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: strings.Join(said, "; ")})
		}
	}
	one, two := at.start(t, "one", reading), at.start(t, "two", reading)
	a := one.open(core.Client{Name: "Zed", Editor: buffers{"in Zed:"}})
	b := two.open(core.Client{Name: "Emacs", Editor: buffers{"in Emacs:"}})
	for _, att := range []*core.Attachment{a, b, a, b} {
		all := strings.Join(shown(t, att, prompt(t, att, "read")), "\n")
		want := "{in " + att.Client().Name + ": /w/x of s 3} <nil>; <nil> the editor has no such file; {make all} <nil>; <nil> it will not; <nil> context deadline exceeded"
		if said := all[strings.LastIndex(all, "core.TextDelta"):]; !strings.Contains(said, want) {
			t.Errorf("%s: %s", att.Client().Name, said)
		}
	}
	b.Close()
	until(t, "it has left", func() bool {
		one.mu.Lock()
		defer one.mu.Unlock()
		return len(one.present) == 1
	})
}

// When the owner leaves, its turn ends as interrupted, and the prompts that wait run in the next owner,
// each as its client's: with that client's context, and nobody is shown a gap or anything twice.
func TestOwnerLeaves(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			at := newPlace(t)
			stuck := func(p *process, _ *share.Options) {
				p.backend.Run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
					if text, _ := turn.Prompt()[0].(core.Text); text.Text != "wait" {
						return echo(ctx, turn)
					}
					<-ctx.Done()
					return core.StopCanceled, context.Cause(ctx)
				}
			}
			one, two, three := at.start(t, "one", stuck), at.start(t, "two", stuck), at.start(t, "three", stuck)
			a := one.open(core.Client{Name: "Zed"})
			b, c := two.open(core.Client{Name: "Emacs"}), three.open(core.Client{Name: "VS Code"})
			first := prompt(t, a, "wait")
			second, third := prompt(t, b, "wait"), prompt(t, c, "hello from the third")
			fourth := prompt(t, b, "hello from the second")
			if killed {
				one.sharing.Close()
				if err := one.store.Close(); err != nil { // releases its claims
					t.Fatal(err)
				}
			} else {
				one.end()
			}
			until(t, "the second prompt runs", func() bool { return b.State().Turn == second })
			if err := c.Cancel(t.Context(), second, core.ErrCanceled); err != nil {
				t.Fatal(err)
			}
			there, here := shown(t, b, fourth), shown(t, c, fourth)
			if !slices.Equal(there, here) {
				t.Errorf("one process shows\n%s\nand the other\n%s", strings.Join(here, "\n"), strings.Join(there, "\n"))
			}
			all := strings.Join(here, "\n")
			for _, want := range []string{
				"TurnEnded {Turn:" + string(first) + " Stop:interrupted", "TurnEnded {Turn:" + string(second) + " Stop:cancelled",
				"TurnEnded {Turn:" + string(third) + " Stop:end_turn", "TurnEnded {Turn:" + string(fourth) + " Stop:end_turn",
				"heard hello from the third", "heard hello from the second",
			} {
				if strings.Count(all, want) != 1 {
					t.Errorf("%q is not there once in\n%s", want, all)
				}
			}
		})
	}
}

// A process that ends with a prompt's turn hands over what waits behind the turn, also what comes before it
// has ended. No turn begins there that would be interrupted. The last prompt of a process that is not the owner
// hands nothing over.
func TestLastPromptHandsTheQueueOver(t *testing.T) {
	at := newPlace(t)
	gate := make(chan struct{})
	waits := func(p *process, _ *share.Options) {
		p.backend.Run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if text, _ := turn.Prompt()[0].(core.Text); text.Text == "last" {
				<-gate
			}
			return echo(ctx, turn)
		}
	}
	one, two := at.start(t, "one", waits), at.start(t, "two", waits)
	a, b := one.open(core.Client{Name: "dragoman run"}), two.open(core.Client{Name: "Emacs"})
	last := say("last")
	last.Last = true
	first, err := a.Prompt(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	waiting := prompt(t, b, "waits")
	close(gate)
	shown(t, a, first)
	late := make(chan core.TurnID, 1)
	go func() {
		id, err := b.Prompt(context.Background(), say("comes late"))
		if err != nil {
			t.Error(err)
		}
		late <- id
	}()
	if turn := a.State().Turn; turn != "" {
		t.Errorf("turn %s has begun in the process that ends", turn)
	}
	one.end()
	all := strings.Join(append(shown(t, b, waiting), shown(t, b, <-late)...), "\n")
	if !strings.Contains(all, "heard waits") || !strings.Contains(all, "heard comes late") || strings.Contains(all, "interrupted") {
		t.Error(all)
	}
	three := at.start(t, "three", nil)
	c := three.open(core.Client{Name: "dragoman run"})
	end, err := c.Prompt(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	shown(t, c, end)
	shown(t, b, prompt(t, b, "goes on"))
}

// A prompt that waited for an owner that has ended with its client is answered all the same.
func TestPromptsWhoseClientHasEnded(t *testing.T) {
	at := newPlace(t)
	stuck := func(p *process, _ *share.Options) {
		p.backend.Run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if p.backend.Heard()[0] == "wait" {
				<-ctx.Done()
				return core.StopCanceled, context.Cause(ctx)
			}
			return echo(ctx, turn)
		}
	}
	one, two := at.start(t, "one", stuck), at.start(t, "two", stuck)
	a, b := one.open(core.Client{Name: "Zed"}), two.open(core.Client{Name: "Emacs"})
	prompt(t, a, "wait")
	id := prompt(t, a, "mine")
	until(t, "the other process has read it", func() bool { return len(b.State().Queued) == 1 })
	one.sharing.Close()
	if err := one.store.Close(); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(shown(t, b, id), "\n"); !strings.Contains(all, "heard mine") {
		t.Error(all)
	}
}

// A process with another configuration is refused, and its client is told why.
func TestOtherConfiguration(t *testing.T) {
	at := newPlace(t)
	one := at.start(t, "one", nil)
	two := at.start(t, "two", func(_ *process, o *share.Options) { o.Config = "/other.yaml" })
	a := one.open(core.Client{Name: "Zed"})
	id := prompt(t, a, "first")
	b := two.open(core.Client{Name: "Emacs"})
	if !slices.Equal(shown(t, a, id), shown(t, b, id)) {
		t.Error("they are not shown the same")
	}
	_, err := b.Prompt(t.Context(), say("second"))
	var owned *core.OwnedError
	if !errors.As(err, &owned) || !strings.Contains(err.Error(), "/other.yaml") {
		t.Error(err)
	}
}

// The profiles of a client in another process are made from their description.
func TestProfilesOfAnotherProcess(t *testing.T) {
	at := newPlace(t)
	var mu sync.Mutex
	var made []string
	left := 0
	of := func(name string) func(*process, *share.Options) {
		return func(p *process, o *share.Options) {
			o.Spec = func(core.Profiles) (json.RawMessage, error) { return json.RawMessage(`"rules of ` + name + `"`), nil }
			o.Profiles = func(by core.Principal, spec json.RawMessage) (core.Profiles, func(), error) {
				mu.Lock()
				made = append(made, string(by)+" "+string(spec))
				mu.Unlock()
				prof := &core.Profile{Agents: []core.Agent{{Name: "code", Rev: "theirs", Backend: p.backend}}}
				return coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }), func() { mu.Lock(); left++; mu.Unlock() }, nil
			}
		}
	}
	one, two := at.start(t, "one", of("one")), at.start(t, "two", of("two"))
	a := one.open(core.Client{Name: "Zed"})
	shown(t, a, prompt(t, a, "first"))
	own := coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return nil, errors.New("not here") })
	b := two.open(core.Client{Name: "Emacs", Profiles: own})
	shown(t, b, prompt(t, b, "second"))
	b.Close()
	until(t, "the connection's profiles have ended", func() bool { mu.Lock(); defer mu.Unlock(); return left == 1 })
	if want := []string{`local "rules of two"`}; !reflect.DeepEqual(made, want) {
		t.Errorf("made %q", made)
	}
}

// A socket that was swept is made again for the next claim.
func TestSweptSocket(t *testing.T) {
	at := newPlace(t)
	p := at.start(t, "one", nil)
	was := p.sharing.Address()
	if was == "" || p.sharing.Address() != was {
		t.Fatalf("the address is %q, and then %q", was, p.sharing.Address())
	}
	path, _, _ := strings.Cut(was, " ")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if now := p.sharing.Address(); now == was || now == "" {
		t.Errorf("the address is %q", now)
	}
}
