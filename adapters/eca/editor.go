package eca

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/ide"
)

const (
	// editorWait limits the time for an answer of the editor: some editors never give one.
	editorWait = 15 * time.Second
	// serverWait is the time that a language server may take to start, and askAgain the interval
	// of requests meanwhile.
	serverWait = 20 * time.Second
	askAgain   = time.Second
	// maxProblems limits the diagnostics that are accepted.
	maxProblems = 2000
)

// editor is the client as a source of information from its language servers.
type editor struct {
	srv  *Server
	caps ide.Caps
}

var _ ide.Editor = (*editor)(nil)

// editor returns the client's editor; nil: it has none.
func (s *Server) editor() core.Editor {
	p := s.peerNow()
	if p.caps.Editor == nil {
		return nil
	}
	caps := *p.caps.Editor
	e := &editor{srv: s, caps: ide.Caps{Diagnostics: caps.Diagnostics, Definition: caps.Definition, References: caps.References}}
	if e.caps == (ide.Caps{}) {
		return nil
	}
	return e
}

// Lend implements core.Editor.
func (e *editor) Lend(id core.SessionID) core.Editor { return ide.Lend(e, id) }

// Caps implements ide.Editor.
func (e *editor) Caps() ide.Caps { return e.caps }

// Do implements ide.Editor. It waits no longer than the constants above.
func (e *editor) Do(ctx context.Context, call ide.Call) (ide.Reply, error) {
	switch c := call.(type) {
	case ide.Diagnose:
		return e.diagnose(ctx, c)
	case ide.Locate:
		return e.locate(ctx, c)
	case ide.ReadFile, ide.WriteFile, ide.StatFile, ide.GlobFiles, ide.ReadBytes, ide.OpenTerminal, ide.AwaitTerminal, ide.PeekTerminal, ide.CloseTerminal:
	}
	return nil, fmt.Errorf("the editor has no answer to %T", call)
}

var errShape = errors.New("the answer has another form than the protocol says")

// request asks the editor. The answer must be an object: clients answer an unknown request with a
// text, or not at all.
func (e *editor) request(ctx context.Context, method string, params, result any) error {
	ctx, stop := context.WithTimeoutCause(ctx, editorWait, fmt.Errorf("no answer within %s", editorWait))
	defer stop()
	var raw json.RawMessage
	if err := e.srv.conn.Ask(ctx, method, params, &raw); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	var failed struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	if !strings.HasPrefix(strings.TrimLeft(string(raw), " \t\r\n"), "{") || json.Unmarshal(raw, &failed) != nil {
		return fmt.Errorf("%s: %w", method, errShape)
	}
	if failed.Status == string(eca.LocateFailed) {
		return fmt.Errorf("%s: %s", method, cmp.Or(failed.Message, "the editor failed"))
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("%s: %w: %v", method, errShape, err)
	}
	return nil
}

func (e *editor) diagnose(ctx context.Context, c ide.Diagnose) (ide.Reply, error) {
	var p eca.DiagnosticsParams
	if c.Path != "" {
		p.URI = refer.URIOf(c.Path, [2]int{})
	}
	var res eca.DiagnosticsResult
	if err := e.request(ctx, eca.MethodGetDiagnostics, p, &res); err != nil {
		return nil, err
	}
	out := ide.Diagnostics{}
	for _, raw := range res.Diagnostics[:min(len(res.Diagnostics), maxProblems)] {
		var d eca.Diagnostic
		if json.Unmarshal(raw, &d) == nil {
			if item, ok := diagnostic(d); ok {
				out.Items = append(out.Items, item)
			}
		}
	}
	return out, nil
}

// diagnostic converts a diagnostic to the core's positions, which count from 1; the client's
// count from 0. A diagnostic without a file has no position.
func diagnostic(d eca.Diagnostic) (ide.Diagnostic, bool) {
	item := ide.Diagnostic{Path: refer.PathOf(d.URI), Source: d.Source, Message: d.Message}
	if item.Path == "" || d.Message == "" {
		return item, false
	}
	switch d.Severity {
	case "error", "warning", "hint":
		item.Severity = d.Severity
	default: // info, information, or a word of some checker
		item.Severity = "information"
	}
	if len(d.Code) > 0 && json.Unmarshal(d.Code, &item.Code) != nil && d.Code[0] != '{' && d.Code[0] != '[' {
		item.Code = string(d.Code) // a number
	}
	if r := d.Range; r != nil {
		item.Line, item.Column, item.EndLine, item.EndCol = fromBase(*r, 0)
	}
	return item, true
}

// fromBase converts a range that counts from base to one that counts from 1.
func fromBase(r eca.Span, base int) (line, column, endLine, endColumn int) {
	up := 1 - base
	line, column = max(r.Start.Line+up, 1), max(r.Start.Character+up, 1)
	endLine, endColumn = max(r.End.Line+up, line), max(r.End.Character+up, 1)
	if endLine == line {
		endColumn = max(endColumn, column)
	}
	return line, column, endLine, endColumn
}

func (e *editor) locate(ctx context.Context, c ide.Locate) (ide.Reply, error) {
	method := eca.MethodGetDefinition
	if c.References {
		method = eca.MethodGetReferences
	}
	p := eca.LocateParams{URI: refer.URIOf(c.Path, [2]int{}), Position: eca.Place{Line: c.Line, Character: c.Column}}
	for end := time.Now().Add(serverWait); ; {
		var res eca.LocateResult
		if err := e.request(ctx, method, p, &res); err != nil {
			return nil, err
		}
		switch res.Status {
		case eca.LocateFound:
			return places(res.Locations), nil
		case eca.LocateNone:
			return ide.Places{Why: cmp.Or(res.Message, "the editor has no language server for this file")}, nil
		case eca.LocateStarting:
		case eca.LocateFailed:
			return nil, fmt.Errorf("%s: %s", method, cmp.Or(res.Message, "the editor failed"))
		default:
			return nil, fmt.Errorf("%s: %w", method, errShape)
		}
		if !time.Now().Add(askAgain).Before(end) {
			return ide.Places{Why: "the language server is still starting; try again later"}, nil
		}
		again := time.NewTimer(askAgain)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// places returns the locations in files; others are left out.
func places(list []eca.Location) ide.Places {
	out := ide.Places{}
	for _, l := range list {
		p := ide.Place{Path: refer.PathOf(l.URI)}
		if p.Path == "" || l.Range == nil {
			continue
		}
		p.Line, p.Column, p.EndLine, p.EndCol = fromBase(*l.Range, 1)
		out.Items = append(out.Items, p)
	}
	return out
}
