package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// asked calls a tool and returns the client's result, or the error.
func asked(t *testing.T, cs *sdk.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error()
	}
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// folders creates a root, folders in it and next to it, and sessions that work there. The
// sessions whose names begin with "in" lie within the root.
func folders(t *testing.T, g *core.Gateway) (root, beside string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, beside = filepath.Join(dir, "app"), filepath.Join(dir, "app-evil")
	for _, d := range []string{filepath.Join(root, "sub"), beside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{filepath.Join(root, "out"): beside, filepath.Join(root, "nowhere"): filepath.Join(dir, "gone"), filepath.Join(dir, "way"): root} {
		if err := os.Symlink(to, name); err != nil {
			t.Skipf("no symbolic links: %v", err) // Windows, without the right to make them
		}
	}
	for id, roots := range map[core.SessionID][]string{
		"in-root": {root}, "in-sub": {filepath.Join(root, "sub")}, "in-gone": {filepath.Join(root, "gone", "too")}, "in-way": {filepath.Join(dir, "way", "sub")},
		"beside": {beside}, "above": {dir}, "link": {filepath.Join(root, "out")}, "nowhere": {filepath.Join(root, "nowhere")},
		"two": {root, beside}, "dots": {filepath.Join(root, "sub") + "/../../app-evil"},
	} {
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: id, Cwd: roots[0], Roots: roots})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "an editor", Asks: true})
		if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "say something secret"}}}); err != nil {
			t.Fatal(err)
		}
		a.Close()
	}
	return root, beside
}

// inside lists the sessions that lie within the root.
var inside = []string{"in-gone", "in-root", "in-sub", "in-way"}

// A client sees only sessions whose folders all lie within its roots. Any other session is
// answered as if it did not exist, however it is named.
func TestSessionsOutsideOfTheRoots(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), 0, nil)
			t.Cleanup(func() { g.Close(context.Background()) }) //nolint:errcheck // only the client's view counts
			root, beside := folders(t, g)
			s := mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Roots: []string{root}, Cwd: beside})
			cs := join(t, way, "2025-11-25", s, sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil))

			var list struct {
				Struct struct {
					Sessions []struct {
						ID string `json:"session_id"`
					}
				} `json:"structuredContent"`
			}
			if err := json.Unmarshal([]byte(asked(t, cs, "session_list", nil)), &list); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, s := range list.Struct.Sessions {
				ids = append(ids, s.ID)
			}
			wantIDs(t, "session_list", ids)
			res, err := cs.ListResources(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			ids = nil
			for _, r := range res.Resources {
				if rest, ok := strings.CutPrefix(r.URI, "dragoman://session/"); ok {
					ids = append(ids, strings.TrimSuffix(rest, "/transcript"))
				}
			}
			wantIDs(t, "resources/list", ids)
			all, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "dragoman://sessions"})
			if err != nil || strings.Contains(all.Contents[0].Text, beside) || strings.Count(all.Contents[0].Text, "session_id") != len(inside) {
				t.Errorf("dragoman://sessions: %v, %v", all, err)
			}
			values, err := cs.Complete(t.Context(), &sdk.CompleteParams{
				Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "dragoman://session/{id}"}, Argument: sdk.CompleteParamsArgument{Name: "id"},
			})
			if err != nil {
				t.Fatal(err)
			}
			wantIDs(t, "completion", values.Completion.Values)

			nowhere := everyWay(t, cs, "no-such-session")
			for _, id := range append(outside, "no-such-session") {
				for name, got := range everyWay(t, cs, id) {
					if got = strings.ReplaceAll(got, id, "no-such-session"); got != nowhere[name] {
						t.Errorf("%s of %q: %s; of one that is not there: %s", name, id, got, nowhere[name])
					}
				}
			}
			for _, id := range inside {
				for name, got := range everyWay(t, cs, id) {
					if strings.Contains(got, "There is no session") || strings.Contains(got, "not found") {
						t.Errorf("%s of %q: %s", name, id, got)
					}
				}
			}
			for _, id := range outside { // nothing has happened in them
				s, err := g.Open(t.Context(), core.Local, core.SessionID(id))
				if err != nil {
					t.Errorf("%s: %v", id, err)
				} else if a := s.Attach(core.Client{Role: core.Observe}); a.State().Messages != 2 {
					t.Errorf("%s has %d messages", id, a.State().Messages)
				}
			}
		})
	}
}

var outside = []string{"beside", "above", "link", "nowhere", "two", "dots"}

func wantIDs(t *testing.T, what string, got []string) {
	t.Helper()
	slices.Sort(got)
	if !slices.Equal(got, inside) {
		t.Errorf("%s: %v; want %v", what, got, inside)
	}
}

// everyWay names a session in every possible way.
func everyWay(t *testing.T, cs *sdk.ClientSession, id string) map[string]string {
	t.Helper()
	said := map[string]string{}
	for tool, more := range map[string]map[string]any{
		"agent_prompt": {"prompt": "say hello"}, "agent_wait": {"turn_id": "t1-1"}, "agent_cancel": nil,
		"agent_approve": {"approval_id": "q1", "decision": "reject_once"}, "session_get": nil, "session_close": nil,
	} {
		args := map[string]any{"session_id": id}
		for k, v := range more {
			args[k] = v
		}
		said[tool] = asked(t, cs, tool, args)
	}
	for _, what := range []string{"", "/transcript", "/transcript.json", "/turn/t1-1/diff"} {
		uri := "dragoman://session/" + id + what
		_, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		said["read"+what] = fmt.Sprint(err)
		said["subscribe"+what] = fmt.Sprint(cs.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
	}
	turns, err := cs.Complete(t.Context(), &sdk.CompleteParams{
		Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "dragoman://session/{id}/turn/{turn}/diff"}, Argument: sdk.CompleteParamsArgument{Name: "turn"},
		Context: &sdk.CompleteContext{Arguments: map[string]string{"id": id}},
	})
	if err != nil {
		t.Fatal(err)
	}
	said["turns"] = strings.Join(turns.Completion.Values, " ")
	said["delete"] = asked(t, cs, "session_close", map[string]any{"session_id": id, "delete": true})
	return said
}

// A client's own roots apply until it reports other ones.
func TestRootsOfTheClient(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), 0, nil)
			t.Cleanup(func() { g.Close(context.Background()) }) //nolint:errcheck // only the client's view counts
			root, beside := folders(t, g)
			client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
				Capabilities: &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{ListChanged: true}}, //nolint:staticcheck // clients of 2025-11-25 have them
			})
			client.AddRoots(&sdk.Root{URI: "file://" + root}) //nolint:staticcheck // as above
			cs := join(t, way, "2025-11-25", mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Cwd: beside}), client)
			got := asked(t, cs, "session_get", map[string]any{"session_id": "in-root"})
			if !strings.Contains(got, "something secret") {
				t.Errorf("within its roots: %s", got)
			}
			if got := asked(t, cs, "session_get", map[string]any{"session_id": "beside"}); !strings.Contains(got, "There is no session") {
				t.Errorf("outside: %s", got)
			}
			client.RemoveRoots("file://" + root)                //nolint:staticcheck // as above
			client.AddRoots(&sdk.Root{URI: "file://" + beside}) //nolint:staticcheck // as above
			if got := asked(t, cs, "session_get", map[string]any{"session_id": "beside"}); !strings.Contains(got, "something secret") {
				t.Errorf("within the new ones: %s", got)
			}
			if got := asked(t, cs, "session_get", map[string]any{"session_id": "in-root"}); !strings.Contains(got, "There is no session") {
				t.Errorf("within the old ones: %s", got)
			}
		})
	}
}
