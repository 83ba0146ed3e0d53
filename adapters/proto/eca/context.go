package eca

// The kinds of Context.
const (
	ContextFile        = "file"
	ContextDirectory   = "directory"
	ContextWeb         = "web"
	ContextRepoMap     = "repoMap"
	ContextCursor      = "cursor" // not in 001
	ContextMCPResource = "mcpResource"
	ContextImage       = "image" // not in 000 and 001
	ContextText        = "text"  // not in 000 and 001
)

// Context is a reference of a prompt. It is the union of all kinds: each uses the fields whose
// comments name it.
type Context struct {
	Type        string      `json:"type"`
	Path        string      `json:"path,omitempty"`        // file, directory, cursor
	LinesRange  *LinesRange `json:"linesRange,omitempty"`  // file
	URL         string      `json:"url,omitempty"`         // web
	Position    *Span       `json:"position,omitempty"`    // cursor
	URI         string      `json:"uri,omitempty"`         // mcpResource
	Name        string      `json:"name,omitempty"`        // mcpResource
	Description string      `json:"description,omitempty"` // mcpResource
	MIMEType    string      `json:"mimeType,omitempty"`    // mcpResource
	Server      string      `json:"server,omitempty"`      // mcpResource
	MediaType   string      `json:"mediaType,omitempty"`   // image
	Base64      string      `json:"base64,omitempty"`      // image
	Label       string      `json:"label,omitempty"`       // text
	Content     string      `json:"content,omitempty"`     // text
}

// CursorContext is a Context of the kind ContextCursor in an offer: the client knows its cursor,
// but all fields are present.
type CursorContext struct {
	Type     string `json:"type"`
	Path     string `json:"path"`
	Position Span   `json:"position"`
}

// ResourceContext is a Context of the kind ContextMCPResource in an offer, with all of its
// fields.
type ResourceContext struct {
	Type        string `json:"type"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
	Server      string `json:"server"`
}

// LinesRange is a part of a file, 1-based and inclusive.
type LinesRange struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Span is a part of a text.
type Span struct {
	Start Place `json:"start"`
	End   Place `json:"end"`
}

// Place is a place in a text.
type Place struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}
