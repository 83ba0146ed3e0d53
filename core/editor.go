package core

import "context"

// EditorCaps says what an editor does for us.
type EditorCaps struct {
	ReadFile  bool `json:"read_file,omitempty"`  // unsaved buffers win over the disk
	WriteFile bool `json:"write_file,omitempty"` // through its buffers
	Terminal  bool `json:"terminal,omitempty"`   // it runs commands, and shows them

	Stat      bool `json:"stat,omitempty"`
	Glob      bool `json:"glob,omitempty"`
	ReadBytes bool `json:"read_bytes,omitempty"`

	Diagnostics bool `json:"diagnostics,omitempty"` // what its language servers find wrong
	Definition  bool `json:"definition,omitempty"`
	References  bool `json:"references,omitempty"`
}

// Editor is the client as a provider of services. Calls and replies are plain
// data, so that they can cross a socket.
type Editor interface {
	Caps() EditorCaps
	// Do blocks until the editor answers or ctx ends. Callers set a deadline:
	// some clients never answer. An *EditorLacks means that the disk or a shell of
	// our own may take the editor's place; every other error is a refusal.
	Do(context.Context, EditorCall) (EditorReply, error)
}

// EditorLacks means that an editor does not have what it was asked for: it does not know the
// request, it has no such file, or its answer holds nothing.
type EditorLacks struct {
	Why string // continues the sentence "the editor …"
}

func (e *EditorLacks) Error() string { return "the editor " + e.Why }

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

// StatFile asks what a path is.
type StatFile struct {
	Session SessionID `json:"session"`
	Path    string    `json:"path"`
}

// GlobFiles asks for the files that a pattern fits.
type GlobFiles struct {
	Session SessionID `json:"session"`
	Pattern string    `json:"pattern"`
}

// ReadBytes asks for a part of a file as it is on the disk. Limit 0: to its end.
type ReadBytes struct {
	Session SessionID `json:"session"`
	Path    string    `json:"path"`
	Offset  int64     `json:"offset,omitempty"`
	Limit   int64     `json:"limit,omitempty"`
}

// Diagnose asks for what is found wrong in a file; the empty path: in all that
// the editor knows of.
type Diagnose struct {
	Session SessionID `json:"session"`
	Path    string    `json:"path,omitempty"`
}

// Locate asks where the thing that stands at a place is defined, or, with
// References, used. Line and Column are 1-based; columns count UTF-16 units.
type Locate struct {
	Session    SessionID `json:"session"`
	Path       string    `json:"path"`
	Line       int       `json:"line"`
	Column     int       `json:"column"`
	References bool      `json:"references,omitempty"`
}

// OpenTerminal runs a command in a terminal of the editor's. Limit is how many
// bytes of output it keeps, of the end.
type OpenTerminal struct {
	Session SessionID         `json:"session"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Limit   int               `json:"limit,omitempty"`
}

// AwaitTerminal waits until its command has ended.
type AwaitTerminal struct {
	Session SessionID `json:"session"`
	ID      string    `json:"id"`
}

// PeekTerminal asks for what it has printed so far.
type PeekTerminal struct {
	Session SessionID `json:"session"`
	ID      string    `json:"id"`
}

// CloseTerminal ends its command, if it runs, and gives it back.
type CloseTerminal struct {
	Session SessionID `json:"session"`
	ID      string    `json:"id"`
}

// EditorReply answers an EditorCall.
//
//sumtype:decl
type EditorReply interface{ editorReply() }

// FileText answers ReadFile.
type FileText struct {
	Text    string `json:"text"`
	Version uint64 `json:"version,omitempty"` // changes with the text; 0: the editor counts none
}

// FileStat answers StatFile.
type FileStat struct {
	Exists bool `json:"exists"`
	Dir    bool `json:"dir,omitempty"`
}

// FilePaths answers GlobFiles.
type FilePaths struct {
	Paths []string `json:"paths"`
}

// FileBytes answers ReadBytes.
type FileBytes struct {
	Data    []byte `json:"data"`
	Version uint64 `json:"version,omitempty"`
}

// Diagnostics answers Diagnose.
type Diagnostics struct {
	Items []Diagnostic `json:"items"`
}

// Diagnostic is one thing that is wrong. Lines and columns are 1-based; the end is
// behind the last character.
type Diagnostic struct {
	Path     string `json:"path"`
	Severity string `json:"severity"` // error, warning, information or hint
	Code     string `json:"code,omitempty"`
	Source   string `json:"source,omitempty"`
	Message  string `json:"message"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	EndLine  int    `json:"end_line,omitempty"`
	EndCol   int    `json:"end_column,omitempty"`
}

// Places answers Locate. Why says why there are none: no language server, one that
// still starts.
type Places struct {
	Items []Place `json:"items,omitempty"`
	Why   string  `json:"why,omitempty"`
}

// Place is a stretch of a file, 1-based; the end is behind the last character.
type Place struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	EndLine int    `json:"end_line,omitempty"`
	EndCol  int    `json:"end_column,omitempty"`
}

// TerminalOpened answers OpenTerminal.
type TerminalOpened struct {
	ID string `json:"id"`
}

// TerminalOutput answers AwaitTerminal and PeekTerminal.
type TerminalOutput struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"` // the beginning is missing
	Ended     bool   `json:"ended,omitempty"`
	Exit      *int   `json:"exit,omitempty"` // nil: it runs, or a signal ended it
	Signal    string `json:"signal,omitempty"`
}

// Done answers what has nothing to say.
type Done struct{}

func (ReadFile) editorCall()      {}
func (WriteFile) editorCall()     {}
func (StatFile) editorCall()      {}
func (GlobFiles) editorCall()     {}
func (ReadBytes) editorCall()     {}
func (Diagnose) editorCall()      {}
func (Locate) editorCall()        {}
func (OpenTerminal) editorCall()  {}
func (AwaitTerminal) editorCall() {}
func (PeekTerminal) editorCall()  {}
func (CloseTerminal) editorCall() {}

func (FileText) editorReply()       {}
func (FileStat) editorReply()       {}
func (FilePaths) editorReply()      {}
func (FileBytes) editorReply()      {}
func (Diagnostics) editorReply()    {}
func (Places) editorReply()         {}
func (TerminalOpened) editorReply() {}
func (TerminalOutput) editorReply() {}
func (Done) editorReply()           {}
