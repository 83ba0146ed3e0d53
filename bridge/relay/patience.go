package relay

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
)

// patience gives up requests on one connection whose server shows no sign of life for too long:
// an initialize after the server's start timeout, and a call after its call timeout. Progress is a
// sign of life, and while a question of the server's is with the client no time passes.
type patience struct {
	server upstream.Server

	mu     sync.Mutex        // guards the fields below
	open   map[string]*await // by the request's id
	asking map[string]bool   // the ids of the server's questions that are with the client
	late   map[string]bool   // the ids of requests that were given up and not answered since
}

// await is a request that the server is to answer.
type await struct {
	token string // for its progress
	limit time.Duration
	timer *time.Timer
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
	a := &await{token: string(token), limit: limit}
	a.timer = time.AfterFunc(limit, func() {
		if p.over(string(id), a) {
			giveUp(errSilent(p.server, method))
		}
	})
	p.open[string(id)] = a
}

// over reports whether a request whose clock has run down is to be given up.
func (p *patience) over(id string, a *await) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[id] != a {
		return false
	}
	if len(p.asking) > 0 {
		a.timer.Reset(a.limit)
		return false
	}
	delete(p.open, id)
	p.late[id] = true
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
		p.asking[string(m.ID)] = true
	case m.Method == proto.NoteCancelled:
		delete(p.asking, string(streamable.CancelledID(m.Params)))
	case m.Method == proto.NoteProgress:
		var n upstream.Progress
		if wire.Unmarshal(m.Params, &n) != nil {
			return false
		}
		for _, a := range p.open {
			if a.token != "" && a.token == string(n.Token) {
				a.timer.Reset(a.limit)
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
	if !p.asking[string(id)] {
		return
	}
	delete(p.asking, string(id))
	for _, a := range p.open {
		a.timer.Reset(a.limit)
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
		a.timer.Stop()
		delete(p.open, id)
	}
}

// close stops all clocks.
func (p *patience) close() { p.cut() }

// cut stops all clocks, because the connection has ended, and returns the ids of the questions of
// the server's that are with the client.
func (p *patience) cut() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.open {
		p.endLocked(id)
	}
	asking := slices.Sorted(maps.Keys(p.asking))
	p.asking, p.late = map[string]bool{}, map[string]bool{}
	return asking
}
