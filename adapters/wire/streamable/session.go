package streamable

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

const (
	// maxUnread limits the bytes of a stream that wait for a client before notifications are dropped.
	maxUnread = 4 << 20
	// primeAfter is the time after which a client that waits for an answer gets an event id, by which
	// it can come back for the answer.
	primeAfter = 500 * time.Millisecond
)

// session is a client's session, or all requests of 2026-07-28 that share a connection.
type session struct {
	handler *Handler
	client  Visitor
	id, key string // the id of a session, or the key of a shared connection
	place   *wire.Guest

	mu      sync.Mutex // guards the fields below, and those of the streams
	conn    Conn       // nil: it is being connected
	open    map[string]*stream
	order   []*stream          // open streams, oldest first
	streams map[string]*stream // streams that can be resumed, by id
	alone   *stream            // the stream of messages that belong to no request
	last    int                // the number of the newest stream
	headers ParamHeaders
	listed  bool // the tools have been listed
	over    bool
}

// stream has the messages that belong to a request, with its answer last, or to no request.
type stream struct {
	session *session
	id      string
	key     string // the request's key on its connection; "": no request
	method  string
	asked   json.RawMessage // the request's id
	wake    chan struct{}   // one place
	reader  chan struct{}   // closed when another connection reads the stream; nil: none does

	events []*event
	first  int  // the number of events[0], from 1
	read   int  // the number of the last event that an HTTP connection has taken
	unread int  // bytes
	named  bool // its events have ids, which the client was given
	done   bool // the answer has come, or nothing more will
}

// event is a message of a stream.
type event struct {
	of   *stream
	n    int // its number
	m    wire.Message
	size int
	kept bool // guarded by kept.mu
}

func (s *session) newStream(key, method string) *stream {
	s.last++
	return &stream{
		session: s,
		id:      strconv.Itoa(s.last),
		key:     key,
		method:  method,
		wake:    make(chan struct{}, 1),
		first:   1,
	}
}

// begin opens the stream of a request. Without a key it is given one.
func (s *session) begin(key string, m wire.Message) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.newStream(key, m.Method)
	x.asked = m.ID
	if key == "" {
		x.key = x.id
	}
	if s.open[x.key] == nil { // else it is refused
		s.open[x.key] = x
		s.order = append(s.order, x)
	}
	if s.over {
		x.done = true
	}
	return x
}

// send routes a message to the client. It is a wire.Send.
func (s *session) send(m wire.Message, within *wire.Call) {
	s.mu.Lock()
	x := s.toLocked(m, within)
	answer := m.Kind() == wire.Response
	drop := x == nil || x.done || x.unread > maxUnread && (m.Method == proto.NoteProgress || m.Method == proto.NoteMessage)
	var kept *event
	if !drop {
		size := len(m.Params) + len(m.Result) + len(m.Error) + len(m.Method)
		e := &event{of: x, n: x.first + len(x.events), m: m, size: size}
		x.events = append(x.events, e)
		x.unread += e.size
		x.done = answer
		if x.reader == nil && x.named {
			kept = e
		}
	}
	if answer && x != nil {
		s.forgetLocked(x)
		if x.method == proto.MethodListTools && m.Result != nil {
			s.listed = true
			s.headers.Learn(m.Result)
		}
	}
	s.mu.Unlock()
	if x != nil {
		x.rouse()
	}
	if kept != nil {
		s.handler.kept.add(kept)
	}
}

// toLocked finds the stream of a message; nil: the message is dropped.
func (s *session) toLocked(m wire.Message, within *wire.Call) *stream {
	if within != nil {
		return s.open[within.Key()]
	}
	if m.Kind() == wire.Response {
		return s.open[string(m.ID)]
	}
	alone := s.alone
	if s.client.Shared {
		alone = nil
	}
	if strings.HasSuffix(m.Method, "/list_changed") || m.Method == proto.NoteResourceUpdated {
		return alone
	}
	for _, x := range slices.Backward(s.order) { // other messages belong to the newest open request
		if x.method != proto.MethodListen {
			return x
		}
	}
	return alone
}

func (x *stream) rouse() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// forgetLocked removes an answered request from the open ones.
func (s *session) forgetLocked(x *stream) {
	if s.open[x.key] == x {
		delete(s.open, x.key)
		s.order = slices.DeleteFunc(s.order, func(o *stream) bool { return o == x })
	}
}

// left notes that the client has hung up on a request. If the stream's events have ids, they are
// kept until the client comes back.
func (s *session) left(x *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client.Shared {
		s.forgetLocked(x)
	}
	if !x.named {
		x.events, x.done = nil, x.done || s.client.Shared
	}
}

// await waits for the answer. false: ctx has ended.
func (x *stream) await(ctx context.Context) bool {
	for {
		x.session.mu.Lock()
		done := x.done && len(x.events) > 0
		x.session.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-x.wake:
		case <-ctx.Done():
			return false
		}
	}
}

// take makes an HTTP connection the reader of a stream after the event from, instead of any other.
// false: those events are not kept any more.
func (x *stream) take(from int) (reader chan struct{}, ok bool) {
	s := x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if from < x.first-1 {
		return nil, false
	}
	if x.reader != nil {
		close(x.reader)
	}
	x.reader = make(chan struct{})
	return x.reader, true
}

// next returns the events after a number, and reports whether they are the last.
func (x *stream) next(after int) (list []*event, last bool) {
	s := x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	at := max(after+1-x.first, 0)
	if at < len(x.events) {
		list = slices.Clone(x.events[at:])
	}
	if n := x.first + len(x.events) - 1; n > x.read {
		x.read = n
	}
	x.unread = 0
	return list, x.done
}

// leave ends the reading of a stream. Events that were not read are kept, within limits.
func (x *stream) leave(reader chan struct{}) {
	s := x.session
	s.mu.Lock()
	var rest []*event
	if x.reader == reader {
		x.reader = nil
		if at := max(x.read+1-x.first, 0); x.named && at < len(x.events) {
			rest = slices.Clone(x.events[at:])
		}
	}
	s.mu.Unlock()
	for _, e := range rest {
		s.handler.kept.add(e)
	}
}

// follow writes the rest of a stream after an event: an answer alone as JSON, else events. It
// returns false if the client has left before the end.
func (s *session) follow(w http.ResponseWriter, r *http.Request, x *stream, after int, events bool) bool {
	reader, ok := x.take(after)
	if !ok {
		http.Error(w, "the events behind this one are not kept any more", http.StatusBadRequest)
		return false
	}
	defer x.leave(reader)
	o := &output{w: w, ids: !s.client.Shared}
	if events || x.method == proto.MethodListen {
		o.begin(x)
	}
	var prime <-chan time.Time
	if o.ids && r.Header.Get(proto.HeaderVersion) >= proto.Legacy {
		t := time.NewTimer(primeAfter)
		defer t.Stop()
		prime = t.C
	}
	for {
		list, last := x.next(after)
		if n := len(list); n > 0 {
			after = list[n-1].n
			if !o.begun && last && n == 1 {
				o.whole(s.client.Shared, list[0].m)
				return true
			}
			if !o.events(x, list) {
				return false
			}
		}
		if last {
			if after == 0 && !o.begun {
				Refuse(w, http.StatusOK, x.asked, wire.ErrClosed)
			}
			return true
		}
		select {
		case <-x.wake:
		case <-prime:
			if !o.begun {
				o.begin(x)
				o.prime(x)
			}
		case <-reader:
			return true // another HTTP connection reads now
		case <-r.Context().Done():
			return false
		}
	}
}

// listen writes the stream of messages that belong to no request, or the missed events of another
// stream (Last-Event-ID).
func (s *session) listen(w http.ResponseWriter, r *http.Request) {
	x, after := s.alone, 0
	s.mu.Lock()
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		id, n, _ := strings.Cut(last, "_")
		x = s.streams[id]
		after, _ = strconv.Atoi(n)
	} else {
		after = max(x.read, x.first-1)
	}
	busy := x == s.alone && r.Header.Get("Last-Event-ID") == "" && x.reader != nil
	s.mu.Unlock()
	switch {
	case x == nil:
		http.Error(w, "there is no such event", http.StatusBadRequest)
	case busy:
		http.Error(w, "such a stream is open already", http.StatusConflict)
	default:
		s.follow(w, r, x, max(after, 0), true)
	}
}

// works reports whether the client has an open request, or is busy without one.
func (s *session) works() bool {
	s.mu.Lock()
	open, conn := len(s.open) > 0, s.conn
	s.mu.Unlock()
	return open || conn != nil && conn.Works()
}

// end ends the connection and all streams.
func (s *session) end() {
	s.mu.Lock()
	conn, first := s.conn, !s.over
	s.over = true
	open := append(slices.Collect(maps.Values(s.open)), s.alone)
	s.mu.Unlock()
	if !first {
		return
	}
	if conn != nil {
		conn.Close()
	}
	s.mu.Lock()
	s.streams = map[string]*stream{}
	for _, x := range open {
		x.done = true
	}
	s.mu.Unlock()
	for _, x := range open {
		x.rouse()
	}
}
