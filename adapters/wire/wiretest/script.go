package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"dragoman/adapters/wire"
)

// Speaker is the side of a connection that a script speaks for; *Peer is one.
type Speaker interface {
	Send(messages ...string) error
	Pending() bool
	Next() (string, error)
}

// Script plays conversations.
type Script struct {
	Peer   Speaker
	Settle func() // waits until nothing moves: synctest.Wait in a bubble
	// Mark begins the lines of what neither side says, and Do does that; "": there are none.
	Mark string
	Do   func(what string) error
	// Sends returns the message for a line; nil: the line itself.
	Sends func(msg string) string
	// Hears returns the lines for the messages that came until the connection was idle; nil: all
	// of them, in their order.
	Hears func(msgs []string) []string
}

// Play plays the lines of a script that begin with "-> " to the connection and returns
// the transcript: those lines, each followed by the messages that came from the connection until
// it was idle, as lines that begin with "<- ". Messages that came before the first line come first. Other lines are kept, but for those with "<- ". Lines with "-> " that follow each
// other directly are sent in one write.
//
// A test compares the transcript with the script, and writes it back with -update.
func (s Script) Play(script string) (string, error) {
	var out strings.Builder
	var group []string
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		if err := s.Peer.Send(group...); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		group = nil
		return s.drain(&out)
	}
	if err := s.drain(&out); err != nil {
		return out.String(), err
	}
	for line := range strings.Lines(script) {
		text := strings.TrimRight(line, "\r\n")
		if msg, ours := strings.CutPrefix(text, "-> "); ours {
			if s.Sends != nil {
				msg = s.Sends(msg)
			}
			group = append(group, msg)
			out.WriteString(text + "\n")
			continue
		}
		if err := flush(); err != nil {
			return out.String(), err
		}
		if strings.HasPrefix(text, "<- ") {
			continue
		}
		out.WriteString(text + "\n")
		if what, ok := strings.CutPrefix(text, s.Mark); ok && s.Mark != "" {
			if err := s.Do(what); err != nil {
				return out.String(), err
			}
			if err := s.drain(&out); err != nil {
				return out.String(), err
			}
		}
	}
	err := flush()
	return out.String(), err
}

// drain writes down the messages that come until the connection is idle.
func (s Script) drain(out *strings.Builder) error {
	var msgs []string
	for s.Settle(); s.Peer.Pending(); s.Settle() {
		msg, err := s.Peer.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("receive: %w", err)
		}
		msgs = append(msgs, msg)
	}
	if s.Hears != nil {
		msgs = s.Hears(msgs)
	}
	for _, msg := range msgs {
		out.WriteString("<- " + msg + "\n")
	}
	return nil
}

// Serve starts a server on one connection, whose other end is the peer. stop hangs up,
// and fails the test if the server ends with another error than those that are fine.
func Serve(
	t testing.TB, framing wire.Framing,
	serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error, fine ...error,
) (p *Peer, stop func()) {
	t.Helper()
	in, out, p := New(framing)
	served := make(chan error, 1)
	go func() { served <- serve(t.Context(), in, out) }()
	return p, func() {
		p.Hangup()
		err := <-served
		if err != nil && !slices.ContainsFunc(fine, func(f error) bool { return errors.Is(err, f) }) {
			t.Errorf("Serve: %v", err)
		}
	}
}
