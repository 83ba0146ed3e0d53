package mcp_test

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// What other clients have prompted has their name, who else is attached is listed, and a session that others
// have open is deleted only if the user agrees.
func TestOtherClients(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			g, b := newGateway(coretest.NewMemory(), 0, nil), board.New()
			t.Cleanup(func() { g.Close(context.Background()) }) //nolint:errcheck // only the log's content counts
			s := mcp.New(mcp.Options{Gateway: g, Board: b, Principal: core.Local, Cwd: t.TempDir()})
			choice, asked0 := "keep", 0
			zed := join(t, way, "2025-11-25", s, sdk.NewClient(&sdk.Implementation{Name: "Zed", Version: "1"}, nil))
			bot := join(t, way, "2025-11-25", s, sdk.NewClient(&sdk.Implementation{Name: "Bot", Version: "2"}, &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					if asked0++; !strings.Contains(r.Params.Message, "Zed 1 is attached to this session. Delete it for all?") {
						t.Errorf("the question: %s", r.Params.Message)
					}
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"choice": choice}}, nil
				},
			}))
			asked(t, zed, "agent_prompt", map[string]any{"prompt": "say Hello"})
			id := map[string]any{"session_id": "s1"}
			if got := asked(t, bot, "agent_wait", id); !strings.Contains(got, `"prompted_by":"Zed 1"`) || !strings.Contains(got, "[Prompted by Zed 1.]") {
				t.Errorf("a turn of another client: %s", got)
			}
			if got := asked(t, bot, "agent_prompt", map[string]any{"session_id": "s1", "prompt": "say Mine"}); strings.Contains(got, "rompted") {
				t.Errorf("a turn of its own: %s", got)
			}
			b.Put(board.Topic{Kind: "present", Name: "s1", Principal: core.Local}, board.Present{Clients: []core.Attendee{{ID: "z", Name: "Zed 1"}}})
			got := asked(t, bot, "session_get", id)
			for _, want := range []string{`"clients":["Zed 1"]`, "Zed 1 is attached to this session.", "User (Zed 1): say Hello", "User: say Mine"} {
				if !strings.Contains(got, want) {
					t.Errorf("session_get lacks %s: %s", want, got)
				}
			}
			remove := map[string]any{"session_id": "s1", "delete": true}
			if got := asked(t, zed, "session_close", remove); !strings.Contains(got, "Bot 2 is attached to this session.") || !strings.Contains(got, "isError") {
				t.Errorf("without a form: %s", got)
			}
			if got := asked(t, bot, "session_close", remove); !strings.Contains(got, "the session was kept") {
				t.Errorf("kept: %s", got)
			}
			choice = "delete"
			if got := asked(t, bot, "session_close", remove); strings.Contains(got, "isError") || asked0 != 2 {
				t.Errorf("deleted after %d questions: %s", asked0, got)
			}
			if got := asked(t, zed, "session_get", id); !strings.Contains(got, "There is no session") {
				t.Errorf("session_get of the other: %s", got)
			}
		})
	}
}
