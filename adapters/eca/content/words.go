package content

import (
	"fmt"
	"strings"

	"dragoman/core"
)

// Name returns a name for content that is not text.
func Name(b core.Block) string {
	switch b := b.(type) {
	case core.Text:
		return b.Text
	case core.Image:
		return fmt.Sprintf("[image %s, %d bytes]", b.MIME, len(b.Data))
	case core.Audio:
		return fmt.Sprintf("[audio %s, %d bytes]", b.MIME, len(b.Data))
	case core.Link:
		if b.Name != "" {
			return "[" + b.Name + "](" + b.URI + ")"
		}
		return b.URI
	case core.Resource:
		return b.URI
	case core.Diff:
		return b.Path
	case core.Terminal:
		return b.ID
	}
	return ""
}

// Prompt returns the visible part of a prompt: its texts, with the names of the references
// between them. References after the last text are attachments, and are left out.
func Prompt(prompt []core.Block) string {
	var said, between strings.Builder
	for _, b := range prompt {
		if t, ok := b.(core.Text); ok {
			said.WriteString(between.String() + t.Text)
			between.Reset()
			continue
		}
		between.WriteString(" " + Name(b) + " ")
	}
	if text := strings.TrimSpace(said.String()); text != "" {
		return text
	}
	return strings.Join(strings.Fields(between.String()), " ")
}

// LoginCommand is the beginning of a prompt that is treated as a login.
const LoginCommand = "/login"

// LoginText says how to log in to an agent behind the gateway.
func LoginText(agent string) string {
	return "Send " + LoginCommand + " " + agent + " to log in, and then the prompt again."
}

// End describes the end of a turn; "" for a normal end.
func End(e core.TurnEnded) string {
	if e.Login != "" {
		return e.Err + "\n" + LoginText(e.Login)
	}
	switch e.Stop {
	case core.StopEnd:
		return e.Err
	case core.StopCanceled:
		return "Prompt stopped"
	case core.StopTokens:
		return "The answer was cut off at the model's limit for one answer."
	case core.StopRequests:
		return "The turn was ended: it came to the limit of requests to the model."
	case core.StopRefusal:
		return "The model declined to answer."
	case core.StopLimit:
		return "The turn was ended: " + e.Err
	case core.StopError, core.StopInterrupted:
		if e.Err == "" {
			return "The turn failed."
		}
	}
	return e.Err
}
