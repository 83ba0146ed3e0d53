package eca_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/control"
)

// fleet holds the MCP servers of a configuration, in memory: db, which is a program, cloud, which
// requires a login, and added ones. They take a millisecond to start, and another until a client
// is notified: of two states at once it may get only the last.
type fleet struct {
	board *board.Board

	early time.Duration // the time that db needs, if it starts with a client; 0: it does not

	moves atomic.Int32 // how often the folders of its sessions have changed

	mu   sync.Mutex // guards the field below
	have map[string]*board.Server
}

var _ control.Servers = (*fleet)(nil)

func newFleet() *fleet {
	return &fleet{have: map[string]*board.Server{
		"db":    {Name: "db", Command: "db-mcp", Args: []string{"--stdio"}},
		"cloud": {Name: "cloud", URL: "https://cloud.example/mcp", Status: "requires-auth"},
	}}
}

// change changes a server; false: there is none.
func (f *fleet) change(name string, change func(*board.Server)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	item := f.have[name]
	if item != nil {
		change(item)
	}
	return item != nil
}

// tell announces a server's state.
func (f *fleet) tell(name string) {
	f.mu.Lock()
	now := *f.have[name]
	f.mu.Unlock()
	f.board.Put(board.Topic{Kind: "server", Name: name}, now)
}

// start starts a server, or reports a failure.
func (f *fleet) start(name string) { f.startIn(name, time.Millisecond) }

func (f *fleet) startIn(name string, need time.Duration) {
	f.change(name, func(i *board.Server) { i.Status, i.Why = "starting", "" })
	f.tell(name)
	<-time.After(need)
	f.change(name, func(i *board.Server) {
		switch {
		case i.Command == "broken":
			i.Status, i.Why = "failed", "the program ended with exit code 100%"
		case i.URL != "" && !i.LoggedIn:
			i.Status, i.Why = "requires-auth", "it requires a login"
		default:
			i.Status = "running"
			i.Tools = []core.Spec{{Name: "query", Description: "Asks the database", Schema: json.RawMessage(`{"type":"object"}`)}}
			i.Prompts = []core.Command{{Name: "explain", Description: "Explains a query", Arguments: []core.Argument{{Name: "query", Description: "The query", Required: true}}}}
			i.Resources = []core.Link{{URI: "db://users", Name: "users", Description: "a table", MIME: "text/csv"}, {URI: "db://x"}}
		}
	})
	f.tell(name)
	<-time.After(time.Millisecond)
}

// Configured implements core.Servers.
func (*fleet) Configured() {}

// Warm implements control.Servers.
func (f *fleet) Warm(core.Client, []string) <-chan struct{} {
	if f.early == 0 {
		return nil
	}
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		f.startIn("db", f.early)
	}()
	return settled
}

// Moved implements control.Servers.
func (f *fleet) Moved() { f.moves.Add(1) }

// Do implements control.Servers.
func (f *fleet) Do(_ context.Context, by core.Client, roots []string, name string, what control.Action) error {
	if by.Role != core.Decide || by.Principal != core.Local || len(roots) == 0 {
		return fmt.Errorf("not for %+v in %v", by, roots)
	}
	stops := func(i *board.Server, status string) {
		i.Status, i.Tools, i.Prompts, i.Resources = status, nil, nil, nil
	}
	there := f.change(name, func(i *board.Server) {
		switch w := what.(type) {
		case control.Stop:
			stops(i, "stopped")
		case control.Disable:
			stops(i, "disabled")
		case control.Enable:
			i.Status = "stopped"
		case control.Logout:
			i.LoggedIn = false
		case control.Change:
			i.Command, i.URL = cmp.Or(w.Command, i.Command), cmp.Or(w.URL, i.URL)
			if w.Args != nil {
				i.Args = w.Args
			}
		case control.Login:
			w.Show("https://cloud.example/login?state=100%25")
			i.LoggedIn = true
		case control.Start, control.Add, control.Remove:
		}
	})
	add, adds := what.(control.Add)
	switch {
	case adds && there:
		return errors.New("there is one of that name already")
	case !adds && !there:
		return errors.New("the configuration has no server of that name")
	}
	switch what.(type) {
	case control.Add:
		item := board.Server{Name: name, Command: add.Spec.Command, Args: add.Spec.Args, URL: add.Spec.URL, Status: "stopped"}
		if add.Disabled {
			item.Status = "disabled"
		}
		f.mu.Lock()
		f.have[name] = &item
		f.mu.Unlock()
		if add.Disabled {
			f.tell(name)
		} else {
			f.start(name)
		}
	case control.Remove:
		f.mu.Lock()
		delete(f.have, name)
		f.mu.Unlock()
		f.board.Drop(board.Topic{Kind: "server", Name: name})
	case control.Start, control.Enable, control.Change, control.Login, control.Logout:
		f.start(name)
	case control.Stop, control.Disable:
		f.tell(name)
	}
	return nil
}
