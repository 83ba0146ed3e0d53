package core

import (
	"context"
	"strings"
)

// secretNext says that the next message over a connection is a secret, for take and for nobody else.
type secretNext struct {
	of   Profiles
	take func(ctx context.Context, secret string) (answer string)
}

// secretPlace stands in the log in place of a message that is a secret.
const secretPlace = "(a secret, which is not kept here)"

// TakeNext has the next message of the connection that prompted taken as a secret, where no client has a form to
// ask for it: no log and no model gets the message, and take's answer is shown. A command in its place withdraws
// that. ok is false where no person will send a next message.
func (t *Turn) TakeNext(take func(ctx context.Context, secret string) (answer string)) (ok bool) {
	if t.by == nil || t.origin.Caller != "" || t.prompt.Unattended {
		return false
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.next = &secretNext{t.by.client.Profiles, take}
	return true
}

// expectsSecretLocked reports whether the next message of a client is a secret.
func (s *Session) expectsSecretLocked(a *Attachment) bool {
	return s.next != nil && s.next.of == a.client.Profiles
}

// takeSecretLocked takes the secret out of a prompt, if one is expected: take gets it when the turn runs.
func (s *Session) takeSecretLocked(a *Attachment, p *Prompt) (take func(context.Context) string) {
	if !s.expectsSecretLocked(a) {
		return nil
	}
	next, texts := s.next, []string(nil)
	s.next = nil
	for _, b := range p.Blocks {
		if b, ok := b.(Text); ok {
			texts = append(texts, b.Text)
		}
	}
	secret := strings.TrimSpace(strings.Join(texts, ""))
	if strings.HasPrefix(secret, "/") {
		return nil
	}
	p.Blocks, p.Busy = []Block{Text{Text: secretPlace}}, BusyQueue
	return func(ctx context.Context) string { return next.take(ctx, secret) }
}
