package core

import (
	"context"
	"slices"

	"dragoman/core/internal/slash"
)

// CommandAllow is the name of the command that makes the newest approval of a person last.
const CommandAllow = "allow"

// lasting is an approval that a person has given and that may count for good.
type lasting struct {
	scope string // in words
	keep  func(context.Context) error
}

// offerLasting offers to make an approval last, in place of an earlier one; nil: none.
func (s *Session) offerLasting(l *lasting) {
	if s.lasting.Swap(l) != l {
		s.relist()
	}
}

// withLasting adds the command that makes the newest approval last, and names what it would cover. Only a
// person is offered it.
func (s *Session) withLasting(list []Command, a *Attachment) []Command {
	l := s.lasting.Load()
	if l == nil || a.client.Caller != "" || slash.Has(list, CommandAllow) {
		return list
	}
	return append(slices.Clip(list), Command{Kind: CommandBuiltin, Name: CommandAllow, Description: "Allow for good, in this folder, what was just allowed: " + l.scope})
}

// Lasting returns the scope, in words, of the newest approval that a person has given in the session, and the
// function that makes it count for good. That is nil if there is none, or if a program prompted the turn.
func (t *Turn) Lasting() (scope string, keep func(context.Context) error) {
	l := t.s.lasting.Load()
	if l == nil || t.origin.Caller != "" {
		return "", nil
	}
	return l.scope, func(ctx context.Context) error {
		if err := l.keep(ctx); err != nil {
			return err
		}
		if t.s.lasting.CompareAndSwap(l, nil) {
			t.s.relist()
		}
		return nil
	}
}
