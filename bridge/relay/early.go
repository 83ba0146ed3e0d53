package relay

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
)

// serverStream carries messages to a server and back as they were written, unless the server speaks the
// early dialect and the client does not. Messages pass the edge for that dialect until the server's
// version is known, and afterwards if it is a number.
//
// A server that refuses a version with a date is offered the number. If it accepts that, the client's own
// version is the one in the answer; if it refuses the number as well, or ends, the client gets the first
// refusal.
//
// One goroutine reads; the other methods may be called by many.
type serverStream struct {
	*wire.Writer
	frames wire.Framer
	edge   wire.Edge
	plain  atomic.Bool // messages do not pass the edge
	edged  bool        // the message that was read last has passed the edge

	mu      sync.Mutex   // guards the fields below
	hello   wire.Message // the client's initialize that is not answered
	refused []byte       // the server's refusal of hello, which has been offered again with the number
	early   bool         // the server has answered with the number
}

// newServerStream returns the stream of a link. Servers of the early dialect are programs; their errors
// belong to requests only where no message is missed.
func newServerStream(l *upstream.Link) *serverStream {
	s := &serverStream{Writer: wire.NewWriter(l.Out, wire.Newline), frames: l.Frames(), edge: upstream.VersionEdge()}
	s.plain.Store(!l.Whole)
	return s
}

// Put queues a message to the server.
func (s *serverStream) Put(line []byte) error {
	if s.plain.Load() {
		return s.Writer.Put(line)
	}
	if m, err := wire.Parse(line); err == nil && m.Method == proto.MethodInitialize {
		s.mu.Lock()
		s.hello = wire.Message{ID: bytes.Clone(m.ID), Params: bytes.Clone(m.Params)}
		s.mu.Unlock()
		s.plain.Store(numberOf(m.Params) != "")
	}
	return s.pass(line)
}

// pass queues a message that the edge must know.
func (s *serverStream) pass(line []byte) error {
	s.edge.Send(nil, line) // notes the request, and changes no message
	return s.Writer.Put(line)
}

// Next implements wire.Framer.
func (s *serverStream) Next() ([]byte, error) {
	for {
		line, err := s.frames.Next()
		if s.edged = err == nil && !s.plain.Load(); s.edged {
			line = s.settle(s.edge.Read(line))
		}
		if err != nil {
			if line = s.last(); line != nil {
				return line, nil
			}
		}
		if line != nil || err != nil {
			return line, err
		}
	}
}

// Parsed implements wire.Parser.
func (s *serverStream) Parsed() (m wire.Message, ok bool) {
	if p, is := s.frames.(wire.Parser); is && !s.edged {
		return p.Parsed()
	}
	return m, false
}

// last returns the refusal of an initialize that will have no other answer, since the server has ended;
// nil: there is none.
func (s *serverStream) last() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.refused
	s.refused = nil
	return line
}

// settle handles an answer of the server's by which its version may become known. It returns the line for
// the client; nil: there is none.
func (s *serverStream) settle(line []byte) []byte {
	m, err := wire.Parse(line)
	if err != nil || m.Kind() != wire.Response {
		return line
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.ID == nil || string(m.ID) != string(s.hello.ID) {
		if m.Result != nil && !s.early {
			s.plain.Store(true) // a server of 2026-07-28 has no initialize
		}
		return line
	}
	hello, refused := s.hello, s.refused
	s.hello, s.refused = wire.Message{}, nil
	var asked string
	_ = json.Unmarshal(versionOf(hello.Params), &asked) // anything else is no version
	switch _, fault := resultOf(m); {
	case fault != nil && refused != nil:
		return refused
	case fault != nil && upstream.WantsNumber(asked, fault):
		s.hello, s.refused = hello, bytes.Clone(line)
		_ = s.pass(requestLine(hello.ID, proto.MethodInitialize, withVersion(hello.Params, proto.Numbered))) // the reader notices
		return nil
	case fault != nil:
		return line
	case numberOf(m.Result) == "":
		s.plain.Store(true)
		return line
	}
	s.early = true
	if !proto.IsLegacy(asked) {
		asked = proto.Legacy
	}
	return wire.Edit(line, wire.Set("result", withVersion(m.Result, string(wire.JSON(asked)))))
}

// withVersion replaces the version, which is JSON, in the parameters of initialize or in its result.
func withVersion(object json.RawMessage, version string) json.RawMessage {
	return wire.Edit(object, wire.Set("protocolVersion", json.RawMessage(version)))
}

// earlyLists are the lists that the early dialect lacks, empty, by their methods.
var earlyLists = map[string]json.RawMessage{
	proto.MethodListTools:     json.RawMessage(`{"tools":[]}`),
	proto.MethodListTemplates: json.RawMessage(`{"resourceTemplates":[]}`),
}

// listed returns the line for the client in place of an answer: a list that a server of the early
// dialect refuses is empty.
func (s *serverStream) listed(method string, line []byte, m wire.Message) []byte {
	if m.Error == nil || earlyLists[method] == nil {
		return line
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.early {
		return line
	}
	return wire.AppendAnswer(nil, m.ID, earlyLists[method], nil)
}
