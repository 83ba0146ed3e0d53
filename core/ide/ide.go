package ide

import (
	"context"

	"dragoman/core"
)

// Caps are the services that an editor offers.
type Caps struct {
	ReadFile  bool `json:"read_file,omitempty"`  // unsaved buffers win over the disk
	WriteFile bool `json:"write_file,omitempty"` // through its buffers
	Terminal  bool `json:"terminal,omitempty"`   // it runs commands, and shows them

	Stat      bool `json:"stat,omitempty"`
	Glob      bool `json:"glob,omitempty"`
	ReadBytes bool `json:"read_bytes,omitempty"`

	Diagnostics bool `json:"diagnostics,omitempty"` // problems found by its language servers
	Definition  bool `json:"definition,omitempty"`
	References  bool `json:"references,omitempty"`
}

// Editor is a client that provides services. Calls and replies are plain data, so that they
// can cross a socket.
type Editor interface {
	core.Editor
	Caps() Caps
	// Do blocks until the editor answers or ctx ends. Callers set a deadline: some
	// clients never answer. A *Lacks means that the disk or our own shell may take the
	// editor's place; every other error is a refusal.
	Do(context.Context, Call) (Reply, error)
}

// Of returns an editor that can be asked; nil: there is none.
func Of(e core.Editor) Editor {
	asked, _ := e.(Editor)
	return asked
}

// Lend returns the editor for other sessions: their requests are made for the given
// session.
func Lend(e Editor, session core.SessionID) core.Editor { return loan{e, session} }

// loan is an editor that knows only one of the sessions that use it.
type loan struct {
	Editor
	session core.SessionID
}

// Do implements Editor.
func (l loan) Do(ctx context.Context, call Call) (Reply, error) {
	return l.Editor.Do(ctx, call.of(l.session))
}

// Lacks means that an editor does not have the requested service or data: it does not
// know the request, it has no such file, or its answer is empty.
type Lacks struct {
	Why string // continues the sentence "the editor …"
}

func (e *Lacks) Error() string { return "the editor " + e.Why }

// Call is a request to an editor.
//
//sumtype:decl
type Call interface {
	// of returns the request for another session.
	of(core.SessionID) Call
}

// PathOf returns the file that a request is about; empty: none.
func PathOf(c Call) string {
	switch c := c.(type) {
	case ReadFile:
		return c.Path
	case WriteFile:
		return c.Path
	case StatFile:
		return c.Path
	case ReadBytes:
		return c.Path
	case Diagnose:
		return c.Path
	case Locate:
		return c.Path
	case GlobFiles, OpenTerminal, AwaitTerminal, PeekTerminal, CloseTerminal:
	}
	return ""
}

// ReadFile asks for a file's text. Line is 1-based; Limit counts lines; 0: all.
type ReadFile struct {
	Session core.SessionID `json:"session"`
	Path    string         `json:"path"`
	Line    int            `json:"line,omitempty"`
	Limit   int            `json:"limit,omitempty"`
}

// WriteFile replaces a file's text.
type WriteFile struct {
	Session core.SessionID `json:"session"`
	Path    string         `json:"path"`
	Text    string         `json:"text"`
}

// StatFile asks for the type of a path.
type StatFile struct {
	Session core.SessionID `json:"session"`
	Path    string         `json:"path"`
}

// GlobFiles asks for the files that match a pattern.
type GlobFiles struct {
	Session core.SessionID `json:"session"`
	Pattern string         `json:"pattern"`
}

// ReadBytes asks for a part of a file on the disk. Limit 0: to its end.
type ReadBytes struct {
	Session core.SessionID `json:"session"`
	Path    string         `json:"path"`
	Offset  int64          `json:"offset,omitempty"`
	Limit   int64          `json:"limit,omitempty"`
}

// Diagnose asks for the problems of a file; the empty path: of all files that the
// editor knows.
type Diagnose struct {
	Session core.SessionID `json:"session"`
	Path    string         `json:"path,omitempty"`
}

// Locate asks for the definition of the symbol at a place, or, with References, for
// its uses. Line and Column are 1-based; columns count UTF-16 units.
type Locate struct {
	Session    core.SessionID `json:"session"`
	Path       string         `json:"path"`
	Line       int            `json:"line"`
	Column     int            `json:"column"`
	References bool           `json:"references,omitempty"`
}

// OpenTerminal runs a command in a terminal of the editor. Limit is the number of
// bytes of output that it keeps, from the end.
type OpenTerminal struct {
	Session core.SessionID    `json:"session"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Limit   int               `json:"limit,omitempty"`
}

// AwaitTerminal waits until the terminal's command has ended.
type AwaitTerminal struct {
	Session core.SessionID `json:"session"`
	ID      string         `json:"id"`
}

// PeekTerminal asks for the output so far.
type PeekTerminal struct {
	Session core.SessionID `json:"session"`
	ID      string         `json:"id"`
}

// CloseTerminal ends the command, if it is running, and releases the terminal.
type CloseTerminal struct {
	Session core.SessionID `json:"session"`
	ID      string         `json:"id"`
}

// Reply answers an Call.
//
//sumtype:decl
type Reply interface{ reply() }

// FileText answers ReadFile.
type FileText struct {
	Text    string `json:"text"`
	Version uint64 `json:"version,omitempty"` // changes with the text; 0: the editor has no versions
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

// Diagnostic is one problem. Lines and columns are 1-based; the end is after the last
// character.
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

// Places answers Locate. Why is the reason why there are none: no language server, or
// one that is still starting.
type Places struct {
	Items []Place `json:"items,omitempty"`
	Why   string  `json:"why,omitempty"`
}

// Place is a range in a file, 1-based; the end is after the last character.
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
	Exit      *int   `json:"exit,omitempty"` // nil: it is running, or a signal ended it
	Signal    string `json:"signal,omitempty"`
}

// Done is a reply without content.
type Done struct{}

func (c ReadFile) of(s core.SessionID) Call      { c.Session = s; return c }
func (c WriteFile) of(s core.SessionID) Call     { c.Session = s; return c }
func (c StatFile) of(s core.SessionID) Call      { c.Session = s; return c }
func (c GlobFiles) of(s core.SessionID) Call     { c.Session = s; return c }
func (c ReadBytes) of(s core.SessionID) Call     { c.Session = s; return c }
func (c Diagnose) of(s core.SessionID) Call      { c.Session = s; return c }
func (c Locate) of(s core.SessionID) Call        { c.Session = s; return c }
func (c OpenTerminal) of(s core.SessionID) Call  { c.Session = s; return c }
func (c AwaitTerminal) of(s core.SessionID) Call { c.Session = s; return c }
func (c PeekTerminal) of(s core.SessionID) Call  { c.Session = s; return c }
func (c CloseTerminal) of(s core.SessionID) Call { c.Session = s; return c }

func (FileText) reply()       {}
func (FileStat) reply()       {}
func (FilePaths) reply()      {}
func (FileBytes) reply()      {}
func (Diagnostics) reply()    {}
func (Places) reply()         {}
func (TerminalOpened) reply() {}
func (TerminalOutput) reply() {}
func (Done) reply()           {}
