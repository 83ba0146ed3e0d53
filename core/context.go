package core

import "fmt"

// Context lists the things that a client keeps in view besides its messages. A turn is given what has changed
// since the turn before.
type Context struct {
	// Standing stays in the agent's view, for a model in its system prompt, until the client
	// keeps something else there: files, folders, pages.
	Standing []Block
	// Passing is a part of the message if it has changed: texts, and at most one Link, the
	// place where the user looks.
	Passing []Block
}

// slotOf names the thing that a passing block shows: a later block of the same slot replaces it.
func slotOf(b Block) string {
	switch b := any(b).(type) {
	case Resource:
		return "uri " + b.URI
	case Image:
		return "uri " + b.URI
	}
	return fmt.Sprintf("%T", b)
}
