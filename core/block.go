package core

// Block is one piece of content, in a prompt or in a tool call's result. Its method returns its
// rough size, in bytes.
//
//sumtype:decl
type Block interface{ block() int }

// Text is plain or markdown text.
type Text struct {
	Text string `json:"text"`
}

// Image is a picture: its bytes, or where they are.
type Image struct {
	MIME string `json:"mime,omitempty"`
	Data []byte `json:"data,omitempty"`
	URI  string `json:"uri,omitempty"`
}

// Audio is a sound.
type Audio struct {
	MIME string `json:"mime,omitempty"`
	Data []byte `json:"data,omitempty"`
}

// Link names a resource that the reader may open for itself.
type Link struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mime,omitempty"`
	Size        int64  `json:"size,omitempty"` // bytes; 0: unknown
}

// Resource is the content of something that has a URI. Exactly one of Text and
// Blob is used; Lines, 1-based and inclusive, is the part of the file.
type Resource struct {
	URI   string `json:"uri"`
	MIME  string `json:"mime,omitempty"`
	Text  string `json:"text,omitempty"`
	Blob  []byte `json:"blob,omitempty"`
	Lines [2]int `json:"lines,omitzero"`
}

// Diff is a change to one file, made or only proposed. One with From is a move: what
// was there is at Path as it was, and Old and New mean nothing.
type Diff struct {
	Path    string `json:"path"` // absolute
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
	Created bool   `json:"created,omitempty"` // there was no file: Old is empty and ignored
	Patch   string `json:"patch,omitempty"`   // the same as a unified diff
	Added   int    `json:"added,omitempty"`   // lines
	Removed int    `json:"removed,omitempty"`
	From    string `json:"from,omitempty"`  // absolute; of a move: where the file was before
	Sum     string `json:"sum,omitempty"`   // of a move: the checksum of the file, which identifies it later; empty: unknown
	Shown   bool   `json:"shown,omitempty"` // it is only shown and never undone: it came with the file of a session
}

// Terminal is a terminal that the editor shows while a call runs in it. The call's result has
// its output as text, for later readers.
type Terminal struct {
	ID string `json:"id"` // the editor's
}

func (b Text) block() int     { return len(b.Text) }
func (b Image) block() int    { return len(b.Data) + len(b.URI) }
func (b Audio) block() int    { return len(b.Data) }
func (b Link) block() int     { return len(b.URI) + len(b.Description) }
func (b Resource) block() int { return len(b.Text) + len(b.Blob) }
func (b Diff) block() int     { return len(b.Old) + len(b.New) + len(b.Patch) }
func (b Terminal) block() int { return len(b.ID) }
