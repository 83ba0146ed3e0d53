package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
)

// jobs are the suites' tools that become tasks.
type jobs struct {
	wg sync.WaitGroup

	mu   sync.Mutex // guards the field below
	byID map[string]*job
}

// job is one of them.
type job struct {
	id   string
	stop context.CancelFunc

	mu      sync.Mutex // guards the fields below
	state   mcp.TaskState
	answers sdk.InputResponseMap
	changed chan struct{}
}

// find is mcp.More.Tasks.
func (j *jobs) find(id string) mcp.Task {
	j.mu.Lock()
	defer j.mu.Unlock()
	if t := j.byID[id]; t != nil {
		return t
	}
	return nil
}

// begin runs work as a task where the client has tasks, and else at once.
func (j *jobs) begin(ctx context.Context, work func(context.Context, *job) (*sdk.CallToolResult, error)) (*sdk.CallToolResult, error) {
	now := time.Now()
	running, stop := context.WithCancel(context.Background())
	t := &job{id: rand.Text(), stop: stop, state: mcp.TaskState{Status: mcp.TaskWorking, Begun: now, Updated: now}, changed: make(chan struct{})}
	if !mcp.BeginTask(ctx, t) {
		stop()
		return work(ctx, nil)
	}
	j.mu.Lock()
	if j.byID == nil {
		j.byID = map[string]*job{}
	}
	j.byID[t.id] = t
	j.mu.Unlock()
	j.wg.Go(func() {
		defer stop()
		res, err := work(running, t)
		t.change(func(s *mcp.TaskState) {
			switch {
			case running.Err() != nil:
				s.Status = mcp.TaskCancelled
			case err != nil:
				s.Status, s.Err = mcp.TaskFailed, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
			default:
				s.Status, s.Result = mcp.TaskCompleted, res
			}
		})
	})
	return &sdk.CallToolResult{Content: []sdk.Content{}}, nil
}

// close stops what runs.
func (j *jobs) close() {
	j.mu.Lock()
	for _, t := range j.byID {
		t.stop()
	}
	j.mu.Unlock()
	j.wg.Wait()
}

func (t *job) change(f func(*mcp.TaskState)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.state)
	t.state.Updated = time.Now()
	close(t.changed)
	t.changed = make(chan struct{})
}

// ask waits until everything was answered.
func (t *job) ask(ctx context.Context, requests sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	t.change(func(s *mcp.TaskState) { s.Status, s.Questions = mcp.TaskAsks, requests })
	for {
		t.mu.Lock()
		open, changed, answers := len(t.state.Questions), t.changed, maps.Clone(t.answers)
		t.mu.Unlock()
		if open == 0 {
			return answers, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ID implements mcp.Task.
func (t *job) ID() string { return t.id }

// Look implements mcp.Task.
func (t *job) Look(context.Context) (mcp.TaskState, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state
	s.Questions = maps.Clone(s.Questions)
	return s, nil
}

// Answer implements mcp.Task.
func (t *job) Answer(_ context.Context, answers sdk.InputResponseMap) error {
	t.change(func(s *mcp.TaskState) {
		for key, a := range answers {
			if _, asked := s.Questions[key]; !asked {
				continue
			}
			delete(s.Questions, key)
			if t.answers == nil {
				t.answers = sdk.InputResponseMap{}
			}
			t.answers[key] = a
		}
		if len(s.Questions) == 0 && s.Status == mcp.TaskAsks {
			s.Status = mcp.TaskWorking
		}
	})
	return nil
}

// Stop implements mcp.Task.
func (t *job) Stop(context.Context) error {
	t.stop()
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// needTasks refuses a client without tasks.
func needTasks(req *sdk.CallToolRequest) error {
	if c := req.ClientCapabilities(); c != nil && c.Extensions["io.modelcontextprotocol/tasks"] != nil {
		return nil
	}
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "tasks are needed", Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)}
}

func (j *jobs) tools(add func(name, schema string, t tool)) {
	add("slow_compute", `{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`, func(ctx context.Context, _ *sdk.CallToolRequest, a args) (*sdk.CallToolResult, error) {
		seconds, _ := a["seconds"].(float64)
		if seconds == 0 {
			return said(text("%s done at once", a.str("label")))
		}
		return j.begin(ctx, func(ctx context.Context, _ *job) (*sdk.CallToolResult, error) {
			if err := wait(ctx, time.Duration(seconds*float64(time.Second))); err != nil {
				return nil, err
			}
			return said(text("%s done", a.str("label")))
		})
	})
	add("failing_job", anything, func(ctx context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		if err := needTasks(req); err != nil {
			return nil, err
		}
		return j.begin(ctx, func(ctx context.Context, _ *job) (*sdk.CallToolResult, error) {
			if err := wait(ctx, time.Second); err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{text("the job failed")}, IsError: true}, nil
		})
	})
	add("protocol_error_job", anything, func(ctx context.Context, _ *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		return j.begin(ctx, func(context.Context, *job) (*sdk.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the job broke"}
		})
	})
	asking := func(name string, requests func() sdk.InputRequestMap) {
		add(name, anything, func(ctx context.Context, _ *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
			return j.begin(ctx, func(ctx context.Context, t *job) (*sdk.CallToolResult, error) {
				if t == nil {
					return said(text("there is nobody to ask"))
				}
				answers, err := t.ask(ctx, requests())
				if err != nil {
					return nil, err
				}
				b, err := json.Marshal(answers)
				return &sdk.CallToolResult{Content: []sdk.Content{text("answered: %s", b)}}, err
			})
		})
	}
	asking("confirm_delete", func() sdk.InputRequestMap {
		return sdk.InputRequestMap{"confirm": form("Delete it?", "confirm", "boolean")}
	})
	asking("multi_input", func() sdk.InputRequestMap {
		return sdk.InputRequestMap{"first": form("First?", "value", "string"), "second": form("Second?", "value", "string")}
	})
	add("test_tool_with_task", anything, func(ctx context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		name, ok := accepted(req.Params.InputResponses, "user_name")["name"].(string)
		if !ok {
			if err := needTasks(req); err != nil {
				return nil, err
			}
			return ask("", sdk.InputRequestMap{"user_name": form("What is your name?", "name", "string")})
		}
		return j.begin(ctx, func(ctx context.Context, _ *job) (*sdk.CallToolResult, error) {
			if err := wait(ctx, pause); err != nil {
				return nil, err
			}
			return said(text("Hello, %s!", name))
		})
	})
}
