package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"dragoman/core"
	"dragoman/core/ide"
)

// calls and replies are the requests to editors, and their answers, by the names of their types.
var (
	calls = kinds[ide.Call](ide.ReadFile{}, ide.WriteFile{}, ide.StatFile{}, ide.GlobFiles{}, ide.ReadBytes{}, ide.Diagnose{}, ide.Locate{},
		ide.OpenTerminal{}, ide.AwaitTerminal{}, ide.PeekTerminal{}, ide.CloseTerminal{})
	replies = kinds[ide.Reply](ide.FileText{}, ide.FileStat{}, ide.FilePaths{}, ide.FileBytes{}, ide.Diagnostics{}, ide.Places{},
		ide.TerminalOpened{}, ide.TerminalOutput{}, ide.Done{})
)

func kinds[T any](all ...T) func(name string) (reflect.Type, bool) {
	return func(name string) (reflect.Type, bool) {
		for _, v := range all {
			if t := reflect.TypeOf(v); t.Name() == name {
				return t, true
			}
		}
		return nil, false
	}
}

// pack returns the name and the data of a request or an answer.
func pack(v any) (kind string, data json.RawMessage, err error) {
	data, err = json.Marshal(v)
	return reflect.TypeOf(v).Name(), data, err
}

// unpack is the inverse of pack.
func unpack[T any](of func(string) (reflect.Type, bool), kind string, data json.RawMessage) (v T, err error) {
	t, ok := of(kind)
	if !ok {
		return v, fmt.Errorf("%.40q is no request to an editor, nor an answer", kind)
	}
	p := reflect.New(t)
	if err := json.Unmarshal(data, p.Interface()); err != nil {
		return v, err
	}
	return p.Elem().Interface().(T), nil //nolint:forcetypeassert // the types of the list are T's
}

// remoteEditor is the editor of a client of another process.
type remoteEditor struct {
	of     *guest
	client string // attachParams.ID
	caps   ide.Caps
}

var _ ide.Editor = remoteEditor{}

// Caps implements ide.Editor.
func (e remoteEditor) Caps() ide.Caps { return e.caps }

// Lend implements core.Editor.
func (e remoteEditor) Lend(session core.SessionID) core.Editor { return ide.Lend(e, session) }

// Do implements ide.Editor. An editor whose process has ended lacks what is asked for.
func (e remoteEditor) Do(ctx context.Context, call ide.Call) (ide.Reply, error) {
	kind, data, err := pack(call)
	if err != nil {
		return nil, err
	}
	ask := editorParams{Client: e.client, Kind: kind, Call: data}
	if until, ok := ctx.Deadline(); ok {
		ask.Within = max(time.Until(until), time.Millisecond)
	}
	var is editorResult
	switch err := e.of.callback(ctx, methodEditor, ask, &is); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &ide.Lacks{Why: "has left"}
	case is.Lacks != "":
		return nil, &ide.Lacks{Why: is.Lacks}
	case is.Error != "":
		return nil, errors.New(is.Error)
	}
	return unpack[ide.Reply](replies, is.Kind, is.Reply)
}

// askEditor asks the editor of a client of this process for another one.
func askEditor(ctx context.Context, e core.Editor, ask editorParams) (is editorResult) {
	editor := ide.Of(e)
	if editor == nil {
		return editorResult{Lacks: "has left"}
	}
	call, err := unpack[ide.Call](calls, ask.Kind, ask.Call)
	if err != nil {
		return editorResult{Error: err.Error()}
	}
	if ask.Within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, ask.Within)
		defer stop()
	}
	reply, err := editor.Do(ctx, call)
	var lacks *ide.Lacks
	switch {
	case errors.As(err, &lacks):
		return editorResult{Lacks: lacks.Why}
	case err != nil:
		return editorResult{Error: err.Error()}
	}
	if is.Kind, is.Reply, err = pack(reply); err != nil {
		return editorResult{Error: err.Error()}
	}
	return is
}
