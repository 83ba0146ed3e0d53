package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// A client answers questions only in sessions that it has created or prompted, and deletes only
// those. It may read others.
func TestAnsweringInSessionsOfOthers(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), 0, nil)
			t.Cleanup(func() { g.Close(context.Background()) }) //nolint:errcheck // only the clients' views count
			s := mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir(), Settings: func() mcp.Settings { return mcp.Settings{ModelAnswers: true} }})
			options := func(elicits bool) *sdk.ClientOptions {
				if !elicits {
					return nil
				}
				return &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					t.Error("the user of a client that has not prompted is asked")
					return &sdk.ElicitResult{Action: "accept"}, nil
				}}
			}
			began := join(t, way, "2025-11-25", s, sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, options(false)))
			other := join(t, way, "2025-11-25", s, sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, options(false)))
			elicits := join(t, way, "2025-11-25", s, sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, options(true)))

			var waits struct {
				Struct struct {
					Session   string `json:"session_id"`
					Turn      string `json:"turn_id"`
					Approvals []struct {
						ID string `json:"approval_id"`
					} `json:"pending_approvals"`
				} `json:"structuredContent"`
			}
			if err := json.Unmarshal([]byte(asked(t, began, "agent_prompt", map[string]any{"prompt": "write a.txt"})), &waits); err != nil || len(waits.Struct.Approvals) != 1 {
				t.Fatalf("%+v, %v", waits, err)
			}
			session, approval := waits.Struct.Session, waits.Struct.Approvals[0].ID
			const refused = "neither started nor prompted"
			for name, cs := range map[string]*sdk.ClientSession{"another": other, "one that can ask its user": elicits} {
				for what, args := range map[string]map[string]any{
					"allow": {"approval_id": approval, "decision": "allow_once"}, "reject": {"approval_id": approval, "decision": "reject_once"},
					"answer": {"approval_id": approval, "answer": "yes"},
				} {
					args["session_id"] = session
					if got := asked(t, cs, "agent_approve", args); !strings.Contains(got, refused) {
						t.Errorf("%s: %s: %s", name, what, got)
					}
				}
				if got := asked(t, cs, "session_close", map[string]any{"session_id": session, "delete": true}); !strings.Contains(got, refused) {
					t.Errorf("%s: delete: %s", name, got)
				}
				if got := asked(t, cs, "agent_wait", map[string]any{"session_id": session, "wait_seconds": 0}); !strings.Contains(got, "awaiting_approval") {
					t.Errorf("%s: look: %s", name, got)
				}
			}
			if got := asked(t, began, "agent_approve", map[string]any{"session_id": session, "approval_id": approval, "decision": "allow_once"}); strings.Contains(got, "isError") {
				t.Errorf("who began it: %s", got)
			}
			if got := asked(t, began, "agent_wait", map[string]any{"session_id": session}); !strings.Contains(got, "Written.") {
				t.Errorf("who began it: %s", got)
			}
			if got := asked(t, other, "agent_prompt", map[string]any{"session_id": session, "prompt": "say mine too"}); !strings.Contains(got, "mine too") {
				t.Errorf("another prompts: %s", got)
			}
			asked(t, other, "session_close", map[string]any{"session_id": session}) // the session that it has prompted
			asked(t, elicits, "session_close", map[string]any{"session_id": session})
			if got := asked(t, other, "session_close", map[string]any{"session_id": session, "delete": true}); !strings.Contains(got, "c 1 is attached to this session.") && !strings.Contains(got, "c 1 (test) is attached to this session.") {
				t.Errorf("a session that another client has open is deleted: %s", got)
			}
			asked(t, began, "session_close", map[string]any{"session_id": session})
			if got := asked(t, other, "session_close", map[string]any{"session_id": session, "delete": true}); strings.Contains(got, "isError") {
				t.Errorf("who has prompted deletes: %s", got)
			}
		})
	}
}

// Each client has its own identity for policies, whatever its name.
func TestClientsHaveIdentitiesOfTheirOwn(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), 0, nil)
			t.Cleanup(func() { g.Close(context.Background()) }) //nolint:errcheck // only the log's content counts
			s := mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()})
			callers := map[core.Caller]int{}
			var session any
			for range 2 {
				cs := join(t, way, "2025-11-25", s, sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil))
				for range 2 {
					res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "agent_prompt", Arguments: map[string]any{"prompt": "say it", "session_id": session}})
					if err != nil || res.IsError {
						t.Fatalf("%+v, %v", res, err)
					}
					session = res.StructuredContent.(map[string]any)["session_id"]
				}
			}
			open, err := g.Open(t.Context(), core.Local, core.SessionID(session.(string)))
			if err != nil {
				t.Fatal(err)
			}
			a := open.Attach(core.Client{Role: core.Observe})
			r := a.Read(core.Pos{})
			defer r.Close()
			for r.Pos().Before(a.Head()) {
				recs, err := r.Until(t.Context(), a.Head())
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range recs {
					if e, ok := rec.Event.(core.TurnStarted); ok {
						callers[e.Origin.Caller]++
					}
				}
			}
			if len(callers) != 2 || callers[""] != 0 {
				t.Errorf("callers of 2 prompts each by 2 clients: %v", callers)
			}
		})
	}
}
