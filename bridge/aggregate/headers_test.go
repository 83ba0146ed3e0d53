package aggregate

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// Tools whose headers are invalid can be neither seen nor called. The server speaks the one version that
// it names when it refuses the first request.
func TestToolsWithInvalidHeadersAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, version := range bridgetest.Eras {
		h := &bridgetest.HeaderServer{}
		site := httptest.NewServer(h)
		t.Cleanup(site.Close)
		up := upstream.Server{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: site.URL}, nil }}
		cs := bridgetest.Connected(t, piped(t, aggregate(t, upstream.Options{Servers: []upstream.Server{up}}, Options{})), version, nil)
		if got := strings.Join(bridgetest.ToolNames(t, cs), " "); got != "agent_prompt reserved good plain" {
			t.Errorf("%s: tools: %s", version, got)
		}
		for name, want := range map[string]string{"good": "called", "plain": "called", "dup": "there is no tool", "num": "there is no tool"} {
			if got := bridgetest.Said(t, cs, name, map[string]any{"r": "north"}); !strings.Contains(got, want) {
				t.Errorf("%s: %s: %s", version, name, got)
			}
		}
		if got := h.Calls(); len(got) != 2 || version == proto.Modern && !strings.Contains(strings.Join(got, ","), "good north") {
			t.Errorf("%s: calls: %q", version, got)
		}
	}
}
