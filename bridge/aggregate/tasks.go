package aggregate

import (
	"context"
	"encoding/json"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// maxTasks limits the tasks whose servers are remembered.
const maxTasks = 4096

// learn remembers the server of a task that a result names.
func (s *side) learn(p *part, res json.RawMessage) {
	var r struct {
		ID   string `json:"taskId"` // 2026-07-28
		Task struct {
			ID string `json:"taskId"`
		} `json:"task"` // 2025-11-25
	}
	if json.Unmarshal(res, &r) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range []string{r.ID, r.Task.ID} {
		if id == "" {
			continue
		}
		if len(s.tasks) >= maxTasks {
			clear(s.tasks) // forgotten tasks are looked up at the servers
		}
		s.tasks[id] = p
	}
}

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
	s.mu.Lock()
	p := s.tasks[q.task]
	s.mu.Unlock()
	if p != nil {
		s.relayTask(p, call, q)
		return
	}
	s.aside(func() {
		p := s.seekTask(call.Context(), q)
		if declared && p.agent() { // our agent has no tasks at that version
			call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "there is no task %.100q", q.task))
			return
		}
		s.relayTask(p, call, q)
	})
}

func (s *side) relayTask(p *part, call *wire.Call, q request) {
	x := s.newPass(p, call, q)
	x.send()
}

// seekTask asks the servers that have tasks for one. If none knows it, it returns our agent.
func (s *side) seekTask(ctx context.Context, q request) *part {
	for _, p := range s.parts() {
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
			q:      request{params: wire.JSON(map[string]string{"taskId": q.task}), meta: q.meta},
		}
		x.q.params = wire.Edit(x.q.params, wire.Set("_meta", orObject(q.meta)))
		if peer.Conn.Ask(ctx, x.method, x.params(peer, nil), nil) == nil {
			s.learn(p, json.RawMessage(`{"taskId":`+string(wire.JSON(q.task))+`}`))
			return p
		}
	}
	return s.agent
}
