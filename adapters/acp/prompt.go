package acp

import (
	"context"
	"errors"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// prompt handles session/prompt. The prompt is registered here, on the reading goroutine, so that
// a later cancel finds it. The pump answers it right after the end of its turn.
func (s *Server) prompt(call *wire.Call, p acp.PromptRequest) error {
	sess, err := s.session(p.SessionID)
	if err != nil {
		return err
	}
	blocks, err := blocksOf(p.Prompt)
	if err != nil {
		return err
	}
	if !sess.told {
		sess.told = true
		s.wg.Go(func() { sess.sendCommands(context.Background()) })
	}
	ctx, ticket := sess.prompts.Register(
		context.Background(),
		nil,
		func(e core.TurnEnded) { sess.ended(call, e) },
	)
	stop := context.AfterFunc(call.Context(), func() { // $/cancel_request
		if errors.Is(context.Cause(call.Context()), wire.ErrCanceled) {
			ticket.Cancel()
		}
	})
	sess.queue.Go(func() {
		sess.awaitChoices(ctx)
		if _, err := sess.att.Prompt(ctx, core.Prompt{Blocks: blocks, Key: ticket.Key}); err != nil &&
			sess.prompts.Forget(ticket) {
			stop()
			call.Reply(nil, s.wireError(err))
		}
	})
	return nil
}

// awaitChoices waits until the session's agent has agreed to the choices made so far, or for the end of
// ctx: a prompt goes by the choices that were sent before it.
func (s *session) awaitChoices(ctx context.Context) {
	made := make(chan struct{})
	s.choices.Go(func() { close(made) })
	select {
	case <-made:
	case <-ctx.Done():
	}
}

// ended answers a prompt right after the end of its turn. A turn that the model refused is first
// removed together with its prompt: the next request to a model contains neither.
func (s *session) ended(call *wire.Call, e core.TurnEnded) {
	now := s.srv.current(s)
	usage := now.feed.view.spent.of(e.Turn)
	answer := func() {
		res, err := Answer(e)
		if e.Login != "" {
			err = s.srv.loginRequired(e.Login, e.Err)
		}
		res.Usage = usage
		call.Reply(res, err)
	}
	was := now.feed.view.refused
	if e.Stop != core.StopRefusal || was == (refusal{}) {
		answer()
		return
	}
	now.queue.Go(func() {
		// Keep it if something follows it: that is worth more.
		if now.att.Head() == was.end {
			if err := now.att.Truncate(context.Background(), was.begin); err != nil {
				s.srv.log.Warn("a refused prompt stays in the conversation", sessionField(s.id), zap.Error(err))
			}
		}
		now.after(now.att.Head(), answer)
	})
}

// Answer returns the answer to the prompt of a turn that ended with e.
func Answer(e core.TurnEnded) (acp.PromptResponse, error) {
	res := acp.PromptResponse{}
	switch e.Stop {
	case core.StopEnd:
		res.StopReason = acp.StopEndTurn
	case core.StopTokens:
		res.StopReason = acp.StopMaxTokens
	case core.StopRequests, core.StopLimit:
		res.StopReason = acp.StopMaxTurns
	case core.StopRefusal:
		res.StopReason = acp.StopRefusal
	case core.StopCanceled:
		res.StopReason = acp.StopCancelled
	case core.StopError, core.StopInterrupted:
		if e.Login != "" {
			return res, jrpc2.Errorf(acp.CodeAuthRequired, "%s", e.Err)
		}
		return res, wireError(errors.New(e.Err))
	}
	return res, nil
}

// cancel handles session/cancel: it ends the running turn and every prompt that was read before.
func (s *Server) cancel(call *wire.Call, p acp.SessionID) error {
	if !call.IsNotification() { // some libraries send it as a request
		defer call.Reply(acp.Marker{}, nil)
	}
	sess := s.cancellable(p.SessionID)
	if sess == nil {
		return nil // a notification has no answer
	}
	sess.prompts.Cancel()
	if turn := sess.att.State().Turn; turn != "" { // it may be another client's
		sess.queue.Go(func() {
			if err := sess.att.Cancel(context.Background(), turn, core.ErrCanceled); err != nil {
				s.log.Warn("cancel", sessionField(core.SessionID(p.SessionID)), zap.Error(err))
			}
		})
	}
	return nil
}

// cancelRequest handles $/cancel_request.
func (s *Server) cancelRequest(_ *wire.Call, p acp.CancelRequest) error {
	s.conn.CancelRequest(p.RequestID)
	return nil
}

// blocksOf decodes a prompt. A block of an unknown type is refused with its index; core refuses
// blocks that the session's agent does not accept.
func blocksOf(list []acp.ContentBlock) ([]core.Block, error) {
	if len(list) == 0 {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "prompt: at least one content block is needed")
	}
	blocks := make([]core.Block, len(list))
	for i, c := range list {
		b, err := blockOf(c)
		if err != nil {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "prompt[%d]: %v", i, err)
		}
		blocks[i] = b
	}
	return blocks, nil
}

func blockOf(c acp.ContentBlock) (core.Block, error) {
	switch c.Type {
	case "text":
		if c.Text == nil {
			return nil, errors.New("a text block needs text")
		}
		return core.Text{Text: *c.Text}, nil
	case "resource_link":
		link := core.Link{
			URI:         c.URI,
			Name:        c.Name,
			Title:       c.Title,
			Description: c.Description,
			MIME:        c.MIMEType,
		}
		if c.Size != nil {
			link.Size = *c.Size
		}
		return link, nil
	case "image":
		if c.Data.Bad() {
			return nil, errors.New("an image's data must be base64")
		}
		return core.Image{MIME: c.MIMEType, Data: c.Data, URI: c.URI}, nil
	case "audio":
		if c.Data.Bad() {
			return nil, errors.New("an audio block's data must be base64")
		}
		return core.Audio{MIME: c.MIMEType, Data: c.Data}, nil
	case "resource":
		return resourceOf(c.Resource)
	}
	return nil, errors.New(
		"content of type " + c.Type + " is unknown; the types are text, resource_link, image, audio and resource",
	)
}

func resourceOf(r *acp.Resource) (core.Block, error) {
	switch {
	case r == nil:
		return nil, errors.New("a resource block needs a resource")
	case r.Text != nil:
		return core.Resource{URI: r.URI, MIME: r.MIMEType, Text: *r.Text}, nil
	case r.Blob != nil:
		if r.Blob.Bad() {
			return nil, errors.New("a resource's blob must be base64")
		}
		return core.Resource{URI: r.URI, MIME: r.MIMEType, Blob: r.Blob.Content()}, nil
	}
	return nil, errors.New("a resource needs text or blob")
}
