package company

import (
	"fmt"

	"dragoman/core"
)

const deletes = "delete"

// Deletion is the question whether a session is deleted although others are attached to it.
func Deletion(e *core.AttendedError) core.Ask {
	return core.Ask{Kind: core.AskQuestion, Text: Attached(Names(e.Clients, "")) + " Delete it for all?", Options: []core.Option{
		{ID: deletes, Label: "Delete it for all"}, {ID: "keep", Label: "Keep it"},
	}}
}

// Deletes reports whether the reply to [Deletion] is a yes.
func Deletes(r core.Reply) bool {
	return r.Outcome == core.OutcomeAnswered && r.Option == deletes
}

// Kept is the error of a client that cannot be asked.
func Kept(e *core.AttendedError) error {
	return fmt.Errorf("session %s was not deleted. %s Close it there first, or use \"dragoman sessions rm --force\"", e.Session, Attached(Names(e.Clients, "")))
}
