package mcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

// errText is a mistake of the caller, in words for the caller.
type errText string

func (e errText) Error() string { return string(e) }

// notItsSession refuses a client that wants to act in a session of other clients.
const notItsSession = "This client has neither started nor prompted the session, so it cannot %s."

// failed turns an error of the core into a tool's error, with advice for the calling model. The
// end of the context is returned unchanged, because nobody waits for the result any more.
func failed(session core.SessionID, err error) (*mcp.CallToolResult, any, error) {
	var lacks *core.UnsupportedError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, core.ErrCanceled):
		return nil, nil, err
	case errors.Is(err, core.ErrNotFound):
		return refusal("There is no session %q in this client's folders. session_list lists the sessions; agent_prompt without session_id starts one.", session), nil, nil
	case errors.Is(err, core.ErrNotAsked):
		return refusal("No approval of that id waits: it was decided, or its turn has ended. agent_wait tells what waits."), nil, nil
	case errors.Is(err, errNoTurn):
		return refusal("There is no such turn in session %q. session_get shows its messages.", session), nil, nil
	case errors.As(err, &lacks):
		return refusal("%s", lacking(lacks)), nil, nil
	case errors.Is(err, core.ErrClosed):
		return refusal("The session %q was closed.", session), nil, nil
	case errors.Is(err, core.ErrShutdown):
		return refusal("The gateway is shutting down."), nil, nil
	}
	return refusal("%s", err), nil, nil
}

// lacking names the feature that the agent of a session lacks, and an alternative for the calling
// model.
func lacking(e *core.UnsupportedError) string {
	switch e.What {
	case core.CanRewind, core.CanFork:
		return "The " + e.Error() + ". agent_prompt without session_id starts a new session."
	case core.CanImages, core.CanAudio, core.CanResources, core.CanCompact:
	}
	return "The " + e.Error() + ". Say it in words, or name another agent."
}
