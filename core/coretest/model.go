package coretest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

	"dragoman/core"
	"dragoman/core/inference"
)

// Script is an inference.Model with prepared answers. The zero value has none. It is
// safe for concurrent use; answers are given in the order of the requests.
type Script struct {
	Is      inference.ModelInfo // the zero value: "script/model", with tools
	Answers []Answer            // to the first request, the second, …
	// Reply, if set, answers instead; n counts the requests from 0.
	Reply func(n int, r *inference.Request) Answer

	mu       sync.Mutex // guards the fields below
	requests []inference.Request
}

var _ inference.Model = (*Script)(nil)

// NewScript returns a Script with these answers.
func NewScript(answers ...Answer) *Script { return &Script{Answers: answers} }

// Answer is a Script's reaction to one request: it waits for Wait, yields Deltas, and
// then hangs, fails with Err, or ends. If Deltas do not end with a DeltaStop, one is
// added.
type Answer struct {
	Wait   <-chan struct{} // nil: no wait
	Deltas []inference.Delta
	Hang   bool // until the context ends
	Err    error
	Stop   core.StopReason // of the DeltaStop that is added; empty: StopEnd
}

// Say appends a part of text, a delta for each piece.
func (a Answer) Say(pieces ...string) Answer {
	return a.part(inference.DeltaText, pieces)
}

// Think appends a thought, a delta for each piece.
func (a Answer) Think(pieces ...string) Answer {
	return a.part(inference.DeltaThought, pieces)
}

func (a Answer) part(kind inference.DeltaKind, pieces []string) Answer {
	block := a.next()
	for _, p := range pieces {
		a = a.With(inference.Delta{Kind: kind, Block: block, Text: p})
	}
	return a
}

// Call appends a call. Its arguments are streamed in two halves.
func (a Answer) Call(id core.CallID, tool, args string) Answer {
	block, half := a.next(), len(args)/2
	return a.With(
		inference.Delta{Kind: inference.DeltaToolStart, Block: block, ToolID: id, ToolName: tool},
		inference.Delta{Kind: inference.DeltaToolArgs, Block: block, Text: args[:half]},
		inference.Delta{Kind: inference.DeltaToolArgs, Block: block, Text: args[half:]},
		inference.Delta{
			Kind:     inference.DeltaToolEnd,
			Block:    block,
			ToolID:   id,
			ToolName: tool,
			Args:     json.RawMessage(args),
		},
	)
}

// Use appends a usage.
func (a Answer) Use(u core.Usage) Answer {
	return a.With(inference.Delta{Kind: inference.DeltaUsage, Usage: u})
}

// With appends deltas as they are.
func (a Answer) With(deltas ...inference.Delta) Answer {
	a.Deltas = append(slices.Clip(a.Deltas), deltas...)
	return a
}

// next returns the number of the next part.
func (a Answer) next() int {
	n := -1
	for _, d := range a.Deltas {
		if d.Kind != inference.DeltaUsage && d.Kind != inference.DeltaRetry && d.Kind != inference.DeltaStop {
			n = max(n, d.Block)
		}
	}
	return n + 1
}

// Info describes the model.
func (s *Script) Info() inference.ModelInfo {
	if s.Is.ID == "" {
		return inference.ModelInfo{
			ID:       "script/model",
			Name:     "Script",
			Provider: "script",
			Tools:    true,
			Thinks:   true,
			Images:   true,
		}
	}
	return s.Is
}

// Requests returns the requests so far, in their order.
func (s *Script) Requests() []inference.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Stream gives the next answer.
func (s *Script) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		gone := false
		err := s.answer(r).play(ctx, func(d inference.Delta) bool {
			gone = !yield(d, nil)
			return !gone
		})
		if err != nil && !gone {
			yield(inference.Delta{}, err)
		}
	}
}

// answer records a request and returns the answer to it.
func (s *Script) answer(r *inference.Request) Answer {
	kept := *r
	kept.Messages, kept.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, kept)
	s.mu.Unlock()
	switch {
	case s.Reply != nil:
		return s.Reply(n, r)
	case n < len(s.Answers):
		return s.Answers[n]
	}
	return Answer{Err: fmt.Errorf("the script has no answer to request %d", n+1)}
}

// play yields an answer. It returns nil after a terminal, and when yield has
// returned false.
func (a Answer) play(ctx context.Context, yield func(inference.Delta) bool) error {
	if a.Wait != nil {
		select {
		case <-a.Wait:
		case <-ctx.Done():
		}
	}
	for _, d := range a.Deltas {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !yield(d) || d.Kind == inference.DeltaStop {
			return nil
		}
	}
	if a.Hang {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.Err != nil {
		return a.Err
	}
	stop := cmp.Or(a.Stop, core.StopEnd)
	yield(inference.Delta{Kind: inference.DeltaStop, Stop: stop})
	return nil
}
