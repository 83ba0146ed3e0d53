package mcp

import "strings"

// Implementation identifies a program.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// String returns the name with the version.
func (i Implementation) String() string { return strings.TrimSpace(i.Name + " " + i.Version) }

// Types of a result (2026-07-28).
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
	ResultTask          = "task" // the call continues as a task
)

// Actions that answer an elicitation (Client, Elicitation).
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel" // the form was closed without a decision
)

// Modes of an elicitation; without a mode it is a form.
const (
	ModeForm = "form"
	ModeURL  = "url"
)
