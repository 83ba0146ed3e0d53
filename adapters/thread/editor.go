package thread

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/ide"
)

// editor is the peer of a thread as a provider of files. Its methods are discovered by calling
// them: one that it does not know, or does not answer in time, is not called again, and we do the
// work ourselves.
type editor struct {
	conn   *wire.Conn
	thread core.SessionID

	mu      sync.Mutex // guards the field below
	without map[string]bool
}

var _ ide.Editor = (*editor)(nil)

// Lend implements core.Editor.
func (e *editor) Lend(id core.SessionID) core.Editor { return ide.Lend(e, id) }

// Caps implements ide.Editor.
func (e *editor) Caps() ide.Caps {
	e.mu.Lock()
	defer e.mu.Unlock()
	return ide.Caps{
		ReadFile:  !e.without["readTextFile"],
		ReadBytes: !e.without["readBinaryFile"],
		Stat:      !e.without["stat"],
		Glob:      !e.without["globSearch"],
	}
}

// Do implements ide.Editor.
func (e *editor) Do(ctx context.Context, call ide.Call) (ide.Reply, error) {
	switch c := call.(type) {
	case ide.ReadFile:
		req := acp.ThreadFile{ThreadID: string(e.thread), Path: c.Path}
		if c.Line > 1 {
			offset := c.Line - 1 // 0-based here
			req.LineOffset = &offset
		}
		if c.Limit > 0 {
			req.LineLimit = &c.Limit
		}
		var res acp.ThreadFileContent
		if err := e.ask(ctx, "readTextFile", req, &res); err != nil {
			return nil, err
		}
		if res.Content == nil {
			return nil, &ide.Lacks{Why: "answered readTextFile without a text"}
		}
		return ide.FileText{Text: *res.Content, Version: res.Version}, nil
	case ide.ReadBytes:
		req := acp.ThreadFile{ThreadID: string(e.thread), Path: c.Path}
		if c.Offset > 0 {
			req.ByteOffset = &c.Offset
		}
		if c.Limit > 0 {
			req.ByteLimit = &c.Limit
		}
		var res acp.ThreadFileContent
		if err := e.ask(ctx, "readBinaryFile", req, &res); err != nil {
			return nil, err
		}
		if res.Content == nil {
			return nil, &ide.Lacks{Why: "answered readBinaryFile without the file's content"}
		}
		data, err := base64.StdEncoding.DecodeString(*res.Content)
		if err != nil {
			return nil, fmt.Errorf("read %s through the editor: its content is not base64", c.Path)
		}
		return ide.FileBytes{Data: data, Version: res.Version}, nil
	case ide.StatFile:
		var res acp.ThreadStat
		err := e.ask(ctx, "stat", acp.ThreadFile{ThreadID: string(e.thread), Path: c.Path}, &res)
		return ide.FileStat{Exists: res.Exists, Dir: res.IsDirectory}, err
	case ide.GlobFiles:
		var res acp.GlobSearchResponse
		err := e.ask(ctx, "globSearch", acp.GlobSearch{ThreadID: string(e.thread), Pattern: c.Pattern}, &res)
		return ide.FilePaths{Paths: res.Matches}, err
	case ide.WriteFile, ide.OpenTerminal, ide.AwaitTerminal, ide.PeekTerminal, ide.CloseTerminal, ide.Diagnose, ide.Locate:
	}
	return nil, fmt.Errorf("the editor has no %T", call)
}

// ask asks the peer. An abandoned request is not withdrawn: the protocol has no message for that.
func (e *editor) ask(ctx context.Context, method string, params, result any) error {
	type answer struct {
		result json.RawMessage
		err    error
	}
	answers := make(chan answer, 1) // done is called once, and must not wait
	if _, err := e.conn.Start(method, params, func(r json.RawMessage, err error) { answers <- answer{r, err} }); err != nil {
		return err
	}
	var got answer
	select {
	case got = <-answers:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.lacks(method)
			return &ide.Lacks{Why: "did not answer " + method}
		}
		return context.Cause(ctx)
	}
	if got.err == nil {
		if got.err = wire.Unmarshal(got.result, result); got.err == nil {
			return nil
		}
	}
	var refusal *jrpc2.Error
	if !errors.As(got.err, &refusal) {
		return fmt.Errorf("%s: %w", method, got.err)
	}
	if refusal.Code == jrpc2.MethodNotFound {
		e.lacks(method)
		return &ide.Lacks{Why: "does not know " + method}
	}
	r := acp.Refusal{Code: int(refusal.Code), Message: refusal.Message, Data: refusal.Data}
	switch words := r.Words(); {
	case r.NoFile():
		return &ide.Lacks{Why: "has no such file"}
	case words == "":
		return fmt.Errorf("%s: the client answered with error %d", method, r.Code)
	default:
		return fmt.Errorf("%s: %s", method, words)
	}
}

func (e *editor) lacks(method string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.without == nil {
		e.without = map[string]bool{}
	}
	e.without[method] = true
}
