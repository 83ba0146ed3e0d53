package offline

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/inference"
)

// speaker yields the demo's deltas.
type speaker struct {
	yield func(inference.Delta, error) bool
	gone  bool
	block int // the last one that was started; -1: none
	chars int // yielded so far
	texts int // deltas of text
}

// errGone ends an answer whose consumer has stopped reading. It is never returned to a
// caller.
type errGone struct{}

func (errGone) Error() string { return "the consumer has left" }

func (s *speaker) emit(ctx context.Context, d inference.Delta) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.Kind == inference.DeltaText {
		s.texts++
	}
	if !s.yield(d, nil) {
		s.gone = true
		return errGone{}
	}
	return nil
}

// say yields a text, line by line.
func (s *speaker) say(ctx context.Context, text string) error {
	s.block++
	for line := range strings.Lines(text) {
		s.chars += utf8.RuneCountInString(line)
		if err := s.emit(ctx, inference.Delta{Kind: inference.DeltaText, Block: s.block, Text: line}); err != nil {
			return err
		}
	}
	return nil
}

// think yields a thought, word by word.
func (s *speaker) think(ctx context.Context, text string) error {
	s.block++
	for word := range strings.SplitAfterSeq(text, " ") {
		s.chars += utf8.RuneCountInString(word)
		if err := s.emit(ctx, inference.Delta{Kind: inference.DeltaThought, Block: s.block, Text: word}); err != nil {
			return err
		}
	}
	return nil
}

// filler is the text that stream repeats: whole lines of 64 bytes.
const filler = "The offline demo streams this line, which has sixty-four bytes.\n"

// stream yields count text deltas of size bytes each, in constant memory.
func (s *speaker) stream(ctx context.Context, count, size int) error {
	s.block++
	loop := strings.Repeat(filler, size/len(filler)+2)
	for at := 0; count > 0; count-- {
		s.chars += size
		piece := inference.Delta{Kind: inference.DeltaText, Block: s.block, Text: loop[at : at+size]}
		if err := s.emit(ctx, piece); err != nil {
			return err
		}
		at = (at + size) % len(filler)
	}
	return nil
}

// argPieces is the maximum number of pieces of a call's arguments.
const argPieces = 4

// call yields a call, its arguments in pieces that end on whole runes.
func (s *speaker) call(ctx context.Context, id core.CallID, tool string, args json.RawMessage) error {
	s.block++
	start := inference.Delta{Kind: inference.DeltaToolStart, Block: s.block, ToolID: id, ToolName: tool}
	if err := s.emit(ctx, start); err != nil {
		return err
	}
	s.chars += utf8.RuneCountInString(tool) + utf8.RuneCount(args)
	size := max(8, (len(args)+argPieces-1)/argPieces)
	for rest := string(args); rest != ""; {
		n := min(size, len(rest))
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n++
		}
		if err := s.emit(ctx, inference.Delta{Kind: inference.DeltaToolArgs, Block: s.block, Text: rest[:n]}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	end := inference.Delta{
		Kind:     inference.DeltaToolEnd,
		Block:    s.block,
		ToolID:   id,
		ToolName: tool,
		Args:     args,
	}
	return s.emit(ctx, end)
}
