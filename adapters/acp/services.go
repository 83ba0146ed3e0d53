package acp

import (
	"context"
	"fmt"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// editor is the client as a provider of files: fs/read_text_file and
// fs/write_text_file.
type editor struct {
	conn *wire.Conn
	caps acp.ClientCapabilities
}

var _ core.Editor = editor{}

// Caps implements core.Editor.
func (e editor) Caps() core.EditorCaps {
	return core.EditorCaps{ReadFile: e.caps.FS.ReadTextFile, WriteFile: e.caps.FS.WriteTextFile}
}

// Do implements core.Editor.
func (e editor) Do(ctx context.Context, call core.EditorCall) (core.EditorReply, error) {
	switch c := call.(type) {
	case core.ReadFile:
		var res acp.FileContent
		req := acp.ReadTextFile{SessionID: string(c.Session), Path: c.Path, Line: c.Line, Limit: c.Limit}
		if err := e.conn.Ask(ctx, "fs/read_text_file", req, &res); err != nil {
			return nil, fmt.Errorf("read %s through the editor: %w", c.Path, err)
		}
		return core.FileText{Text: res.Content}, nil
	case core.WriteFile:
		req := acp.WriteTextFile{SessionID: string(c.Session), Path: c.Path, Content: c.Text}
		if err := e.conn.Ask(ctx, "fs/write_text_file", req, nil); err != nil {
			return nil, fmt.Errorf("write %s through the editor: %w", c.Path, err)
		}
		return core.Done{}, nil
	}
	return nil, fmt.Errorf("the editor has no %T", call)
}
