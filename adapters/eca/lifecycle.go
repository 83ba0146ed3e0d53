package eca

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/clients"
	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/control"
)

// persistFor is the time that a shutdown waits for turns to end, and again for everything else.
// Clients kill the process three seconds after their request, some of them earlier.
const persistFor = time.Second

// initialize handles initialize. It is a barrier: no later message is read before it is answered.
// The result has the members of all documents: IntelliJ takes models and agents from it too, and
// the Emacs client needs the welcome message to be a string.
func (s *Server) initialize(ctx context.Context, call *wire.Call, p eca.InitializeParams) error {
	if s.state.Load() != phaseNew {
		return jrpc2.Errorf(jrpc2.InvalidRequest, "initialize was sent before")
	}
	folders := refer.Roots(p.WorkspaceFolders)
	roots := s.workspace(folders)
	lacks := early(s.conn, s.log, &p)
	peer := peerOf(p)
	peer.lacks = lacks
	s.mu.Lock()
	s.peer, s.folders, s.roots = peer, folders, roots
	s.chosen.SelectAgent(peer.agent)
	s.mu.Unlock()
	s.configure(p.InitializationOptions)
	o := s.reload(ctx)
	s.pump.Do(func() {
		s.announced = o
		if !clients.Of(peer.name).Flow && len(lacks) == 0 { // those of early documents are known
			s.pump.Queues, s.pump.Pace = true, pump.Gathering
		}
	})
	s.hintAt(o.Mistake)
	s.watchProcess(ctx, p.ProcessID)
	s.state.Store(phaseReady)
	s.log.Info("client connected", zap.String("client", peer.name), zap.String("version", peer.version))
	call.Reply(eca.InitializeResult{
		Models: o.Models, ChatDefaultModel: o.Model, ChatBehaviors: o.Behaviors, ChatDefaultBehavior: eca.BehaviorAgent,
		ChatWelcomeMessage: o.Welcome, ChatAgents: o.Agents, ChatDefaultAgent: o.Agents[0],
		ServerInfo: eca.ServerInfo{Name: "dragoman", Version: s.opts.Version},
	}, nil)
	return nil
}

// workspace returns the roots of a workspace with these folders.
func (s *Server) workspace(folders []string) []string {
	if len(folders) > 0 {
		return folders
	}
	return []string{s.cwd()}
}

// cwd returns the workspace of a client that names none.
func (s *Server) cwd() string {
	if s.opts.Cwd != "" {
		return s.opts.Cwd
	}
	dir, err := os.Getwd()
	if err != nil {
		s.log.Warn("no workspace folder, and the working directory is unknown", zap.Error(err))
		return os.TempDir()
	}
	return dir
}

// foldersChanged handles workspace/didChangeWorkspaceFolders. An added folder also counts in the
// chats of the workspace, from their next call on; they keep the folders they began with. The offer
// and the MCP servers become those of the new folders, and the servers of those chats are told.
func (s *Server) foldersChanged(ctx context.Context, _ *wire.Call, p eca.FoldersChangedParams) error {
	gone := refer.Roots(p.Event.Removed)
	s.mu.Lock()
	folders := slices.DeleteFunc(slices.Clone(s.folders), func(r string) bool { return slices.Contains(gone, r) })
	for _, r := range refer.Roots(p.Event.Added) {
		if !slices.Contains(folders, r) {
			folders = append(folders, r)
		}
	}
	s.folders, s.roots = folders, s.workspace(folders)
	s.mu.Unlock()
	s.typing.Drop()
	if o := s.refresh(ctx); o.Profile != nil {
		if servers := control.Of(o.Profile); servers != nil {
			servers.Moved()
		}
	}
	posted, _ := s.opts.Board.Now()
	s.pump.Do(func() { s.concerned(posted) })
	return nil
}

// concerned announces the servers that concern the connection from now on, and removes those that
// no longer do.
func (s *Server) concerned(posted []board.Posting) {
	for t := range s.told {
		if !s.concerns(t) {
			s.announceRemoval(t)
		}
	}
	for _, p := range posted {
		if item, ok := p.Item.(board.Server); ok && s.concerns(p.Topic) && s.told[p.Topic].Name == "" {
			s.announceServer(p.Topic, item)
		}
	}
}

// shutdown handles shutdown. Running turns are stopped, and everything is stored before the
// answer: the Emacs client kills the process as soon as it has that. The answer is an error if
// something could not be stored.
func (s *Server) shutdown(ctx context.Context, call *wire.Call, _ noParams) error {
	s.state.Store(phaseDown)
	chats := s.allChats()
	for _, c := range chats {
		c.prompts.Cancel()
	}
	s.wg.Go(func() {
		err := s.close(ctx, chats)
		s.pump.Do(func() {
			call.Reply(nil, wireError(err))
			close(s.down)
		})
	})
	return nil
}

// close waits until no prompt of the chats is open, and ends everything else. It returns the
// error of storing; work that only takes too long is abandoned.
func (s *Server) close(ctx context.Context, chats []*chat) error {
	// The end of a prompt is visible only after the store has it.
	if !settled(ctx, chats) {
		s.log.Warn("shut down before every turn had ended")
	}
	if s.opts.Shutdown == nil {
		return nil
	}
	ended := make(chan error, 1) // one result that need not be received
	s.wg.Go(func() { ended <- s.opts.Shutdown(context.WithoutCancel(ctx)) })
	t := time.NewTimer(persistFor)
	defer t.Stop()
	select {
	case err := <-ended:
		return err
	case <-t.C:
		s.log.Warn("shut down before everything had ended")
	case <-ctx.Done():
	}
	return nil
}

// settled waits until no prompt of the chats is open.
func settled(ctx context.Context, chats []*chat) bool {
	if len(chats) == 0 {
		return true
	}
	done := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(len(chats)))
	for _, c := range chats {
		c.queue.Go(func() {
			c.prompts.WhenNone(func() {
				if left.Add(-1) == 0 {
					close(done)
				}
			})
		})
	}
	t := time.NewTimer(persistFor)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// exit handles exit. It waits for the answer to a shutdown in progress.
func (s *Server) exit(ctx context.Context, _ *wire.Call, _ noParams) error {
	if s.state.Load() != phaseDown {
		s.end(errExit)
		return nil
	}
	s.wg.Go(func() {
		t := time.NewTimer(3 * persistFor)
		defer t.Stop()
		select {
		case <-s.down:
		case <-t.C:
		case <-ctx.Done():
		}
		s.end(errExit)
	})
	return nil
}

// peer describes the client.
type peer struct {
	name    string // clientInfo.name: emacs, VsCode, IntelliJ, Neovim, Desktop, eca-cli
	version string
	agent   string // its choice at the beginning, or ""
	lacks   nameSet
	caps    eca.CodeAssistant
}

// asks reports whether questions can be put to the client.
func (p peer) asks() bool {
	return p.caps.ChatCapabilities != nil && p.caps.ChatCapabilities.AskQuestion
}

// client describes the peer to the core.
func (p peer) client() core.Client {
	name := strings.TrimSpace(cmp.Or(p.name, "an ECA client") + " " + p.version)
	return core.Client{Name: name, Role: core.Decide, Asks: true, Questions: p.asks(), FixedAnswers: true}
}

// client describes the peer and its editor to a session with these folders.
func (s *Server) client(roots []string) core.Client {
	c := s.peerNow().client()
	c.Principal, c.Profiles = s.opts.Principal, s.opts.Profiles
	c.Editor, c.Visible = s.editor(), true
	c.Folders = func() []string { return s.beside(roots) }
	return c
}

// beside returns the folders of the editor's workspace if a chat with these folders belongs to it.
func (s *Server) beside(roots []string) []string {
	now := s.rootsNow()
	if !slices.ContainsFunc(roots, func(r string) bool { return slices.Contains(now, r) }) {
		return nil
	}
	return now
}

func peerOf(p eca.InitializeParams) peer {
	opts := optionsOf(p.InitializationOptions)
	out := peer{agent: cmp.Or(said(opts.ChatAgent), said(opts.ChatBehavior))}
	if p.Capabilities.CodeAssistant != nil {
		out.caps = *p.Capabilities.CodeAssistant
	}
	if p.ClientInfo != nil {
		out.name = firstLine(p.ClientInfo.Name)
		out.version, _, _ = strings.Cut(firstLine(p.ClientInfo.Version), " (") // others need not read how Emacs was built
	}
	return out
}

// optionsOf reads the options that are not settings. Other members may be there, because the
// options are also a layer of configuration.
func optionsOf(raw json.RawMessage) (opts eca.InitOptions) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &opts)
	}
	return opts
}

// firstLine returns the first line of s that is not blank. Emacs sends a version of several
// lines.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}
