package aggregate

import (
	"context"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// maxTasks limits the tasks whose servers are remembered.
const maxTasks = 4096

// hasTasks reports whether the tasks of 2025-11-25 are declared. Only servers have them.
func (s *side) hasTasks() bool { return len(s.parts()) > 1 && s.version == proto.Legacy }

// task passes a request about a task to its server. A task that is not remembered, perhaps from
// before a restart, is looked up at the servers.
func (s *side) task(call *wire.Call, q request) {
	declared := s.hasTasks() && call.Method != proto.MethodUpdateTask
	if declared && q.task == "" {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: the parameter taskId is missing", call.Method))
		return
	}
	if r, ok := s.caller.tasks.find(q.task); ok && s.partOf(r.server) != nil {
		s.relayTask(s.partOf(r.server), call, q.about(r.name))
		return
	}
	s.aside(func() {
		p, own := s.seekTask(call.Context(), q)
		if declared && p.agent() { // our agent has no tasks at that version
			call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "there is no task %.100q", q.task))
			return
		}
		s.relayTask(p, call, q.about(own))
	})
}

func (s *side) relayTask(p *part, call *wire.Call, q request) {
	x := s.newPass(p, call, q)
	x.send()
}

// seekTask asks the servers that have tasks for one, and returns the server's own id for it. If none
// knows it, it returns our agent.
func (s *side) seekTask(ctx context.Context, q request) (p *part, own string) {
	for _, p := range s.parts() {
		own, marked := unmarked(q.task, p.server.Name)
		if !marked {
			own = q.task
		}
		peer := p.running()
		if peer == nil || !p.agent() && !peer.Caps.HasTasks() && peer.Caps.Extensions.Tasks == nil {
			continue
		}
		if p.agent() && !s.modern() {
			continue // our agent has no tasks at these versions
		}
		x := &pass{
			part:   p,
			method: proto.MethodGetTask,
			q:      request{params: wire.JSON(map[string]string{"taskId": own}), meta: q.meta},
		}
		x.q.params = wire.Edit(x.q.params, wire.Set("_meta", orObject(q.meta)))
		if peer.Conn.Ask(ctx, x.method, x.params(peer, nil), nil) == nil {
			return p, own
		}
	}
	return s.agent, q.task
}
