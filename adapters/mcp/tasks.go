package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/loan"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
)

// taskPoll is the recommended interval for polling a task.
const taskPoll = time.Second

// Task is work that continues after the call that began it has been answered (extension Tasks).
// Its methods do not wait for the work, and may be called by any goroutine.
type Task interface {
	ID() string
	Look(context.Context) (TaskState, error)
	Answer(context.Context, mcp.InputResponseMap) error // unknown keys are ignored
	Stop(context.Context) error
}

// TaskStatus is the status of a task.
type TaskStatus string

const (
	TaskWorking   TaskStatus = "working"
	TaskAsks      TaskStatus = proto.ResultInputRequired // Questions holds the questions
	TaskCompleted TaskStatus = "completed"               // Result holds the result of the call
	TaskFailed    TaskStatus = "failed"                  // Err holds the reason
	TaskCancelled TaskStatus = "cancelled"
)

// TaskState is the current state of a task.
type TaskState struct {
	Status         TaskStatus
	Message        string // for a person; may be empty
	Begun, Updated time.Time
	Questions      mcp.InputRequestMap
	Result         *mcp.CallToolResult
	Err            *jsonrpc.Error
}

// taskSlot is the context's key for the place where a tool stores the task of its call.
type taskSlot struct{}

// BeginTask turns the call that a tool is handling into a task; its result is then ignored. It
// returns false if the client does not support tasks; then the tool answers as usual.
func BeginTask(ctx context.Context, t Task) bool {
	slot, ok := ctx.Value(taskSlot{}).(*Task)
	if ok {
		*slot = t
	}
	return ok
}

// canBeTask reports whether BeginTask would.
func canBeTask(ctx context.Context) bool { return ctx.Value(taskSlot{}) != nil }

// hasTasks reports whether capabilities declare the extension.
func hasTasks(c *mcp.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	_, ok := c.Extensions[proto.ExtensionTasks]
	return ok
}

// callTool lets a call become a task if the client supports tasks.
func (h *host) callTool(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	if req.ProtocolVersion() < proto.Modern || !hasTasks(req.ClientCapabilities()) {
		return next(ctx, proto.MethodCallTool, req)
	}
	var task Task
	res, err := next(context.WithValue(ctx, taskSlot{}, &task), proto.MethodCallTool, req)
	if err != nil || task == nil {
		return res, err
	}
	st, err := task.Look(ctx)
	if err != nil {
		return nil, err
	}
	return &taskResult{ResultType: proto.ResultTask, taskHead: st.head(task.ID())}, nil
}

// taskHead holds the members that every message about a task has.
type taskHead struct {
	ID      string     `json:"taskId"`
	Status  TaskStatus `json:"status"`
	Message string     `json:"statusMessage,omitempty"`
	Begun   string     `json:"createdAt"`
	Updated string     `json:"lastUpdatedAt"`
	TTL     *int       `json:"ttlMs"` // null: as long as the session exists
	Poll    int64      `json:"pollIntervalMs"`
}

func (s TaskState) head(id string) taskHead {
	return taskHead{
		ID: id, Status: s.Status, Message: s.Message,
		Begun: s.Begun.UTC().Format(time.RFC3339Nano), Updated: s.Updated.UTC().Format(time.RFC3339Nano), Poll: taskPoll.Milliseconds(),
	}
}

// taskResult is CreateTaskResult, and with the members after the head the answer to tasks/get.
type taskResult struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	taskHead
	Questions mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result    json.RawMessage     `json:"result,omitempty"`
	Err       *jsonrpc.Error      `json:"error,omitempty"`
}

// taskAck is the answer to tasks/update and tasks/cancel.
type taskAck struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

type taskParams struct {
	mcp.ParamsBase
	ID      string                     `json:"taskId"`
	Answers map[string]json.RawMessage `json:"inputResponses"`
}

// answers reads the answers one by one: unexpected ones may be anything. One that cannot be read
// is nil.
func (p *taskParams) answers() mcp.InputResponseMap {
	all := mcp.InputResponseMap{}
	for key, raw := range p.Answers {
		var one mcp.InputResponseMap
		b, err := json.Marshal(map[string]json.RawMessage{key: raw})
		if err != nil || json.Unmarshal(b, &one) != nil {
			all[key] = nil
			continue
		}
		all[key] = one[key]
	}
	return all
}

// addTasks adds the extension's methods.
func (h *host) addTasks(s *mcp.Server) {
	for method, handle := range map[string]func(context.Context, Task, *taskParams) (mcp.Result, error){
		proto.MethodGetTask: lookAtTask,
		proto.MethodUpdateTask: func(ctx context.Context, t Task, p *taskParams) (mcp.Result, error) {
			return &taskAck{ResultType: proto.ResultComplete}, t.Answer(ctx, p.answers())
		},
		proto.MethodCancelTask: func(ctx context.Context, t Task, _ *taskParams) (mcp.Result, error) {
			return &taskAck{ResultType: proto.ResultComplete}, t.Stop(ctx)
		},
	} {
		err := mcp.AddReceivingCustomMethod(s, method, func(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (mcp.Result, error) {
			if p == nil {
				p = new(taskParams) // the SDK reads the version from them
			}
			req := &mcp.ServerRequest[*taskParams]{Session: ss, Params: p}
			if req.ProtocolVersion() < proto.Modern {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: \"" + method + "\""}
			}
			if !hasTasks(req.ClientCapabilities()) {
				return nil, tasksMissing()
			}
			t, err := h.task(ctx, req, p.ID)
			if err != nil {
				return nil, err
			}
			return handle(ctx, t, p)
		})
		if err != nil {
			panic(err) // the names are not methods of the protocol
		}
	}
}

// tasksMissing returns the error for a client that has not declared the extension.
func tasksMissing() error {
	extensions := map[string]any{proto.ExtensionTasks: struct{}{}}
	data, err := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{"extensions": extensions}})
	if err != nil {
		return err
	}
	text := "the client has not declared the extension " + proto.ExtensionTasks
	return &jsonrpc.Error{Code: proto.CodeMissingCapability, Message: text, Data: data}
}

// task finds a task by its id.
func (h *host) task(ctx context.Context, req clientRequest, id string) (Task, error) {
	if f := h.server.opts.Tasks; f != nil {
		if t := f(id); t != nil {
			return t, nil
		}
	}
	unknown := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such task"}
	at := strings.LastIndexByte(id, '.')
	if at < 0 {
		return nil, unknown
	}
	session, err := url.PathUnescape(id[:at])
	if err != nil {
		return nil, unknown
	}
	c := h.client(req)
	s, err := c.open(ctx, req, core.SessionID(session))
	if errors.Is(err, core.ErrNotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	t := &turnTask{c: c, h: s, turn: core.TurnID(id[at+1:]), asks: s.mine() && askerOf(req) == asksAgain, lends: lendsOf(req) == asksAgain}
	if _, err := t.fold(ctx); errors.Is(err, errNoTurn) {
		return nil, unknown
	}
	return t, nil
}

func lookAtTask(ctx context.Context, t Task, _ *taskParams) (mcp.Result, error) {
	st, err := t.Look(ctx)
	if err != nil {
		return nil, err
	}
	r := &taskResult{ResultType: proto.ResultComplete, taskHead: st.head(t.ID())}
	switch st.Status {
	case TaskAsks:
		r.Questions = st.Questions
	case TaskCompleted:
		r.Result, err = json.Marshal(st.Result)
	case TaskFailed:
		r.Err = st.Err
	case TaskWorking, TaskCancelled:
	}
	return r, err
}

// turnTask presents a turn as a task. Nothing is stored for it: its state is read from the
// session's log, so it outlives the process.
type turnTask struct {
	c     *client
	h     *heldSession
	turn  core.TurnID
	asks  bool // the client can ask its user
	lends bool // and its model
}

// ID implements Task.
func (t *turnTask) ID() string { return escaped(string(t.h.id)) + "." + string(t.turn) }

// fold extends the turn's fold to the end of the log and gives it back; its result is a copy.
func (t *turnTask) fold(ctx context.Context) (turn, error) {
	f := &follower{c: t.c, h: t.h, turn: t.h.borrow(t.turn), asker: asksNobody, progress: new(progress)}
	defer t.h.giveBack(f.turn)
	_, err := f.follow(ctx, t.h.from(t.turn))
	return f.turn.copy(), err
}

// Look implements Task.
func (t *turnTask) Look(ctx context.Context) (TaskState, error) {
	f, err := t.fold(ctx)
	if err != nil {
		return TaskState{}, err
	}
	st := TaskState{Status: TaskWorking, Message: f.line, Begun: f.began, Updated: f.news}
	if f.began.IsZero() {
		now := t.h.a.State().Updated
		st.Begun, st.Updated = now, now
	}
	asks := f.waiting(t.h.a.Pending())
	dismissed, _ := t.h.dismissals()
	asks, closed := slices.DeleteFunc(slices.Clone(asks), func(a core.Ask) bool { return dismissed[a.ID] > 0 }), len(asks)
	closed -= len(asks) // a waiting call asks about those again, or agent_approve answers them
	var samples []*loan.Request
	if t.lends {
		samples, _ = t.c.server.loans.To(t.h.a, t.turn).Waiting()
	}
	switch {
	case f.ended && f.stop == core.StopCanceled:
		st.Status, st.Message = TaskCancelled, ""
	case f.ended:
		st.Status, st.Message = TaskCompleted, ""
		r := f.result(t.h.id, nil)
		r.finish()
		st.Result = r.toolResult(proto.Modern)
		st.Result.StructuredContent = r
	case len(asks) > 0 && t.asks || len(samples) > 0:
		st.Status, st.Message, st.Questions = TaskAsks, "waiting for the client's model", mcp.InputRequestMap{}
		for _, m := range samples {
			st.Questions[string(m.ID)] = m.Params
		}
		if !t.asks {
			break
		}
		for _, a := range asks {
			st.Message = "waiting for approval"
			st.Questions[string(a.ID)] = elicitation(proto.Modern, true, t.h.meta, a, f.callOf(a))
			t.c.limit(t.h, a)
		}
	case len(asks)+closed > 0:
		st.Message = "waiting for approval: call " + toolWait + " and " + toolApprove
	}
	return st, nil
}

// Answer implements Task.
func (t *turnTask) Answer(_ context.Context, answers mcp.InputResponseMap) error {
	t.c.resume(t.h, &resumeState{Turn: t.turn}, answers)
	return nil
}

// Stop implements Task.
func (t *turnTask) Stop(ctx context.Context) error {
	if !t.c.mayStop(t.h) {
		return &jsonrpc.Error{Code: proto.CodeForbidden, Message: fmt.Sprintf(notItsSession, "stop a turn in it")}
	}
	t.h.stop(t.turn)
	return t.h.a.Cancel(context.WithoutCancel(ctx), t.turn, core.ErrCanceled)
}
