package relay

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/bridge/upstream/silence"
)

// patience gives up requests on one connection whose server shows no sign of life for too long:
// an initialize after the server's start timeout, and a call after its call timeout. Progress is a
// sign of life, and while a question of the server's is with the client no time passes.
type patience struct {
	server  upstream.Server
	silence silence.Watch

	mu     sync.Mutex        // guards the fields below
	open   map[string]*await // by the request's id
	asking map[string]bool   // the ids of the server's questions that are with the client
	late   map[string]bool   // the ids of requests that were given up and not answered since
}

// await is a request that the server is to answer.
type await struct {
	of     *patience
	id     string
	method string
	token  string // for its progress
	giveUp func(error)
}

// Silent implements silence.Request.
func (a *await) Silent() {
	if a.of.isOverdue(a) {
		a.giveUp(errSilent(a.of.server, a.method))
	}
}

func newPatience(s upstream.Server) *patience {
	return &patience{
		server: s,
		open:   map[string]*await{},
		asking: map[string]bool{},
		late:   map[string]bool{},
	}
}

// limitOf returns how long a server may show no sign of life during a request; 0: for ever.
func limitOf(s upstream.Server, method string) time.Duration {
	switch method {
	case proto.MethodInitialize:
		return s.StartFor()
	case proto.MethodCallTool, proto.MethodGetPrompt, proto.MethodReadResource:
		return s.CallTimeout
	}
	return 0
}

// errSilent reports a request that was given up.
func errSilent(s upstream.Server, method string) error {
	limit := limitOf(s, method)
	if method == proto.MethodInitialize {
		return jrpc2.Errorf(jrpc2.InternalError,
			"the MCP server %s did not answer within %v of its start", s.Name, limit)
	}
	return jrpc2.Errorf(jrpc2.InternalError,
		"the MCP server %s gave no sign of life for %v; the call was given up", s.Name, limit)
}

// begin starts the clock of a request; giveUp is called, in a goroutine of its own, when its time
// is over.
func (p *patience) begin(id json.RawMessage, method string, token json.RawMessage, giveUp func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.late, string(id))
	limit := limitOf(p.server, method)
	if limit <= 0 {
		return
	}
	p.endLocked(string(id))
	a := &await{p, string(id), method, string(token), giveUp}
	p.open[a.id] = a
	p.silence.Begin(a, limit)
}

// isOverdue reports whether a request that the server has been silent for is to be given up: it is
// not if its answer has come meanwhile.
func (p *patience) isOverdue(a *await) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[a.id] != a {
		return false
	}
	delete(p.open, a.id)
	p.late[a.id] = true
	return true
}

// heard takes note of a message of the server's. It reports whether that answers a request which
// was given up.
func (p *patience) heard(m wire.Message) (late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case m.Kind() == wire.Response:
		late = p.late[string(m.ID)]
		delete(p.late, string(m.ID))
		p.endLocked(string(m.ID))
	case m.Kind() == wire.Request:
		if id := string(m.ID); !p.asking[id] {
			p.asking[id] = p.silence.Ask(math.MaxInt)
		}
	case m.Method == proto.NoteCancelled:
		p.answeredLocked(streamable.CancelledID(m.Params))
	case m.Method == proto.NoteProgress:
		var n upstream.Progress
		if wire.Unmarshal(m.Params, &n) != nil {
			return false
		}
		for _, a := range p.open {
			if a.token != "" && a.token == string(n.Token) {
				p.silence.Sign(a)
			}
		}
	}
	return late
}

// answered notes that the client has answered a question of the server's, which begins to work
// again.
func (p *patience) answered(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answeredLocked(id)
}

func (p *patience) answeredLocked(id json.RawMessage) {
	if p.asking[string(id)] {
		delete(p.asking, string(id))
		p.silence.Answered()
	}
}

// end stops the clock of a request.
func (p *patience) end(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked(string(id))
}

func (p *patience) endLocked(id string) {
	if a := p.open[id]; a != nil {
		p.silence.End(a)
		delete(p.open, id)
	}
}

// close stops all clocks. No other begins.
func (p *patience) close() {
	p.cut()
	p.silence.Close()
}

// cut stops all clocks, because the connection has ended, and returns the ids of the questions of
// the server's that are with the client.
func (p *patience) cut() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.open {
		p.endLocked(id)
	}
	asking := slices.Sorted(maps.Keys(p.asking))
	for range asking {
		p.silence.Answered()
	}
	p.asking, p.late = map[string]bool{}, map[string]bool{}
	return asking
}
