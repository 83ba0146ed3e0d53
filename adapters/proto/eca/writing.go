package eca

// CompletionParams asks for text at a place of a document. It counts from 1.
type CompletionParams struct {
	DocText    string `json:"docText"`
	DocVersion int64  `json:"docVersion"`
	Path       string `json:"path,omitempty"` // undocumented
	Position   Place  `json:"position"`
}

// CompletionResult answers completion/inline.
type CompletionResult struct {
	Items []CompletionItem `json:"items,omitzero"`
	Error *Fault           `json:"error,omitempty"`
}

// CompletionItem is a text and its place.
type CompletionItem struct {
	Text       string `json:"text"`
	DocVersion int64  `json:"docVersion"`
	Range      Span   `json:"range"`
}

// RewriteParams asks for a rewrite of a text. Its range counts from 1.
type RewriteParams struct {
	ID     string  `json:"id"`
	Text   string  `json:"text"`
	Prompt string  `json:"prompt"`
	Path   *string `json:"path,omitempty"`
	Range  Span    `json:"range"`
}

// RewriteResult answers rewrite/prompt.
type RewriteResult struct {
	Status PromptStatus `json:"status,omitempty"`
	Model  string       `json:"model,omitempty"`
	Error  *Fault       `json:"error,omitempty"`
}

// RewriteContentParams carries a part of a rewrite.
type RewriteContentParams struct {
	RewriteID string         `json:"rewriteId"`
	Content   RewriteContent `json:"content"`
}

// The types of RewriteContent.
const (
	RewriteStarted   = "started"
	RewriteReasoning = "reasoning"
	RewriteText      = "text"    // Text: a part, to be appended
	RewriteReplace   = "replace" // Text: all of it, to replace the parts
	RewriteError     = "error"   // Message
	RewriteFinished  = "finished"
)

// RewriteContent is the union of its types: each uses the fields that are named there.
type RewriteContent struct {
	Type        string  `json:"type"`
	Text        *string `json:"text,omitempty"`
	Message     *string `json:"message,omitempty"`
	TotalTimeMs *int64  `json:"totalTimeMs,omitempty"` // of RewriteFinished
}
