package share

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"dragoman/core"
	"dragoman/core/board"
)

// Boards connects the boards of two processes: a client is shown the jobs of a session and the servers
// of its connection, where they run.
type Boards interface {
	// Of returns the board as a connection sees it; nil: it sees none.
	Of(core.Profiles) board.Reader
	// Show puts what another process has posted for a connection of this one on the board, and Hide
	// takes it off again: the other process has ended, or owns the session no more. Neither blocks.
	Show(core.Profiles, board.Topic, board.Item)
	Hide(core.Profiles, board.Topic)
	// Control starts or stops an MCP server of a connection.
	Control(ctx context.Context, of core.Profiles, by core.Client, roots []string, server string, start bool) error
}

// posting is an item on one process's board, for another process.
type posting struct {
	Kind      string          `json:"kind"`
	Name      string          `json:"name"`
	Workspace string          `json:"workspace,omitempty"`
	Item      json.RawMessage `json:"item,omitempty"` // null: it was removed
}

type postedParams struct {
	Client   string    `json:"client"`
	Postings []posting `json:"postings"`
}

// jobOrder is a request about a job of the owner's process.
type jobOrder struct {
	ID     string `json:"id"`
	Kill   bool   `json:"kill,omitempty"`
	Output bool   `json:"output,omitempty"`
}

// serverOrder is a request about an MCP server.
type serverOrder struct {
	Name  string `json:"name"`
	Start bool   `json:"start,omitempty"`
}

// feed tells the other process what is posted for a client, until ctx ends.
func (g *guest) feed(ctx context.Context, client string, m *member, session core.SessionID) {
	if g.of.o.Boards == nil {
		return
	}
	from := g.of.o.Boards.Of(m.at.Client().Profiles)
	if from == nil {
		return
	}
	children := map[core.SessionID]bool{session: true}
	list, at := from.Now()
	for {
		told := postedParams{Client: client}
		for _, p := range list {
			if is, ok := posted(p, session, children); ok {
				told.Postings = append(told.Postings, is)
			}
		}
		if len(told.Postings) > 0 && g.srv.Notify(ctx, methodPosted, told) != nil {
			return
		}
		var err error
		if list, at, err = from.Next(ctx, at); err != nil {
			return
		}
	}
}

// posted returns a posting as a message; ok is false if it is not for the clients of a session. children
// are the session and its sub-sessions, as they become known.
func posted(p board.Posting, session core.SessionID, children map[core.SessionID]bool) (is posting, ok bool) {
	is = posting{Kind: p.Topic.Kind, Name: p.Topic.Name, Workspace: p.Topic.Workspace}
	switch item := p.Item.(type) {
	case board.Session:
		if item.Summary.Parent == session {
			children[item.Summary.ID] = true
		}
	case board.Job:
		is.Item = raw(item.Info)
		return is, children[item.Info.Session]
	case board.Server: // not those that a client brings along
		is.Item = raw(item)
		return is, p.Topic.Principal == "" && item.Name != core.Native
	case board.Gone:
		return is, p.Topic.Kind == "job" || p.Topic.Kind == "server" && p.Topic.Principal == ""
	case board.Models, board.Agents, board.Commands, board.Present, board.Account:
	}
	return is, false
}

// show puts what the owner has posted for a client on the board of this process.
func (l *link) show(p postedParams) {
	l.mu.Lock()
	at := l.attached[p.Client]
	l.mu.Unlock()
	if at == nil || l.of.o.Boards == nil {
		return
	}
	of := at.a.Client().Profiles
	for _, is := range p.Postings {
		topic := board.Topic{Kind: is.Kind, Name: is.Name, Workspace: is.Workspace, Principal: at.a.Client().Principal}
		if is.Kind == "job" { // jobs are numbered in each process
			topic.Name = l.prefix() + is.Name
		}
		item, ok := l.itemOf(is, topic, at.a)
		l.mu.Lock()
		if ok {
			l.shown[topic] = of
		} else {
			delete(l.shown, topic)
		}
		l.mu.Unlock()
		if ok {
			l.of.o.Boards.Show(of, topic, item)
		} else {
			l.of.o.Boards.Hide(of, topic)
		}
	}
}

// itemOf returns the item of a posting; ok is false if it was removed.
func (l *link) itemOf(is posting, topic board.Topic, a *core.Attachment) (item board.Item, ok bool) {
	switch is.Kind {
	case "job":
		var info board.JobInfo
		if len(is.Item) == 0 || json.Unmarshal(is.Item, &info) != nil || info.ID == "" {
			return nil, false
		}
		job := remoteJob{l, a, info.ID}
		info.ID = topic.Name
		return board.Job{Info: info, Control: job}, true
	case "server":
		var server board.Server
		if len(is.Item) == 0 || json.Unmarshal(is.Item, &server) != nil || server.Name == "" {
			return nil, false
		}
		return server, true
	}
	return nil, false
}

// prefix distinguishes the jobs of the other process.
func (l *link) prefix() string {
	at, err := parseAddress(l.address)
	if err != nil {
		return "0:"
	}
	return strconv.Itoa(processOf(filepath.Base(at.path))) + ":"
}

// hide takes all that the owner has posted off the board.
func (l *link) hide() {
	l.mu.Lock()
	shown := l.shown
	l.shown = map[board.Topic]core.Profiles{}
	l.mu.Unlock()
	for topic, of := range shown {
		l.of.o.Boards.Hide(of, topic)
	}
}

// remoteJob is a job of another process.
type remoteJob struct {
	of *link
	a  *core.Attachment
	id string
}

var _ board.JobControl = remoteJob{}

// Kill implements board.JobControl.
func (j remoteJob) Kill(ctx context.Context) (killed bool, err error) {
	o := orderOf(j.a)
	o.Job = &jobOrder{ID: j.id, Kill: true}
	o.Until = time.Now().Add(startFor)
	is, err := j.of.do(ctx, j.a, o)
	if fault, ok := faultOf(err); ok {
		err = fault
	}
	return is.Killed, err
}

// Output implements board.JobControl. If the other process does not answer it is empty.
func (j remoteJob) Output() []board.JobLine {
	ctx, cancel := context.WithTimeout(j.of.of.base, patience)
	defer cancel()
	o := orderOf(j.a)
	o.Job = &jobOrder{ID: j.id, Output: true}
	is, err := j.of.do(ctx, j.a, o)
	if err != nil {
		return nil
	}
	return is.Lines
}

var errNoJob = errors.New("there is no such job in this session")

// job carries out a request about a job of the session.
func (s *session) job(ctx context.Context, a *core.Attachment, o *jobOrder) (is done, err error) {
	if s.of.o.Boards == nil {
		return is, errNoJob
	}
	from := s.of.o.Boards.Of(a.Client().Profiles)
	if from == nil {
		return is, errNoJob
	}
	list, _ := from.Now()
	children := map[core.SessionID]bool{s.key.id: true}
	for _, p := range list {
		posted(p, s.key.id, children)
	}
	for _, p := range list {
		j, ok := p.Item.(board.Job)
		if !ok || j.Info.ID != o.ID || !children[j.Info.Session] || j.Control == nil {
			continue
		}
		if o.Kill {
			is.Killed, err = j.Control.Kill(ctx)
		}
		if o.Output {
			is.Lines = j.Control.Output()
		}
		return is, err
	}
	return is, errNoJob
}

// Control starts or stops an MCP server of a connection in the other processes that run its turns, because
// they own sessions of its clients. It returns how many there are.
func (s *Sharing) Control(ctx context.Context, of core.Profiles, server string, start bool) (n int, err error) {
	s.mu.Lock()
	var list []*session
	for _, is := range s.sessions {
		list = append(list, is)
	}
	s.mu.Unlock()
	var errs []error
	asked := map[string]bool{} // one answer of each process is enough
	for _, is := range list {
		is.mu.Lock()
		l := is.link
		is.mu.Unlock()
		if l == nil || !l.owns() || asked[l.address] {
			continue
		}
		for _, a := range is.Clients() {
			if a.Client().Profiles != of || of == nil || a.Client().Remote != "" || asked[l.address] {
				continue
			}
			asked[l.address] = true
			o := orderOf(a)
			o.Server = &serverOrder{server, start}
			o.Until = time.Now().Add(startFor)
			_, err := l.do(ctx, a, o)
			if fault, ok := faultOf(err); ok {
				err = fault
			}
			errs = append(errs, err)
		}
	}
	return len(errs), errors.Join(errs...)
}
