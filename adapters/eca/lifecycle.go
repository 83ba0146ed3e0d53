package eca

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// persistFor is how long a shutdown waits for turns to end. Clients kill the
// process three seconds after they asked, some of them sooner.
const persistFor = 1500 * time.Millisecond

// initialize is initialize. It is a barrier: nothing that stands behind it is read
// before it is answered. The result is the superset of the documents: IntelliJ
// takes models and agents from it too, and the Emacs client needs the welcome
// message to be a string.
func (s *Server) initialize(ctx context.Context, call *wire.Call, p eca.InitializeParams) error {
	if s.state.Load() != phaseNew {
		return jrpc2.Errorf(jrpc2.InvalidRequest, "initialize was sent before")
	}
	roots := rootsOf(p.WorkspaceFolders)
	if len(roots) == 0 {
		roots = []string{s.cwd()}
	}
	peer := peerOf(p)
	s.mu.Lock()
	s.peer, s.roots = peer, roots
	s.chosen.selectAgent(peer.agent)
	s.mu.Unlock()
	o := s.reload(ctx)
	s.watchProcess(ctx, p.ProcessID)
	s.state.Store(phaseReady)
	s.log.Info("client connected", zap.String("client", peer.name), zap.String("version", peer.version), zap.Stringer("dialect", peer.dialect))
	call.Reply(eca.InitializeResult{
		Models: o.models, ChatDefaultModel: o.model, ChatBehaviors: o.behaviors, ChatDefaultBehavior: eca.BehaviorAgent,
		ChatWelcomeMessage: o.welcome, ChatAgents: o.agents, ChatDefaultAgent: o.agents[0],
		ServerInfo: eca.ServerInfo{Name: "dragoman", Version: s.opts.Version},
	}, nil)
	return nil
}

// cwd is the workspace where the client names none.
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

// foldersChanged is workspace/didChangeWorkspaceFolders. Chats keep the folders
// that they were begun with.
func (s *Server) foldersChanged(ctx context.Context, _ *wire.Call, p eca.FoldersChangedParams) error {
	gone := rootsOf(p.Event.Removed)
	s.mu.Lock()
	roots := slices.DeleteFunc(slices.Clone(s.roots), func(r string) bool { return slices.Contains(gone, r) })
	for _, r := range rootsOf(p.Event.Added) {
		if !slices.Contains(roots, r) {
			roots = append(roots, r)
		}
	}
	if len(roots) > 0 {
		s.roots = roots
	}
	s.mu.Unlock()
	s.reload(ctx)
	return nil
}

// shutdown is shutdown. What runs is stopped, and all of it is stored before the
// answer: the Emacs client kills the process as soon as it has that.
func (s *Server) shutdown(ctx context.Context, call *wire.Call, _ none) error {
	s.state.Store(phaseDown)
	chats := s.allChats()
	for _, c := range chats {
		c.prompts.Cancel()
	}
	s.wg.Go(func() {
		// A prompt's end is seen only once the store has it.
		if !s.settled(ctx, chats) {
			s.log.Warn("shut down before every turn had ended")
		}
		s.pump.Do(func() {
			call.Reply(nil, nil)
			close(s.down)
		})
	})
	return nil
}

// settled waits until no prompt of the chats is open.
func (s *Server) settled(ctx context.Context, chats []*chat) bool {
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

// exit is exit. It waits for the answer of a shutdown that is on its way.
func (s *Server) exit(ctx context.Context, _ *wire.Call, _ none) error {
	if s.state.Load() != phaseDown {
		s.end(errExit)
		return nil
	}
	s.wg.Go(func() {
		t := time.NewTimer(2 * persistFor)
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

// peer is what is known of the client.
type peer struct {
	name    string // clientInfo.name: emacs, VsCode, IntelliJ, Neovim, Desktop, eca-cli
	version string
	agent   string // what it wants to begin with, or ""
	dialect Dialect
}

// client is the peer as the core knows clients.
func (p peer) client() core.Client {
	name := cmp.Or(p.name, "an ECA client")
	if p.version != "" {
		name += " " + p.version
	}
	return core.Client{Name: name, Principal: core.Local, Role: core.Decide, Asks: true}
}

func peerOf(p eca.InitializeParams) peer {
	var opts eca.InitOptions
	if len(p.InitializationOptions) > 0 {
		_ = json.Unmarshal(p.InitializationOptions, &opts) // it is a layer of configuration as well: anything may stand there
	}
	out := peer{agent: cmp.Or(said(opts.ChatAgent), said(opts.ChatBehavior)), dialect: dialectOf(p.Capabilities.CodeAssistant, opts)}
	if p.ClientInfo != nil {
		out.name, out.version = p.ClientInfo.Name, p.ClientInfo.Version
	}
	return out
}
