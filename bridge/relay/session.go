package relay

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core/access"
)

// httpSession is a client's session, or all requests of 2026-07-28 of a holder,
// and the connection to the server that is theirs.
type httpSession struct {
	relay    *Server
	calls    *streamable.Calls
	id       string // "": of no session
	of       access.Holder
	view     *upstream.View
	patience *patience
	link     *upstream.Link
	out      *serverStream
	secret   string        // begins the ids of our own requests, which no client can guess
	done     chan struct{} // closed when the connection has ended
	place    *wire.Guest

	mu      sync.Mutex // guards the fields below
	last    int64      // the number of the newest request of 2026-07-28, or of our own
	open    map[string]*exchange
	order   []*exchange // those that are open, oldest first
	tokens  map[string]*exchange
	stream  *exchange // the client's open stream for messages that belong to no request
	headers streamable.ParamHeaders
	client  string          // as it introduced itself
	offers  upstream.Offers // likewise
	kept    [][]byte        // for the stream that is not open
	ended   bool
}

// send sends a message to the server. It blocks while the server does not read.
func (s *httpSession) send(ctx context.Context, line []byte) {
	if s.out.Room(ctx, wire.PumpRoom) == nil {
		_ = s.out.Put(line) // the reading end notices
	}
}

// works reports whether a request is open.
func (s *httpSession) works() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

// close ends the session and waits for that.
func (s *httpSession) close() {
	s.link.In.Close()
	s.out.Close()
	<-s.done
}

// read routes the server's messages until it ends.
func (s *httpSession) read() {
	frames := s.out
	for {
		line, err := frames.Next()
		if err != nil {
			if _, ok := err.(*wire.FrameError); ok { //nolint:errorlint // as it is returned
				continue
			}
			return
		}
		if m, err := wire.ParseFrom(frames, line); err == nil {
			s.route(line, m)
		}
	}
}

// route finds the stream that a message belongs to.
func (s *httpSession) route(line []byte, m wire.Message) {
	if m.Method == proto.NoteToolsChanged {
		s.view.Stale()
	}
	s.patience.heard(m) // a late answer finds no exchange below
	s.mu.Lock()
	var to *exchange
	answer := m.Kind() == wire.Response
	switch {
	case answer:
		if to = s.open[string(m.ID)]; to != nil {
			s.forgetLocked(to, string(m.ID))
		}
	case m.Method == proto.NoteProgress:
		var n struct {
			Token json.RawMessage `json:"progressToken"`
		}
		if wire.Unmarshal(m.Params, &n) == nil {
			to = s.tokens[string(n.Token)]
		}
	case strings.HasSuffix(m.Method, "/list_changed") || m.Method == proto.NoteResourceUpdated || strings.HasPrefix(m.Method, "notifications/subscriptions/"):
		to = s.subscribedLocked(m)
	default: // assume that the newest request has caused it
		to = s.stream
		for _, x := range s.order {
			if x.method != proto.MethodListen && !x.own {
				to = x
			}
		}
	}
	if to == nil && !answer && s.id != "" && len(s.kept) < maxKept {
		s.kept = append(s.kept, line)
	}
	s.mu.Unlock()
	if to == nil {
		return
	}
	if answer {
		line = s.answered(to, line, m)
	} else if to.token != nil && m.Method == proto.NoteProgress {
		line = withParam(line, m, proto.MetaToken, to.token)
	} else if to.method == proto.MethodListen {
		line = withSubscription(line, m, to.id)
	}
	select {
	case to.lines <- output{line, answer, m.Error}:
	case <-to.gone:
	}
}

// subscribedLocked finds the stream of what changes in a server: that of the
// subscription it names, else the one that is open for such things.
func (s *httpSession) subscribedLocked(m wire.Message) *exchange {
	if s.id != "" {
		return s.stream
	}
	var n struct {
		Meta struct {
			ID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &n) == nil && n.Meta.ID != nil {
		if x := s.open[string(n.Meta.ID)]; x != nil {
			return x
		}
	}
	for _, x := range s.order {
		if x.method == proto.MethodListen {
			return x
		}
	}
	return nil
}

func (s *httpSession) forgetLocked(x *exchange, id string) {
	delete(s.open, id)
	for token, o := range s.tokens {
		if o == x {
			delete(s.tokens, token)
		}
	}
	for i, o := range s.order {
		if o == x {
			s.order = slices.Delete(s.order, i, i+1)
			return
		}
	}
}

// answered handles an answer, and returns the line for the client.
func (s *httpSession) answered(x *exchange, line []byte, m wire.Message) []byte {
	switch x.method {
	case proto.MethodInitialize:
		s.view.Settled(versionOf(m.Result))
		s.link.Settled(proto.Legacy) // a program does not need to know
	case proto.MethodListTools:
		s.mu.Lock()
		s.headers.Learn(m.Result)
		s.mu.Unlock()
		if x.own || m.Result == nil {
			break
		}
		if result := s.view.Shown(x.cursor, m.Result); !sameBytes(result, m.Result) {
			line = wire.Edit(line, wire.Set("result", result))
		}
	case proto.MethodCallTool:
		x.call.Answered(m, len(line))
	}
	if !x.own {
		line = s.out.listed(x.method, line, m)
	}
	if s.id == "" && x.id != nil {
		line = withID(line, x.id)
	}
	return line
}

// lost ends the open requests and the stream when the server has ended.
func (s *httpSession) lost() {
	s.mu.Lock()
	open, stream := s.open, s.stream
	s.open, s.order, s.tokens, s.stream, s.ended = map[string]*exchange{}, nil, map[string]*exchange{}, nil, true
	s.mu.Unlock()
	why := "the MCP server " + s.relay.export.Server.Name + ": " + s.link.Why()
	for _, x := range open {
		if x.own {
			close(x.lines)
			continue
		}
		x.call.End(upstream.OutcomeError, 0)
		select {
		case x.lines <- output{line: wire.AppendAnswer(nil, x.id, nil, jrpc2.Errorf(jrpc2.InternalError, "%s", why)), answer: true}:
		case <-x.gone:
		}
		close(x.lines)
	}
	if stream != nil {
		close(stream.lines)
	}
}
