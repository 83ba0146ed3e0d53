package mcp

import (
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

// A feature that an agent lacks is a tool's error, with an alternative for the calling model.
func TestAnUnsupportedFeatureIsAToolError(t *testing.T) {
	for what, want := range map[core.Capability]string{
		core.CanImages: "The agent claude takes no images. Say it in words, or name another agent.",
		core.CanFork:   "The agent claude keeps its own history and cannot be forked. agent_prompt without session_id starts a new session.",
	} {
		res, _, err := failed("s", fmt.Errorf("fork session s: %w", &core.UnsupportedError{Agent: "claude", What: what}))
		if err != nil || !res.IsError || res.Content[0].(*mcp.TextContent).Text != want {
			t.Errorf("%s: %+v, %v", what, res, err)
		}
	}
}
