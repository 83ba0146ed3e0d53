package share_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
	"dragoman/core/share"
)

// process is a gateway with a store and a Sharing of its own, as another process has them.
type process struct {
	t       *testing.T
	store   *jsonl.Store
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
	o.Present = func(_ core.Principal, _ core.SessionID, list []share.Client) {
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
	p.gateway = core.New(core.Config{
		Store: p.store, Node: name, Sharing: p.sharing,
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
