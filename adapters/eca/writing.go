package eca

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"dragoman/adapters/eca/compose"
	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core/inference"
	"dragoman/core/workspace"
)

// Texts that a client asks for outside of chats: models are asked directly, and nothing is
// stored.

// maxRewrites limits the rewrites of one connection at a time.
const maxRewrites = 4

var errNewer = errors.New("a newer completion was asked for")

// writer returns the model for texts outside of chats: the one that the user has chosen for new
// chats. The fault is for the user.
func (s *Server) writer(ctx context.Context) (inference.Model, *eca.Fault) {
	o := s.reload(ctx)
	switch {
	case o.Profile == nil:
		return nil, &eca.Fault{Type: eca.MessageError, Message: o.Fault}
	case inference.ModelsOf(o.Profile).Find == nil:
		return nil, &eca.Fault{Type: eca.MessageWarning, Message: "No model is configured."}
	}
	m, err := inference.ModelsOf(o.Profile).Model(ctx, inference.Next(o.Profile, s.defaults(o).Settings))
	if err != nil {
		return nil, &eca.Fault{Type: eca.MessageWarning, Message: err.Error()}
	}
	if m.Info().Offline {
		return nil, &eca.Fault{
			Type:    eca.MessageWarning,
			Message: "No language model is configured: " + m.Info().ID + " can only be talked to.",
		}
	}
	return m, nil
}

// completion handles completion/inline. Only the newest request counts: an earlier one is
// abandoned, because the user has typed on.
func (s *Server) completion(ctx context.Context, call *wire.Call, p eca.CompletionParams) error {
	life, cancel := context.WithCancelCause(ctx)
	mine := &pendingCompletion{give: cancel, done: make(chan struct{})}
	s.mu.Lock()
	old := s.completing
	s.completing = mine
	s.mu.Unlock()
	if old != nil {
		old.give(errNewer)
	}
	s.wg.Go(func() {
		defer cancel(nil)
		defer close(mine.done)
		if old != nil { // it ends soon, and is answered first
			<-old.done
		}
		res := s.complete(life, p)
		if res.Error != nil && s.row().Faultless {
			s.mention(res.Error.Message)
			res = eca.CompletionResult{Items: []eca.CompletionItem{}}
		}
		s.reply(ctx, call, res, nil)
	})
	return nil
}

// mention shows a message, unless it was the last one shown this way: completions are requested
// with every word that is typed.
func (s *Server) mention(text string) {
	s.pump.Do(func() {
		if s.mentioned != text {
			s.mentioned = text
			s.showMessage(eca.MessageWarning, text)
		}
	})
}

// pendingCompletion is a running completion.
type pendingCompletion struct {
	give context.CancelCauseFunc // ends it
	done chan struct{}           // closed after the answer
}

func (s *Server) complete(ctx context.Context, p eca.CompletionParams) eca.CompletionResult {
	m, fault := s.writer(ctx)
	if fault != nil {
		return eca.CompletionResult{Error: fault}
	}
	res := eca.CompletionResult{Items: []eca.CompletionItem{}}
	if strings.TrimSpace(p.DocText) == "" || s.denied(p.Path) != "" { // it is requested with every word that is typed: no message
		return res
	}
	text, err := compose.Complete(ctx, m, p.DocText, p.Position)
	switch {
	case errors.Is(err, errNewer):
	case err != nil:
		return eca.CompletionResult{Error: &eca.Fault{Type: eca.MessageWarning, Message: err.Error()}}
	case strings.TrimSpace(text) != "":
		place := eca.Span{Start: p.Position, End: p.Position}
		res.Items = append(res.Items, eca.CompletionItem{Text: text, DocVersion: p.DocVersion, Range: place})
	}
	return res
}

// rewrite handles rewrite/prompt. It is answered when the model is about to be asked; the text
// follows in parts.
func (s *Server) rewrite(ctx context.Context, call *wire.Call, p eca.RewriteParams) error {
	if p.ID == "" {
		return wrong("id is empty")
	}
	// Clients ignore the result of a rewrite: the display that they have begun ends with a
	// content.
	failed := func(f eca.Fault) {
		s.pump.Do(func() {
			s.answer(ctx, call, eca.RewriteResult{Error: &f}, nil)
			if !call.IsNotification() {
				s.notify(
					eca.MethodRewriteContent,
					eca.RewriteContentParams{
						RewriteID: p.ID,
						Content:   eca.RewriteContent{Type: eca.RewriteError, Message: &f.Message},
					},
				)
			}
		})
	}
	warned := func(text string) error {
		failed(eca.Fault{Type: eca.MessageWarning, Message: text})
		return nil
	}
	// The Emacs client sends rewrites without having announced the capability.
	if string(bytes.TrimSpace(s.peerNow().caps.Rewrite)) == "false" {
		return warned("The client has said that it cannot show a rewrite.")
	}
	if len(p.Text)+len(p.Prompt) > compose.MaxBytes {
		return warned(compose.ErrTooLong.Error())
	}
	if why := s.denied(said(p.Path)); why != "" {
		return warned("Nothing of the file is sent to a model: " + why + ".")
	}
	s.mu.Lock()
	full := s.rewrites >= maxRewrites
	if !full {
		s.rewrites++
	}
	s.mu.Unlock()
	if full {
		return warned(fmt.Sprintf("%d texts are being rewritten already; wait for one of them.", maxRewrites))
	}
	s.wg.Go(func() {
		defer func() {
			s.mu.Lock()
			s.rewrites--
			s.mu.Unlock()
		}()
		m, fault := s.writer(ctx)
		if fault != nil {
			failed(*fault)
			return
		}
		s.reply(ctx, call, eca.RewriteResult{Status: eca.StatusPrompting, Model: m.Info().ID}, nil)
		s.rewriting(ctx, m, p)
	})
	return nil
}

// denied returns the rule that forbids reading a document; "": none.
func (s *Server) denied(path string) string {
	d := refer.New(s.offered().Profile, s.opts.Principal, s.rootsNow())
	if path = d.Path(path); path == "" {
		return ""
	}
	return d.Forbidden(workspace.Reference{Path: path})
}

// rewriting asks the model and passes on its text as it arrives.
func (s *Server) rewriting(ctx context.Context, m inference.Model, p eca.RewriteParams) {
	began, out := time.Now(), &rewriteStream{srv: s, id: p.ID}
	answer, err := compose.Rewrite(ctx, m, p, s.surroundings(ctx, p), out.delta)
	out.tell(func() {
		if err != nil {
			text := err.Error()
			out.say(eca.RewriteContent{Type: eca.RewriteError, Message: &text})
			return
		}
		out.begin()
		end := ""
		if strings.HasSuffix(p.Text, "\n") && !strings.HasSuffix(compose.Bare(answer), "\n") {
			end = "\n" // models omit it
		}
		if text := compose.Bare(answer) + end; text != answer+end {
			out.say(eca.RewriteContent{Type: eca.RewriteReplace, Text: &text})
		} else if end != "" {
			out.say(eca.RewriteContent{Type: eca.RewriteText, Text: &end})
		}
		ms := time.Since(began).Milliseconds()
		out.say(eca.RewriteContent{Type: eca.RewriteFinished, TotalTimeMs: &ms})
	})
}

// surroundings returns the text around a selection, if it may be read.
func (s *Server) surroundings(ctx context.Context, p eca.RewriteParams) string {
	path := refer.PathOf(said(p.Path))
	if path == "" {
		return ""
	}
	d := refer.New(s.offered().Profile, s.opts.Principal, s.rootsNow())
	return d.Text(ctx, workspace.Reference{Path: path, Lines: compose.Around(p.Range)})
}

// rewriteStream sends the progress of one rewrite to the client. Parts within one pace are joined.
type rewriteStream struct {
	srv   *Server
	id    string
	began bool // of the pump's goroutine

	mu      sync.Mutex // guards the fields below
	text    strings.Builder
	timer   *time.Timer // until the next part is sent; nil: nothing to send
	thought bool        // was reported
}

func (w *rewriteStream) delta(d inference.Delta) {
	switch d.Kind {
	case inference.DeltaText:
		w.mu.Lock()
		w.text.WriteString(d.Text)
		if w.timer == nil {
			w.timer = time.AfterFunc(pace, func() { w.tell(func() {}) })
		}
		w.mu.Unlock()
	case inference.DeltaThought:
		w.mu.Lock()
		again := w.thought
		w.thought = true
		w.mu.Unlock()
		if !again {
			w.srv.pump.Do(w.reason)
		}
	case inference.DeltaSealed, inference.DeltaToolStart, inference.DeltaToolArgs, inference.DeltaToolEnd,
		inference.DeltaUsage, inference.DeltaRetry, inference.DeltaFellBack, inference.DeltaRefused, inference.DeltaStop:
	}
}

// tell has the pump send the text written so far, and then calls then.
func (w *rewriteStream) tell(then func()) {
	w.srv.pump.Do(func() {
		w.mu.Lock()
		text := w.text.String()
		w.text.Reset()
		if w.timer != nil {
			w.timer.Stop()
			w.timer = nil
		}
		w.mu.Unlock()
		if text != "" {
			w.begin()
			w.say(eca.RewriteContent{Type: eca.RewriteText, Text: &text})
		}
		then()
	})
}

// begin reports once that the model has begun.
func (w *rewriteStream) begin() {
	if !w.began {
		w.began = true
		w.say(eca.RewriteContent{Type: eca.RewriteStarted})
	}
}

// reason reports that the model thinks, unless it writes already.
func (w *rewriteStream) reason() {
	if !w.began {
		w.begin()
		w.say(eca.RewriteContent{Type: eca.RewriteReasoning})
	}
}

func (w *rewriteStream) say(c eca.RewriteContent) {
	w.srv.notify(eca.MethodRewriteContent, eca.RewriteContentParams{RewriteID: w.id, Content: c})
}
