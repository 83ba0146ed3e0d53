package upstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/login"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/child/piped"
	"dragoman/core/display"
)

// Endpoint is the place of a server: a program to start, or an address.
type Endpoint struct {
	Command string
	Args    []string
	Env     map[string]string // in addition to the safe part of ours
	Dir     string            // "": the session's folder

	URL     string
	Headers map[string]string // sent with every request
	SSE     bool              // the transport of 2024-11-05: a stream, and an address to post to
	OAuth   login.Config      // for a login; a header Authorization disables that
}

// Folder stands for the folder of the session in the texts of an Endpoint; only the code that
// starts the server knows the folder. No argument, variable or address can contain this text.
const Folder = "\x00folder\x00"

// In returns the endpoint for a session in dir.
func (e Endpoint) In(dir string) Endpoint {
	dir = cmp.Or(dir, ".")
	in := func(s string) string { return strings.ReplaceAll(s, Folder, dir) }
	each := func(texts map[string]string) map[string]string {
		texts = maps.Clone(texts)
		for name, text := range texts {
			texts[name] = in(text)
		}
		return texts
	}
	e.Command, e.URL, e.Dir = in(e.Command), in(e.URL), cmp.Or(in(e.Dir), dir)
	e.Args, e.Env, e.Headers = slices.Clone(e.Args), each(e.Env), each(e.Headers)
	for i, arg := range e.Args {
		e.Args[i] = in(arg)
	}
	return e
}

// Remote reports whether the server is an address.
func (e Endpoint) Remote() bool { return e.URL != "" }

// Link is a stream of messages to a server and back, one a line, over any transport. A wire.Conn
// uses it.
type Link struct {
	In  io.ReadCloser
	Out io.WriteCloser
	// Whole: every message of the server arrives, in the order of the stream. Over HTTP those that
	// belong to no request may be missed.
	Whole bool
	// Settled receives the negotiated version.
	Settled func(version string)
	// Close ends the transport of the link, and waits for that.
	Close func()
	// Why describes the end of the link; it is called after Close.
	Why func() string
}

// Frames returns the messages from the server. One that parses them (wire.Parser) is not read as a
// stream, whose lines would be looked for again.
func (l *Link) Frames() wire.Framer {
	if f, ok := l.In.(wire.Framer); ok {
		return f
	}
	return wire.Lines(l.In, MaxMessage)
}

// dialer opens links.
type dialer struct {
	environ []string
	guard   *child.Guard // starts programs
	confine Confine      // starts them instead; nil: nothing does
	session core.Meta    // whose folders these work in; without a folder: the endpoint's
	ask     Ask          // its user; nil: nobody can be asked
	client  func(Endpoint) *http.Client
	limit   int // in bytes, for one message
	// whole: unintelligible messages are not corrected, because they are passed on.
	whole bool
	// junk receives a server's output outside of the protocol: on standard error, or between the
	// messages.
	junk func(line string)
	// warn receives faults of a server that cost something.
	warn func(text string)
	// learn receives a server's configuration, and hide removes the secret part of it from the
	// server's output.
	learn func(Endpoint)
	hide  func(text string) string
	// listening is called when a server at an address can send its own messages, for the first
	// time or again.
	listening func()
}

// dial opens a link. It does not wait for a message of the server.
func (d dialer) dial(e Endpoint) (*Link, error) {
	d.learn(e)
	if e.Remote() {
		return d.dialHTTP(e)
	}
	return d.dialStdio(e)
}

// dialHTTP opens a link to an address.
func (d dialer) dialHTTP(e Endpoint) (*Link, error) {
	client := streamable.NewClient
	if e.SSE {
		client = streamable.NewOlderClient
	}
	c, err := client(streamable.Options{
		URL:     e.URL,
		Headers: e.Headers,
		HTTP:    d.client(e),
		Limit:   d.limit,
		Explain: display.WithoutURL,
		Warn:    d.warn,
		Plain:   display.Plain,
		WantsLogin: func(err error) (error, bool) {
			var wants *login.RequiredError
			if !errors.As(err, &wants) {
				return nil, false
			}
			return wants, !wants.More && !d.whole // a relay's client may continue once there is a login
		},
		Listening: d.listening,
	})
	if err != nil {
		return nil, err
	}
	return &Link{In: c.Lines(), Out: c, Settled: c.Settled, Close: c.Shut, Why: c.Why}, nil
}

func (d dialer) dialStdio(e Endpoint) (*Link, error) {
	guard, release := d.guard, func() {}
	if d.confine != nil {
		m := d.session
		m.Cwd = cmp.Or(m.Cwd, e.Dir)
		var err error
		if guard, release, err = d.confine(rand.Text(), m, d.ask); err != nil {
			return nil, fmt.Errorf("start %s: %w", e.Command, err)
		}
	}
	p, err := piped.Command{
		Path:  e.Command,
		Args:  e.Args,
		Env:   piped.Env(d.environ, nil, e.Env),
		Dir:   e.Dir,
		Line:  d.junk,
		Hide:  d.hide,
		Guard: guard,
	}.Start()
	if err != nil {
		release()
		return nil, err
	}
	s := &sieve{in: p.Stdout, frames: wire.Lines(p.Stdout, d.limit), junk: d.junk, whole: d.whole}
	return &Link{
		In: s, Out: p.Stdin, Whole: true,
		Close: func() {
			p.Close(politeFor/2, politeFor/2)
			release()
		},
		Settled: func(string) {},
		Why:     p.Why,
	}, nil
}

// sieve passes lines that are messages. Other output of a server on its standard output (banners,
// logs) goes to junk and does no harm; in particular it is not answered, because a reader of our
// answers may be as careless as the writer of those lines.
type sieve struct {
	in     io.ReadCloser
	frames wire.Framer
	junk   func(string)
	whole  bool
	line   []byte // the unread part of the current line
	parsed wire.Message
	valid  bool // parsed is the line returned by Next
}

// politeFor is the time that a program may take to end: half of it after its input has ended,
// the rest after a request to end.
const politeFor = 2 * time.Second

// maxJunk limits the part of a line that is passed to junk, in bytes.
const maxJunk = 1000

// Read implements io.Reader.
func (s *sieve) Read(b []byte) (int, error) {
	if len(s.line) == 0 {
		line, err := s.Next()
		if err != nil {
			return 0, err
		}
		s.line = append(line, '\n')
	}
	n := copy(b, s.line)
	s.line = s.line[n:]
	return n, nil
}

// Next implements wire.Framer, so that a line is not put into a stream and cut out of it again.
func (s *sieve) Next() ([]byte, error) {
	for {
		line, err := s.frames.Next()
		s.valid = false
		if err != nil {
			fault, ok := errors.AsType[*wire.FrameError](err)
			if !ok {
				return nil, err
			}
			s.drop([]byte(fault.Error()))
			if line = oversized(fault, s.frames); line != nil {
				return line, nil
			}
			continue
		}
		if line = s.pass(line); line != nil {
			return line, nil
		}
	}
}

// Parsed implements wire.Parser.
func (s *sieve) Parsed() (wire.Message, bool) { return s.parsed, s.valid }

// pass returns the line to read in place of a given one; nil: none.
func (s *sieve) pass(line []byte) []byte {
	if line[0] == '[' {
		return s.batch(line)
	}
	if line[0] != '{' {
		s.drop(line)
		return nil
	}
	m, err := wire.Parse(line)
	if m.Kind() == wire.Response && s.whole {
		s.parsed, s.valid = m, err == nil
		return line
	}
	if m.Kind() == wire.Response && m.ID == nil && m.Error != nil {
		s.drop(m.Error) // it may still be the answer to a request
		return line
	}
	if err != nil {
		s.drop(line)
		return nil
	}
	s.parsed, s.valid = m, true
	return line
}

// batch returns the messages in an array (a batch of 2025-03-26), as one; nil: there are none, as in an
// array that is a line of a log.
func (s *sieve) batch(line []byte) []byte {
	var items, messages []json.RawMessage
	if json.Unmarshal(line, &items) == nil {
		for _, item := range items {
			if _, err := wire.Parse(item); err == nil && len(item) > 0 && item[0] == '{' {
				messages = append(messages, item)
			}
		}
	}
	switch len(messages) {
	case 0:
		s.drop(line)
		return nil
	case len(items):
		return line
	default:
		s.drop(line)
		return wire.JSON(messages)
	}
}

func (s *sieve) drop(line []byte) {
	if s.junk != nil {
		s.junk(strings.ToValidUTF8(string(line[:min(len(line), maxJunk)]), "\uFFFD"))
	}
}

// Close implements io.Closer; it ends a running Read.
func (s *sieve) Close() error { return s.in.Close() }

// Within is context.WithTimeout with a cause that names the slow operation.
func Within(ctx context.Context, d time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, timeoutCause{what})
}

// timeoutCause is a cause that names the slow operation.
type timeoutCause struct{ what string }

func (e timeoutCause) Error() string { return e.what }

// Is makes it equal to the end of a deadline.
func (timeoutCause) Is(target error) bool { return target == context.DeadlineExceeded }
