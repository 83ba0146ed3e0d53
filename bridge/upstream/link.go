package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/login"
	"dragoman/core/child"
	"dragoman/core/display"
)

// Endpoint is where a server is: a program that is started, or an address.
type Endpoint struct {
	Command string
	Args    []string
	Env     map[string]string // beside the safe part of ours
	Dir     string            // "": the session's folder

	URL     string
	Headers map[string]string // sent with every request
	SSE     bool              // the transport of 2024-11-05: a stream, and an address to post to
	OAuth   login.Config      // for a login; a header Authorization turns that off
}

// Folder stands in the texts of an Endpoint for the folder of the session, which only who starts
// the server knows. It is nothing that an argument, a variable or an address can hold.
const Folder = "\x00folder\x00"

// In returns the endpoint as it is for a session in dir.
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

// Link is a stream of messages to a server and back, one a line, whatever carries
// them. A wire.Conn is spoken over it.
type Link struct {
	In  io.ReadCloser
	Out io.WriteCloser
	// Settled is told which version was agreed on.
	Settled func(version string)
	// Close ends what carries the link, and waits for that.
	Close func()
	// Why says how the link ended, in words; it is called after Close.
	Why func() string
}

// dialer makes links.
type dialer struct {
	environ []string
	guard   *child.Guard // starts programs
	client  func(Endpoint) *http.Client
	limit   int // bytes of one message
	// whole: what cannot be understood is not mended, for it is handed on.
	whole bool
	// junk is told what a server says outside of the protocol: on standard error, or
	// between the messages.
	junk func(line string)
	// learn is told what a server is given, and hide takes the secret part of it out of
	// what it says.
	learn func(Endpoint)
	hide  func(text string) string
	// listening is called when a server at an address can say something unasked, at
	// first or again.
	listening func()
}

// dial opens a link. It does not wait for the server to say anything.
func (d dialer) dial(e Endpoint) (*Link, error) {
	d.learn(e)
	if e.Remote() {
		return d.dialHTTP(e)
	}
	return d.dialStdio(e)
}

// dialHTTP makes a link to an address.
func (d dialer) dialHTTP(e Endpoint) (*Link, error) {
	client := streamable.NewClient
	if e.SSE {
		client = streamable.NewOlderClient
	}
	c, err := client(streamable.Options{
		URL: e.URL, Headers: e.Headers, HTTP: d.client(e), Limit: d.limit, Explain: display.WithoutURL, Plain: display.Plain,
		WantsLogin: func(err error) (error, bool) {
			var wants *login.RequiredError
			if !errors.As(err, &wants) {
				return nil, false
			}
			return wants, !wants.More && !d.whole // a relay's client may go on once there is a login
		},
		Listening: d.listening,
	})
	if err != nil {
		return nil, err
	}
	return &Link{In: c.Lines(), Out: c, Settled: c.Settled, Close: c.Shut, Why: c.Why}, nil
}

func (d dialer) dialStdio(e Endpoint) (*Link, error) {
	p, err := command{
		path:  e.Command,
		args:  e.Args,
		env:   childEnv(d.environ, e.Env),
		dir:   e.Dir,
		line:  d.junk,
		hide:  d.hide,
		guard: d.guard,
	}.start()
	if err != nil {
		return nil, err
	}
	s := &sieve{in: p.stdout, frames: wire.Lines(p.stdout, d.limit), junk: d.junk, whole: d.whole}
	return &Link{
		In: s, Out: p.stdin, Close: p.close,
		Settled: func(string) {},
		Why:     p.why,
	}, nil
}

// sieve lets through the lines that are messages. What else a server prints on its
// standard output (banners, logs) is told to junk and harms nothing; in particular
// it is not answered, since a reader of our answers may be as careless as the
// writer of those lines.
type sieve struct {
	in     io.ReadCloser
	frames wire.Framer
	junk   func(string)
	whole  bool
	line   []byte // what of the current line was not read yet
	parsed wire.Message
	valid  bool // parsed is the line that Next returned
}

// maxJunk is how much of a line that is no message is told, in bytes.
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

// Next implements wire.Framer, so that a line is not put into a stream again to be cut out of it.
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

// pass returns the line to read in the place of one that came; nil: none.
func (s *sieve) pass(line []byte) []byte {
	if line[0] == '[' && json.Valid(line) {
		return line // a batch of 2025-03-26
	}
	if line[0] != '{' {
		s.drop(line)
		return nil
	}
	m, err := wire.Parse(line)
	if m.Kind() == wire.Response && s.whole {
		return line
	}
	if m.Kind() == wire.Response && m.ID == nil && m.Error != nil {
		s.drop(m.Error) // it may be the answer to a request all the same
		return line
	}
	if err != nil {
		s.drop(line)
		return nil
	}
	s.parsed, s.valid = m, true
	return line
}

func (s *sieve) drop(line []byte) {
	if s.junk != nil {
		s.junk(strings.ToValidUTF8(string(line[:min(len(line), maxJunk)]), "\uFFFD"))
	}
}

// Close implements io.Closer; it ends a Read that is under way.
func (s *sieve) Close() error { return s.in.Close() }

// Within is context.WithTimeout with a cause that says what took too long.
func Within(ctx context.Context, d time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, timeoutOf{what})
}

// timeoutOf is a cause that says what took too long.
type timeoutOf struct{ what string }

func (e timeoutOf) Error() string { return e.what }

// Is makes it a deadline's end for those who look for that.
func (timeoutOf) Is(target error) bool { return target == context.DeadlineExceeded }
