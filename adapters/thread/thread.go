package thread

import (
	"context"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/files"
)

// thread is a session that is open in the thread protocol.
type thread struct {
	srv     *Server
	id      core.SessionID
	att     *core.Attachment
	prompts *pump.Prompts
	feed    *feed
	files   *files.Workspace

	mu       sync.Mutex // guards the field below
	streamed string     // text received by streamMessageChunk, for the next message
}

// thread finds a thread, and opens it if necessary.
func (s *Server) thread(ctx context.Context, id core.SessionID) (*thread, error) {
	s.mu.Lock()
	t := s.threads[id]
	s.mu.Unlock()
	if t != nil {
		return t, nil
	}
	sess, err := s.opts.Gateway.Open(ctx, s.opts.Principal, id)
	if err != nil {
		return nil, err
	}
	return s.addThread(ctx, sess), nil
}

// addThread attaches the connection to a session. Earlier entries are read with getThreadEntries.
func (s *Server) addThread(ctx context.Context, sess *core.Session) *thread {
	id := sess.Meta().ID
	t := &thread{srv: s, id: id, prompts: &pump.Prompts{}, files: files.New(owner{sess})}
	t.att = sess.Attach(core.Client{Name: "an ACP client", Visible: true, Profiles: s.opts.Profiles, Editor: &editor{conn: s.conn, thread: id}})
	t.feed = &feed{thread: t, prefix: t.prompts.Prefix(), gone: ctx.Done()}
	s.mu.Lock()
	left := s.left
	if !left {
		s.threads[id] = t
	}
	s.mu.Unlock()
	if left {
		t.files.Close() //nolint:errcheck // it was only read
		t.att.Close()
		return t
	}
	s.pump.Add(t.att, sess.Head(), t.feed, nil)
	return t
}

func (t *thread) leave() {
	t.srv.pump.Remove(t.feed)
	t.prompts.Stop(core.ErrClientGone)
	t.files.Close() //nolint:errcheck // it was only read
	t.att.Close()
}

// getThreads lists the sessions of the folder, last used first.
func (s *Server) getThreads(ctx context.Context, call *wire.Call, _ struct{}) error {
	cwd, err := s.cwd()
	if err != nil {
		return err
	}
	res := acp.GetThreadsResponse{Threads: []acp.Thread{}}
	for sum, err := range s.opts.Gateway.List(ctx, s.opts.Principal) {
		if err != nil {
			return err
		}
		if sum.Parent != "" || sum.Cwd != cwd || sum.Messages == 0 && !s.isThread(sum.ID) {
			continue
		}
		t := acp.Thread{ID: string(sum.ID), Title: sum.Title, ModifiedAt: acp.Stamp(sum.Updated)}
		if t.Title == "" {
			t.Title = "New thread"
		}
		res.Threads = append(res.Threads, t)
	}
	call.Reply(res, nil)
	return nil
}

func (s *Server) isThread(id core.SessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threads[id] != nil
}

// createThread creates a session. An error in the configuration is reported here.
func (s *Server) createThread(ctx context.Context, call *wire.Call, _ struct{}) error {
	cwd, err := s.cwd()
	if err != nil {
		return err
	}
	if _, err := s.opts.Gateway.Profile(ctx, s.opts.Profiles, []string{cwd}); err != nil {
		return err
	}
	sess, err := s.opts.Gateway.Create(ctx, core.Meta{Principal: s.opts.Principal, Cwd: cwd, Roots: []string{cwd}})
	if err != nil {
		return err
	}
	t := s.addThread(ctx, sess)
	call.Reply(acp.ThreadID{ThreadID: string(t.id)}, nil)
	return nil
}

// openThread does nothing more: the thread is open.
func (s *Server) openThread(_ context.Context, _ *thread, call *wire.Call, _ acp.ThreadID) error {
	call.Reply(nil, nil)
	return nil
}

// chunkStreamed stores text that a peer streams to us, for its next message.
func (s *Server) chunkStreamed(_ context.Context, t *thread, call *wire.Call, p acp.StreamMessageChunk) error {
	text, err := textOf([]acp.MessageChunk{p.Chunk})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.streamed)+len(text) > maxStreamed {
		return jrpc2.Errorf(
			jrpc2.InvalidParams,
			"more than %d MiB were streamed, and no message was sent",
			maxStreamed>>20,
		)
	}
	t.streamed += text
	call.Reply(nil, nil)
	return nil
}

// maxStreamed limits the text streamed for one message, in bytes.
const maxStreamed = 32 << 20

// sendMessage begins a turn with a user's message, and stores a message of the assistant.
// Streamed text comes first.
func (s *Server) sendMessage(_ context.Context, t *thread, call *wire.Call, p acp.SendMessage) error {
	text, err := textOf(p.Message.Chunks)
	if err != nil {
		return err
	}
	switch p.Message.Role {
	case acp.RoleUser, acp.RoleAssistant:
	default:
		return jrpc2.Errorf(
			jrpc2.InvalidParams,
			"message.role: expected user or assistant, got %.60q",
			p.Message.Role,
		)
	}
	t.mu.Lock()
	text, t.streamed = t.streamed+text, ""
	t.mu.Unlock()
	if text == "" {
		return jrpc2.Errorf(jrpc2.InvalidParams, "message.chunks: there is no text in them")
	}
	if p.Message.Role == acp.RoleAssistant {
		t.prompts.WhenNone(func() { // after the running turns
			s.queue.Go(func() {
				if _, err := t.att.Say(context.Background(), text); err != nil {
					call.Reply(nil, wireError(err))
					return
				}
				call.Reply(nil, nil)
			})
		})
		return nil
	}
	ctx, ticket := t.prompts.Register(context.Background(), nil, func(e core.TurnEnded) { t.feed.ended(call, e) })
	if s.hasLeft() {
		t.prompts.Stop(core.ErrClientGone)
	}
	_, err = t.att.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: text}}, Key: ticket.Key})
	if err != nil && t.prompts.Forget(ticket) {
		return err
	}
	return nil
}

// textOf joins chunks.
func textOf(chunks []acp.MessageChunk) (string, error) {
	var b strings.Builder
	for i, c := range chunks {
		if c.Type != "text" {
			return "", jrpc2.Errorf(jrpc2.InvalidParams, "chunks[%d].type: expected text, got %.60q", i, c.Type)
		}
		b.WriteString(c.Chunk)
	}
	return b.String(), nil
}
