package core

import "context"

// EditorCaps says what an editor does for us.
type EditorCaps struct {
	ReadFile  bool `json:"read_file,omitempty"`  // unsaved buffers win over the disk
	WriteFile bool `json:"write_file,omitempty"` // through its buffers
}

// Editor is the client as a provider of services. Calls and replies are plain
// data, so that they can cross a socket.
type Editor interface {
	Caps() EditorCaps
	// Do blocks until the editor answers or ctx ends. Callers set a deadline:
	// some clients never answer.
	Do(context.Context, EditorCall) (EditorReply, error)
}

// EditorCall is a request to an editor.
//
//sumtype:decl
type EditorCall interface{ editorCall() }

// ReadFile asks for a file's text. Line is 1-based; Limit counts lines; 0: all.
type ReadFile struct {
	Session SessionID `json:"session"`
	Path    string    `json:"path"`
	Line    int       `json:"line,omitempty"`
	Limit   int       `json:"limit,omitempty"`
}

// WriteFile replaces a file's text.
type WriteFile struct {
	Session SessionID `json:"session"`
	Path    string    `json:"path"`
	Text    string    `json:"text"`
}

// EditorReply answers an EditorCall.
//
//sumtype:decl
type EditorReply interface{ editorReply() }

// FileText answers ReadFile.
type FileText struct {
	Text string `json:"text"`
}

// Done answers what has nothing to say.
type Done struct{}

func (ReadFile) editorCall()  {}
func (WriteFile) editorCall() {}
func (FileText) editorReply() {}
func (Done) editorReply()     {}
