package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/judge"
	"dragoman/core"
	"dragoman/core/diff"
	"dragoman/core/display"
	"dragoman/core/files"
	"dragoman/core/shell"
)

// work is a request of the agent that we carry out ourselves, as one of our own tools.
type work struct {
	call core.Call
	own  bool // the call is in the log for this request alone
}

// admit asks the gate about a request, unless a permission of a call that runs covers it. A request
// of its own is a call in the log. An error is for the agent.
func (c *conversation) admit(ctx context.Context, tool string, kind core.CallKind, title string, args any, a core.Access, shown ...core.Block) (work, error) {
	if c.stage.Stopped() {
		return work{}, jrpc2.Errorf(acp.CodeCancelled, "%s: the turn was stopped", tool)
	}
	if id, ok := c.granted(a); ok {
		return work{call: core.Call{ID: id}}, nil
	}
	c.leaveTurn()
	t := c.stage.Current()
	if t == nil {
		return work{}, jrpc2.Errorf(jrpc2.InvalidRequest, "%s: there was no prompt yet", tool)
	}
	call := core.Call{
		ID: t.NewCall(), Turn: t.ID(), Server: c.b.o.Name, Tool: tool, Kind: kind, Title: title, State: core.Proposed,
		Args: wire.JSON(args), Content: shown,
	}
	if a.Op != core.OpRun {
		call.Locations = []core.Location{{Path: a.Path}}
	}
	if !c.stage.Emit(core.CallChanged{Call: call}) {
		return work{}, jrpc2.Errorf(acp.CodeCancelled, "%s: the turn was stopped", tool)
	}
	j := judge.Judged{Spec: judge.Native(tool, kind), Access: []core.Access{a}}
	reply, err := c.authorize(ctx, &call, j, nil)
	switch {
	case err != nil:
		return work{}, jrpc2.Errorf(acp.CodeCancelled, "%s: %v", tool, err)
	case !reply.Decision.Allows():
		c.mu.Lock()
		c.tally.rejected = true
		c.mu.Unlock()
		return work{}, jrpc2.Errorf(jrpc2.InvalidRequest, "%s: the user or a rule has rejected this", tool)
	}
	return work{call, true}, nil
}

// done ends the call of a request, if it has one of its own.
func (c *conversation) done(w work, err error, content ...core.Block) {
	if !w.own {
		return
	}
	w.call.State, w.call.End = core.Succeeded, c.b.o.Time()
	w.call.Content = append(w.call.Content[:len(w.call.Content):len(w.call.Content)], content...)
	if err != nil {
		w.call.State = core.Errored
		w.call.Content = append(w.call.Content, core.Text{Text: err.Error()})
	}
	c.stage.Emit(core.CallChanged{Call: w.call})
}

// located finds the place of a path of the agent.
func (c *conversation) located(method, path string) (files.Place, error) {
	if path == "" {
		return files.Place{}, jrpc2.Errorf(jrpc2.InvalidParams, "%s: no path", method)
	}
	p, err := c.places.At(c.b.paths.Here(path))
	if err != nil {
		return p, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", method, err)
	}
	return p, nil
}

// fileError words an error about a file for the agent.
func fileError(method string, p files.Place, err error) error {
	if files.Missing(err) {
		return jrpc2.Errorf(acp.CodeNotFound, "%s: ENOENT: no such file or directory: %s", method, p.Name)
	}
	return jrpc2.Errorf(jrpc2.InternalError, "%s: %v", method, p.Explain(err))
}

// readFile answers fs/read_text_file.
func (c *conversation) readFile(ctx context.Context, _ *peer, params json.RawMessage) (any, error) {
	const method = "fs/read_text_file"
	var q acp.ReadTextFile
	if err := wire.Unmarshal(params, &q); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", method, err)
	}
	p, err := c.located(method, q.Path)
	if err != nil {
		return nil, err
	}
	access := p.Access(core.OpRead)
	access.Linked = !access.Outside && p.Linked()
	w, err := c.admit(ctx, judge.ReadTool, core.KindRead, "Read "+p.Show, map[string]any{"path": p.Name}, access)
	if err != nil {
		return nil, err
	}
	text, err := c.places.Read(ctx, p, q.Line, q.Limit)
	c.done(w, err)
	if err != nil {
		return nil, fileError(method, p, err)
	}
	return acp.FileContent{Content: &text}, nil
}

// writeFile answers fs/write_text_file.
func (c *conversation) writeFile(ctx context.Context, _ *peer, params json.RawMessage) (any, error) {
	const method = "fs/write_text_file"
	var q acp.WriteTextFile
	if err := wire.Unmarshal(params, &q); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", method, err)
	}
	p, err := c.located(method, q.Path)
	if err != nil {
		return nil, err
	}
	access := p.Access(core.OpWrite)
	var seen files.Content
	var change core.Diff
	look := func() (err error) {
		if seen, err = c.places.Writable(ctx, p); err == nil {
			change = diff.Of(p.Name, p.Show, seen.Before(), q.Content)
		}
		return err
	}
	_, covered := c.granted(access)
	var shown []core.Block
	if !covered && !access.Outside { // a person who is asked sees the change
		if err := look(); err != nil {
			return nil, fileError(method, p, err)
		}
		shown = diff.Shown(change)
	}
	w, err := c.admit(ctx, judge.WriteTool, core.KindEdit, "Write "+p.Show, map[string]any{"path": p.Name}, access, shown...)
	if err != nil {
		return nil, err
	}
	if err = look(); err == nil {
		_, err = c.places.Replace(ctx, p, seen, q.Content)
	}
	if err != nil {
		c.done(w, err)
		return nil, fileError(method, p, err)
	}
	w.call.Content = nil
	c.done(w, nil, change)
	return acp.Marker{}, nil
}

// createTerminal answers terminal/create.
func (c *conversation) createTerminal(ctx context.Context, _ *peer, params json.RawMessage) (any, error) {
	const method = "terminal/create"
	var q acp.CreateTerminal
	if err := wire.Unmarshal(params, &q); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", method, err)
	}
	r := shell.Request{Command: q.Command, Args: q.Args, Env: map[string]string{}, Dir: c.bind.Meta.Cwd}
	for _, kv := range q.Env {
		r.Env[kv.Name] = kv.Value
	}
	if q.Cwd != "" {
		r.Dir = c.b.paths.Here(q.Cwd)
	}
	if q.OutputByteLimit != nil {
		r.Limit = max(*q.OutputByteLimit, 1)
	}
	line := c.terminals.Line(r)
	w, err := c.admit(ctx, judge.ShellTool, core.KindExecute, line, map[string]any{"command": line, "cwd": r.Dir}, c.confined(c.judging().Runs(line, r.Dir)))
	if err != nil {
		return nil, err
	}
	r.Output = func(text string) { c.stage.Emit(core.CallOutput{Call: w.call.ID, Text: text}) }
	r.Remarks = c.remarks
	r.Ended = func(out shell.Output) { c.exited(w, out) } // the agent may end its turn as soon as it knows
	t, err := c.startTerminal(ctx, r)
	if err != nil {
		c.done(w, err)
		return nil, jrpc2.Errorf(jrpc2.InternalError, "%s: %v", method, err)
	}
	return acp.TerminalCreated{TerminalID: t.ID}, nil
}

// confined returns the access of a command that runs in a terminal of ours.
func (c *conversation) confined(a core.Access) core.Access {
	if c.box != nil && c.box.Level().Confines() {
		a.Sandbox = string(c.box.Level())
	}
	return a
}

// remarks are the notes of the sandbox, a line each.
func (c *conversation) remarks() (text string) {
	if c.box == nil {
		return ""
	}
	for _, note := range c.box.Notes() {
		text += "[" + display.Visible(note) + "]\n"
	}
	return text
}

// startTerminal runs a command, in a folder that is opened like any other: one that was replaced
// since is refused.
func (c *conversation) startTerminal(ctx context.Context, r shell.Request) (*shell.Terminal, error) {
	p, err := c.places.At(r.Dir)
	if err != nil {
		return nil, err
	}
	dir, err := p.Folder()
	if err != nil {
		return nil, p.Explain(err)
	}
	defer dir.Close()
	return c.terminals.Start(ctx, r)
}

// exited ends the call of a terminal.
func (c *conversation) exited(w work, out shell.Output) {
	var err error
	if e := out.Exit; e != nil && e.Signal != "" {
		err = fmt.Errorf("ended by signal: %s", e.Signal)
	} else if e != nil && e.Code != 0 {
		err = fmt.Errorf("exit status %d", e.Code)
	}
	c.done(w, err, core.Text{Text: out.Text})
}

// terminal runs an action on a terminal of the agent's.
func (c *conversation) terminal(method string, params json.RawMessage, do func(*shell.Terminal) (any, error)) (any, error) {
	var q acp.TerminalRef
	if err := wire.Unmarshal(params, &q); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", method, err)
	}
	t := c.terminals.Find(q.TerminalID)
	if t == nil {
		return nil, jrpc2.Errorf(acp.CodeNotFound, "%s: there is no terminal %.100q", method, q.TerminalID)
	}
	return do(t)
}

func (c *conversation) terminalOutput(_ context.Context, _ *peer, params json.RawMessage) (any, error) {
	return c.terminal("terminal/output", params, func(t *shell.Terminal) (any, error) {
		out := t.Output()
		return acp.TerminalOutputResponse{Output: out.Text, Truncated: out.Truncated, ExitStatus: statusOf(out.Exit)}, nil
	})
}

func (c *conversation) awaitTerminal(ctx context.Context, _ *peer, params json.RawMessage) (any, error) {
	return c.terminal("terminal/wait_for_exit", params, func(t *shell.Terminal) (any, error) {
		exit, err := t.Wait(ctx)
		if err != nil {
			return nil, err
		}
		return statusOf(&exit), nil
	})
}

func (c *conversation) killTerminal(ctx context.Context, _ *peer, params json.RawMessage) (any, error) {
	return c.terminal("terminal/kill", params, func(t *shell.Terminal) (any, error) { return acp.Marker{}, t.Kill(ctx) })
}

func (c *conversation) releaseTerminal(ctx context.Context, _ *peer, params json.RawMessage) (any, error) {
	return c.terminal("terminal/release", params, func(t *shell.Terminal) (any, error) { return acp.Marker{}, t.Release(ctx) })
}

// statusOf returns how a command has ended; nil: it runs.
func statusOf(e *shell.Exit) *acp.TerminalStatus {
	if e == nil {
		return nil
	}
	s := &acp.TerminalStatus{}
	if e.Signal != "" {
		s.Signal = &e.Signal
	} else {
		s.ExitCode = &e.Code
	}
	return s
}
