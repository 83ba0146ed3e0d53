package eca

import "encoding/json"

// DiagnosticsParams asks for the diagnostics of a file; without one, of all files.
type DiagnosticsParams struct {
	URI string `json:"uri,omitempty"`
}

// DiagnosticsResult answers editor/getDiagnostics. Each of its elements is a Diagnostic.
type DiagnosticsResult struct {
	Diagnostics []json.RawMessage `json:"diagnostics"`
}

// Diagnostic is one diagnostic. Its range counts from 0; in 000 from 1.
type Diagnostic struct {
	URI      string          `json:"uri"`
	Severity string          `json:"severity"` // error, warning, info (some clients: information), hint
	Source   string          `json:"source"`
	Code     json.RawMessage `json:"code,omitempty"` // a text; some clients send numbers
	Range    *Span           `json:"range"`
	Message  string          `json:"message"`
}

// LocateParams asks for the definition, or the uses, of the name at a place. It counts from 1.
type LocateParams struct {
	URI      string `json:"uri"`
	Position Place  `json:"position"`
}

// LocateStatus is the outcome of the request.
type LocateStatus string

const (
	LocateFound    LocateStatus = "success"
	LocateStarting LocateStatus = "starting" // the language server; it may be asked again
	LocateNone     LocateStatus = "no-server"
	LocateFailed   LocateStatus = "error"
)

// LocateResult answers editor/getDefinition and editor/getReferences.
type LocateResult struct {
	Status    LocateStatus `json:"status"`
	Locations []Location   `json:"locations,omitempty"`
	Message   string       `json:"message,omitempty"`
}

// Location is a range in a file. It counts from 1.
type Location struct {
	URI   string `json:"uri"`
	Range *Span  `json:"range"`
}

// QuestionParams asks the user a question.
type QuestionParams struct {
	ChatID        string           `json:"chatId"`
	Question      string           `json:"question"`
	Options       []QuestionOption `json:"options,omitempty"`
	ToolCallID    string           `json:"toolCallId,omitempty"`
	AllowFreeform bool             `json:"allowFreeform"`
}

// QuestionOption is one possible answer.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// QuestionResult is the answer: a text, or null for none. Some clients send other values.
type QuestionResult struct {
	Answer    json.RawMessage `json:"answer"`
	Cancelled bool            `json:"cancelled"`
}
