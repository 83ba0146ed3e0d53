package ecaserver

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/fileuri"
	"dragoman/core/ide"
)

// editorFor is the time that an editor has for an answer: some never answer.
const editorFor = 20 * time.Second

// editorCaps lists what the session's editor can be asked; nil: there is none that can be asked anything.
func editorCaps(h core.Host) *eca.EditorCaps {
	e := ide.Of(h.Editor(""))
	if e == nil {
		return nil
	}
	is := e.Caps()
	caps := eca.EditorCaps{Diagnostics: is.Diagnostics, Definition: is.Definition, References: is.References}
	if caps == (eca.EditorCaps{}) {
		return nil
	}
	return &caps
}

// askEditor asks the session's editor.
func (c *chat) askEditor(ctx context.Context, call ide.Call) (ide.Reply, error) {
	e := ide.Of(c.host.Editor(ide.PathOf(call)))
	if e == nil {
		return nil, &ide.Lacks{Why: "has left"}
	}
	ctx, cancel := context.WithTimeout(ctx, editorFor)
	defer cancel()
	return e.Do(ctx, call)
}

// pathOf returns our path of an address of the server's.
func (c *chat) pathOf(uri string) (string, error) {
	if uri == "" {
		return "", nil
	}
	path, err := fileuri.Path(uri)
	return c.talk.b.paths.Here(path), err
}

func (c *chat) uriOf(path string) string { return fileuri.Of(c.talk.b.paths.There(path)) }

// diagnostics answers editor/getDiagnostics.
func (c *chat) diagnostics(ctx context.Context, params json.RawMessage) (any, error) {
	var q eca.DiagnosticsParams
	err := wire.Unmarshal(params, &q)
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", eca.MethodGetDiagnostics, err)
	}
	path, err := c.pathOf(q.URI)
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", eca.MethodGetDiagnostics, err)
	}
	reply, err := c.askEditor(ctx, ide.Diagnose{Session: c.meta.ID, Path: path})
	if err != nil {
		return nil, err
	}
	is := eca.DiagnosticsResult{Diagnostics: []json.RawMessage{}}
	found, _ := reply.(ide.Diagnostics)
	for _, d := range found.Items {
		one := eca.Diagnostic{URI: c.uriOf(d.Path), Severity: d.Severity, Source: d.Source, Message: d.Message, Range: span(d.Line, d.Column, d.EndLine, d.EndCol, 1)}
		if d.Severity == "information" {
			one.Severity = "info"
		}
		if d.Code != "" {
			one.Code = wire.JSON(d.Code)
		}
		is.Diagnostics = append(is.Diagnostics, wire.JSON(one))
	}
	return is, nil
}

// locate answers editor/getDefinition and editor/getReferences.
func (c *chat) locate(ctx context.Context, params json.RawMessage, references bool) (any, error) {
	var q eca.LocateParams
	err := wire.Unmarshal(params, &q)
	path := ""
	if err == nil {
		path, err = c.pathOf(q.URI)
	}
	if err != nil || path == "" {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "a place in a file is needed: %v", err)
	}
	reply, err := c.askEditor(ctx, ide.Locate{Session: c.meta.ID, Path: path, Line: q.Position.Line, Column: q.Position.Character, References: references})
	if err != nil {
		return eca.LocateResult{Status: eca.LocateFailed, Message: err.Error()}, nil
	}
	found, _ := reply.(ide.Places)
	is := eca.LocateResult{Status: eca.LocateFound, Locations: []eca.Location{}, Message: found.Why}
	for _, at := range found.Items {
		is.Locations = append(is.Locations, eca.Location{URI: c.uriOf(at.Path), Range: span(at.Line, at.Column, at.EndLine, at.EndCol, 0)})
	}
	switch {
	case len(found.Items) > 0 || found.Why == "":
	case strings.Contains(found.Why, "start"):
		is.Status = eca.LocateStarting
	default:
		is.Status = eca.LocateNone
	}
	return is, nil
}

// span returns a range that counts from 1, less an offset.
func span(line, column, endLine, endColumn, less int) *eca.Span {
	at := func(n int) int { return max(n-less, 0) }
	return &eca.Span{
		Start: eca.Place{Line: at(line), Character: at(column)},
		End:   eca.Place{Line: at(max(endLine, line)), Character: at(max(endColumn, 1))},
	}
}
