package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
	"dragoman/bridge/aggregate"
	"dragoman/bridge/relay"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// behind says what stands between the suite's server and the client that is this binary (asClient): a
// relay or an aggregate, and at which version the client speaks.
const (
	behind  = "CONFORMANCE_BEHIND"
	speaks  = "CONFORMANCE_SPEAKS"
	byRelay = "relay"
	byJoin  = "aggregate"
)

// TestClient runs the scenarios that the suites have for clients with a relay or an aggregate as the client,
// and one of the SDK's in front of it. TestLogins has those about logins.
func TestClient(t *testing.T) {
	t.Parallel()
	dir := suites(t)
	const early, late = "2025-11-25", "2026-07-28"
	turn := 0
	for _, c := range []struct {
		pkg, version string
		scenarios    []string
	}{
		{"suite-old", early, []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"}},
		{"suite-new", early, []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation"}},
		{"suite-new", late, []string{
			"request-metadata", "tools_call", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
			"json-schema-ref-no-deref", "json-schema-2020-12-preservation",
		}},
	} {
		for _, scenario := range c.scenarios {
			for _, by := range []string{byRelay, byJoin} {
				if turn++; turn%4 != 0 && !every() {
					continue
				}
				t.Run(strings.Join([]string{by, c.pkg, c.version, scenario}, "/"), func(t *testing.T) {
					t.Parallel()
					args := []string{"--scenario", scenario}
					if c.pkg == "suite-new" {
						args = append(args, "--spec-version", c.version)
					}
					var said string
					var failed map[string]string
					for range tries(t) {
						var n int
						if said, failed, n = (suite{pkg: c.pkg}).client(t, dir, []string{behind + "=" + by, speaks + "=" + c.version}, args...); len(failed) == 0 && n > 0 {
							return
						}
					}
					t.Errorf("%v\n%s", failed, said)
				})
			}
		}
	}
}

// front does what a scenario wants of a client, through what stands between.
func front(address string) error {
	ctx, stop := context.WithTimeout(context.Background(), 25*time.Second) // the suite ends it after 30
	defer stop()
	box := upstream.New(upstream.Options{
		Servers: []upstream.Server{{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: address}, nil }}},
		Log:     func(_, level, text string) { fmt.Fprintln(os.Stderr, level, text) },
	})
	defer box.Close()
	down, fromDown := io.Pipe()
	toDown, up := io.Pipe()
	served := make(chan error, 1)
	switch os.Getenv(behind) {
	case byRelay:
		r, ok := relay.New(box, "up", nil)
		if !ok {
			return errors.New("there is no relay")
		}
		go func() { served <- r.Serve(ctx, core.Local, os.TempDir(), down, up) }()
	default:
		b := board.New()
		g := core.New(core.Config{Store: coretest.NewMemory(), Listing: b, Node: "test", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return &core.Profile{}, nil })})
		defer g.Close(context.Background()) //nolint:errcheck // the process ends
		agent := mcp.New(mcp.Options{Gateway: g, Board: b, Principal: core.Local, Version: "1.0.0", Cwd: os.TempDir()})
		a := aggregate.New(box, aggregate.Options{Agent: joined{agent}, Servers: []string{"*"}})
		go func() { served <- a.Serve(ctx, os.TempDir(), core.Local, down, up) }()
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	cs, err := client.Connect(ctx, &sdk.IOTransport{Reader: toDown, Writer: fromDown}, &sdk.ClientSessionOptions{ProtocolVersion: os.Getenv(speaks)})
	if err == nil {
		err = use(ctx, cs)
		cs.Close() //nolint:errcheck // it has what it wants
	}
	fromDown.Close()
	return errors.Join(err, <-served)
}

// use reads and calls all that the server has, and nothing of our agent's.
func use(ctx context.Context, cs *sdk.ClientSession) error {
	var wanted struct {
		Calls []sdk.CallToolParams `json:"toolCalls"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted) // most scenarios want nothing in particular
	var listed []*sdk.Tool
	for tool, err := range cs.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		listed = append(listed, tool)
	}
	var rich any // the schema of the first tool, which an echo gets
	for _, tool := range listed {
		if strings.HasPrefix(tool.Name, "agent_") || strings.HasPrefix(tool.Name, "session_") {
			continue
		}
		if rich == nil {
			rich = tool.InputSchema
		}
		calls := slices.DeleteFunc(slices.Clone(wanted.Calls), func(c sdk.CallToolParams) bool { return c.Name != tool.Name })
		if len(calls) == 0 {
			calls = []sdk.CallToolParams{{Name: tool.Name, Arguments: example(tool.InputSchema, rich)}}
		}
		for _, call := range calls {
			if _, err := cs.CallTool(ctx, &call); err != nil {
				fmt.Fprintln(os.Stderr, tool.Name, err)
			}
		}
	}
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "http-invalid-tool-headers" { // the SDK's client would not call them, so we must refuse
		for _, name := range []string{"invalid_empty_header", "invalid_object_header", "invalid_number_header", "invalid_duplicate_diff_case", "invalid_space_in_name"} {
			if _, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: map[string]any{}}); err == nil {
				return fmt.Errorf("%s can be called", name)
			}
		}
	}
	for prompt, err := range cs.Prompts(ctx, nil) {
		if err != nil {
			break // it has none
		}
		_, _ = cs.GetPrompt(ctx, &sdk.GetPromptParams{Name: prompt.Name}) // the suite judges the request
	}
	for resource, err := range cs.Resources(ctx, nil) {
		if err != nil {
			break // it has none
		}
		_, _ = cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: resource.URI}) // as above
	}
	return nil
}

// example returns arguments for a schema; an argument named schema is rich.
func example(schema, rich any) map[string]any {
	args := map[string]any{}
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		kind, _ := p.(map[string]any)
		switch kind["type"] {
		case "string":
			args[name] = "text"
		case "integer":
			args[name] = 7
		case "number":
			args[name] = 1.5
		case "boolean":
			args[name] = true
		}
		if name == "schema" {
			args[name] = rich
		}
	}
	return args
}
