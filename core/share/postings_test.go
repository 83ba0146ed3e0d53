package share_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/share"
)

// boards shows everything that another process posts on one board.
type boards struct {
	*board.Board

	mu         sync.Mutex
	controlled []string
}

func (b *boards) Of(core.Profiles) board.Reader { return b.Board }

func (b *boards) Show(_ core.Profiles, t board.Topic, item board.Item) { b.Put(t, item) }

func (b *boards) Hide(_ core.Profiles, t board.Topic) { b.Drop(t) }

func (b *boards) Control(_ context.Context, _ core.Profiles, by core.Client, _ []string, server string, start bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if server == "missing" {
		return errors.New("there is no such server")
	}
	b.controlled = append(b.controlled, by.Name+" "+server+map[bool]string{true: " start", false: " stop"}[start])
	return nil
}

// item returns the value of a topic by its kind and the end of its name; nil: there is none.
func (b *boards) item(kind, name string) board.Item {
	list, _ := b.Now()
	for _, p := range list {
		if _, gone := p.Item.(board.Gone); p.Topic.Kind == kind && strings.HasSuffix(p.Topic.Name, name) && !gone {
			return p.Item
		}
	}
	return nil
}

// job is a job that can be ended once.
type job struct{ killed chan struct{} }

func (j job) Kill(context.Context) (bool, error) {
	select {
	case <-j.killed:
		return false, nil
	default:
		close(j.killed)
		return true, nil
	}
}

func (j job) Output() []board.JobLine { return []board.JobLine{{Text: "built", Stderr: true}} }

// The jobs of a session, and the servers of a client's connection, are shown and controlled in another
// process as in the one that runs them, until that ends. Jobs of other sessions are not.
func TestBoardOfAnotherProcess(t *testing.T) {
	at := newPlace(t)
	all := map[string]*boards{}
	on := func(name string) func(*process, *share.Options) {
		b := &boards{Board: board.New()}
		all[name] = b
		return func(_ *process, o *share.Options) {
			o.Boards = b
			o.Spec = func(core.Profiles) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }
			o.Profiles = func(core.Principal, json.RawMessage) (core.Profiles, func(), error) {
				return coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
					return &core.Profile{Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: echo}}}}, nil
				}), func() {}, nil
			}
		}
	}
	one, two := at.start(t, "one", on("one")), at.start(t, "two", on("two"))
	a := one.open(core.Client{Name: "Zed"})
	shown(t, a, prompt(t, a, "hello"))
	own := coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return nil, errors.New("not here") })
	b := two.open(core.Client{Name: "Emacs", Profiles: own})
	there, here := all["one"], all["two"]
	killed := make(chan struct{})
	post := func(id string, session core.SessionID) {
		there.Put(board.Topic{Kind: "job", Name: id, Principal: core.Local}, board.Job{Info: board.JobInfo{ID: id, Session: session, Command: "make", Status: board.JobRunning}, Control: job{killed}})
	}
	post("job-1", "s")
	post("job-2", "other")
	there.Put(board.Topic{Kind: "server", Name: "files"}, board.Server{Name: "files", Status: "running", Tools: []core.Spec{{Name: "read"}}})
	there.Put(board.Topic{Kind: "server", Name: "brought", Principal: core.Local}, board.Server{Name: "brought", Status: "running"})
	until(t, "the job and the server are shown", func() bool { return here.item("job", "job-1") != nil && here.item("server", "files") != nil })
	if here.item("job", "job-2") != nil || here.item("server", "brought") != nil {
		t.Error("what is not for this client is shown")
	}
	is, _ := here.item("job", "job-1").(board.Job)
	if lines := is.Control.Output(); !slices.Equal(lines, []board.JobLine{{Text: "built", Stderr: true}}) || is.Info.Command != "make" || is.Info.ID == "job-1" {
		t.Errorf("%+v printed %+v", is.Info, lines)
	}
	for _, want := range []bool{true, false} {
		if got, err := is.Control.Kill(t.Context()); err != nil || got != want {
			t.Errorf("killed: %v, %v", got, err)
		}
	}
	if n, err := two.sharing.Control(t.Context(), own, "files", true); n != 1 || err != nil {
		t.Errorf("start: %d, %v", n, err)
	}
	if n, err := two.sharing.Control(t.Context(), own, "missing", false); n != 1 || err == nil || err.Error() != "there is no such server" {
		t.Errorf("stop: %d, %v", n, err)
	}
	if n, err := two.sharing.Control(t.Context(), coretest.Profiles(nil), "files", true); n != 0 || err != nil {
		t.Errorf("a connection without a shared session: %d, %v", n, err)
	}
	if !slices.Equal(there.controlled, []string{"Emacs files start"}) {
		t.Errorf("%q", there.controlled)
	}
	list, err := two.sharing.Status(t.Context(), one.sharing.Address(), core.Local)
	if err != nil || len(list) != 1 || len(list[0].Clients) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	there.Drop(board.Topic{Kind: "server", Name: "files"})
	until(t, "the server is gone", func() bool { return here.item("server", "files") == nil })
	one.end()
	until(t, "the job is gone", func() bool { return here.item("job", "job-1") == nil })
	if err := b.Rename(t.Context(), "on"); err != nil {
		t.Error(err)
	}
}
