package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/ide"
)

// editor is the client as a provider of files and terminals: fs/read_text_file,
// fs/write_text_file and terminal/*.
type editor struct {
	conn *wire.Conn
	caps acp.ClientCapabilities
	// terminals begins the ids of this client's terminals in the core: a session may have other
	// clients, which must not get terminals that they do not know.
	terminals string
}

var _ ide.Editor = editor{}

// Lend implements core.Editor.
func (e editor) Lend(id core.SessionID) core.Editor { return ide.Lend(e, id) }

// Caps implements ide.Editor.
func (e editor) Caps() ide.Caps {
	return ide.Caps{
		ReadFile:  bool(e.caps.FS.ReadTextFile),
		WriteFile: bool(e.caps.FS.WriteTextFile),
		Terminal:  bool(e.caps.Terminal),
	}
}

// Do implements ide.Editor.
func (e editor) Do(ctx context.Context, call ide.Call) (ide.Reply, error) {
	switch c := call.(type) {
	case ide.ReadFile:
		var res acp.FileContent
		req := acp.ReadTextFile{SessionID: string(c.Session), Path: c.Path, Line: c.Line, Limit: c.Limit}
		if err := e.conn.Ask(ctx, "fs/read_text_file", req, &res); err != nil {
			return nil, refused("the editor did not read the file", "fs/read_text_file", err)
		}
		if res.Content == nil {
			return nil, &ide.Lacks{Why: "answered fs/read_text_file without a text"}
		}
		return ide.FileText{Text: *res.Content}, nil
	case ide.WriteFile:
		if lineBytes(maxWritten, c.Text) > maxWritten {
			return nil, &ide.Lacks{Why: "is not sent a line of more than 1 MiB"}
		}
		req := acp.WriteTextFile{SessionID: string(c.Session), Path: c.Path, Content: c.Text}
		if err := e.conn.Ask(ctx, "fs/write_text_file", req, nil); err != nil {
			return nil, refused("the editor did not write the file", "fs/write_text_file", err)
		}
		return ide.Done{}, nil
	case ide.OpenTerminal:
		return e.open(ctx, c)
	case ide.AwaitTerminal:
		return e.await(ctx, c)
	case ide.PeekTerminal:
		return e.peek(ctx, c.Session, c.ID)
	case ide.CloseTerminal:
		return e.close(ctx, c)
	case ide.StatFile, ide.GlobFiles, ide.ReadBytes, ide.Diagnose, ide.Locate:
	}
	return nil, fmt.Errorf("the editor has no %T", call)
}

// refused returns the error for a request that the client did not carry out: an EditorLacks if
// the client does not know the request or the file, so that something else may do it; any
// other error is a refusal in the client's words.
func refused(what, method string, err error) error {
	var e *jrpc2.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", what, err)
	}
	r := acp.Refusal{Code: int(e.Code), Message: e.Message, Data: e.Data}
	switch words := r.Words(); {
	case e.Code == jrpc2.MethodNotFound:
		return &ide.Lacks{Why: "does not know " + method}
	case r.NoFile():
		return &ide.Lacks{Why: "has no such file"}
	case words == "":
		return fmt.Errorf("%s: the client answered with error %d", what, e.Code)
	default:
		return fmt.Errorf("%s: %s", what, words)
	}
}

// open calls terminal/create.
func (e editor) open(ctx context.Context, c ide.OpenTerminal) (ide.Reply, error) {
	req := acp.CreateTerminal{SessionID: string(c.Session), Command: c.Command, Args: c.Args, Cwd: c.Cwd}
	if c.Limit > 0 {
		req.OutputByteLimit = &c.Limit
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		req.Env = append(req.Env, acp.Pair{Name: name, Value: c.Env[name]})
	}
	var res acp.TerminalCreated
	if err := e.conn.Ask(ctx, "terminal/create", req, &res); err != nil {
		return nil, refused("the editor did not open a terminal, so the command did not run", "terminal/create", err)
	}
	if res.TerminalID == "" {
		return nil, errors.New(
			"the editor answered with no terminalId, so the command was not run a second time here; check whether it has run before you try again",
		)
	}
	return ide.TerminalOpened{ID: e.terminals + res.TerminalID}, nil
}

// await calls terminal/wait_for_exit, and terminal/output for the output.
func (e editor) await(ctx context.Context, c ide.AwaitTerminal) (ide.Reply, error) {
	ref := e.ref(c.Session, c.ID)
	var exit acp.TerminalStatus
	if err := e.conn.Ask(ctx, "terminal/wait_for_exit", ref, &exit); err != nil {
		return nil, fmt.Errorf("wait for terminal %s: %w", ref.TerminalID, err)
	}
	out, err := e.peek(ctx, c.Session, c.ID)
	if err != nil {
		return nil, err
	}
	o, _ := out.(ide.TerminalOutput)
	o.Ended = true
	if o.Exit == nil && o.Signal == "" {
		o.Exit, o.Signal = exit.ExitCode, said(exit.Signal)
	}
	return o, nil
}

// peek calls terminal/output.
func (e editor) peek(ctx context.Context, id core.SessionID, terminal string) (ide.Reply, error) {
	ref := e.ref(id, terminal)
	var res acp.TerminalOutputResponse
	if err := e.conn.Ask(ctx, "terminal/output", ref, &res); err != nil {
		return nil, fmt.Errorf("look at terminal %s: %w", ref.TerminalID, err)
	}
	out := ide.TerminalOutput{Text: res.Output, Truncated: res.Truncated}
	if res.ExitStatus != nil {
		out.Ended, out.Exit, out.Signal = true, res.ExitStatus.ExitCode, said(res.ExitStatus.Signal)
	}
	return out, nil
}

// close calls terminal/kill and terminal/release. A client that cannot kill a command ends it
// when the terminal is released.
func (e editor) close(ctx context.Context, c ide.CloseTerminal) (ide.Reply, error) {
	ref := e.ref(c.Session, c.ID)
	if err := e.conn.Ask(ctx, "terminal/release", ref, nil); err != nil {
		return nil, fmt.Errorf("give terminal %s back: %w", ref.TerminalID, err)
	}
	return ide.Done{}, nil
}

func (e editor) ref(id core.SessionID, terminal string) acp.TerminalRef {
	return acp.TerminalRef{SessionID: string(id), TerminalID: strings.TrimPrefix(terminal, e.terminals)}
}

// said returns a text that may be missing.
func said(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
