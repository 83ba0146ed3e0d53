package llm

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// client is an MCP client.
type client struct {
	sampling, tools bool
	says            func(ctx context.Context, params json.RawMessage) (string, error)
}

func (c *client) Offers(_ context.Context, _ core.Principal, s core.SessionID) (bool, bool) {
	return c.sampling && s == "s1", c.tools
}

func (c *client) CreateMessage(ctx context.Context, _ core.Principal, _ core.SessionID, params json.RawMessage) (json.RawMessage, error) {
	text, err := c.says(ctx, params)
	return json.RawMessage(text), err
}

func sampled(t *testing.T, s Sampler, name string) inference.Model {
	t.Helper()
	m, err := New(Config{Sampler: s, Providers: []Provider{{Name: "client", Kind: KindSampling}}}).Model("client/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSampling: the requests to clients, with tools and without, and the deltas of
// their answers.
func TestSampling(t *testing.T) {
	r := coretest.ModelRequest(core.Text{Text: "look <at> this"}, core.Image{MIME: "image/png", Data: []byte{1, 2, 3}}, core.Image{URI: "https://x.test/y.png"})
	r.Messages = append(r.Messages,
		inference.Message{Role: inference.RoleAssistant, Text: "I look.", Calls: []inference.ToolUse{{ID: "c1", Name: "get_time", Args: []byte(`{"tz":"CET"}`)}, {ID: "c2", Name: "get_weather", Args: []byte(`{"bro`)}}},
		inference.Message{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "c1", Name: "get_time", Blocks: []core.Block{core.Text{Text: "noon"}}}},
		inference.Message{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "c2", Name: "get_weather", Failed: true}},
		inference.Message{Role: inference.RoleAssistant},
		inference.Message{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "go on"}}})
	for _, tools := range []bool{true, false} {
		got := ""
		c := &client{sampling: true, tools: tools, says: func(_ context.Context, params json.RawMessage) (string, error) {
			got = indented(t, params) + "\n"
			return `{"role":"assistant","model":"x","content":{"type":"text","text":"fine"},"stopReason":"endTurn"}`, nil
		}}
		h := coretest.Hear(t.Context(), t, sampled(t, c, "claude"), r, nil)
		if h.Err != nil || h.Text != "fine" || h.Stop != core.StopEnd || h.Usage == nil || !h.Usage.Estimated || h.Usage.Cost != nil {
			t.Errorf("heard %+v", h)
		}
		golden := filepath.Join("testdata", "request", map[bool]string{true: "sampling.json", false: "sampling-text.json"}[tools])
		coretest.GoldenFile(t, golden, got, *update)
	}
	for name, c := range map[string]struct {
		says string
		want func(*coretest.Transcript) bool
	}{
		"calls": {
			`{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"get_time","input":{"tz":"CET"}},{"type":"tool_use","id":"a","name":"get_weather","input":{}}],"stopReason":"toolUse"}`,
			func(h *coretest.Transcript) bool {
				return len(h.Calls) == 2 && h.Calls[0].ID == "a" && h.Calls[0].Args == `{"tz":"CET"}` && h.Calls[1].ID != "a" && h.Stop == core.StopEnd
			},
		},
		"length":    {`{"role":"assistant","content":{"type":"text","text":"cut"},"stopReason":"maxTokens"}`, func(h *coretest.Transcript) bool { return h.Stop == core.StopTokens && h.Text == "cut" }},
		"bad input": {`{"role":"assistant","content":{"type":"tool_use","id":"a","name":"x","input":[1]}}`, func(h *coretest.Transcript) bool { return len(h.Calls) == 1 && h.Calls[0].Bad != nil }},
		"picture":   {`{"role":"assistant","content":{"type":"image","data":"AA==","mimeType":"image/png"}}`, func(h *coretest.Transcript) bool { return strings.Contains(h.Text, "a picture") }},
		"a user's":  {`{"role":"user","content":{"type":"text","text":"x"}}`, isServerError},
		"not JSON":  {`{"role":`, isServerError},
		"a list":    {`[]`, isServerError},
	} {
		s := &client{sampling: true, tools: true, says: func(context.Context, json.RawMessage) (string, error) { return c.says, nil }}
		if h := coretest.Hear(t.Context(), t, sampled(t, s, anyModel), coretest.ModelRequest(), nil); !c.want(h) {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

func isServerError(h *coretest.Transcript) bool {
	var e *inference.Error
	return errors.As(h.Err, &e) && e.Kind == inference.ErrServer
}

// TestSamplingFails: a client that offers nothing, one that refuses, and a context
// that ends 40 times.
func TestSamplingFails(t *testing.T) {
	for name, s := range map[string]Sampler{"nobody": nil, "no sampling": &client{}} {
		if h := coretest.Hear(t.Context(), t, sampled(t, s, "x"), coretest.ModelRequest(), nil); !isServerError(h) {
			t.Errorf("%s: %v", name, h.Err)
		}
	}
	refuses := &client{sampling: true, says: func(context.Context, json.RawMessage) (string, error) {
		return "", errors.New("User rejected sampling request")
	}}
	h := coretest.Hear(t.Context(), t, sampled(t, refuses, "x"), coretest.ModelRequest(), nil)
	var e *inference.Error
	if !errors.As(h.Err, &e) || e.Kind != inference.ErrBadRequest || !strings.Contains(e.Message, "User rejected") {
		t.Errorf("refused: %v", h.Err)
	}
	for range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		waits := &client{sampling: true, says: func(ctx context.Context, _ json.RawMessage) (string, error) {
			cancel()
			<-ctx.Done()
			return `{"role":"assistant","content":{"type":"text","text":"late"}}`, nil
		}}
		if h := coretest.Hear(ctx, t, sampled(t, waits, "x"), coretest.ModelRequest(), nil); !errors.Is(h.Err, context.Canceled) || h.Stop != "" {
			t.Fatalf("cancelled: %q, %v", h.Stop, h.Err)
		}
	}
}
