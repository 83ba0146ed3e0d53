package upstream

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"dragoman/bridge/bridgetest"
)

// Tools whose headers are invalid are in no session's list, and that is logged once.
func TestToolsWithInvalidHeadersAreLeftOut(t *testing.T) {
	h := &bridgetest.HeaderServer{}
	site := httptest.NewServer(h)
	defer site.Close()
	var mu sync.Mutex
	var logged []string
	_, s := open(t, &host{}, Options{
		Servers: []Server{{Name: "up", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{URL: site.URL}, nil }}},
		Log: func(_, level, text string) {
			mu.Lock()
			defer mu.Unlock()
			if level == "warn" {
				logged = append(logged, text)
			}
		},
	})
	good := toolOf(t, s, "good")
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools) != 2 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	if _, err := call(t, good, `{"r":"north"}`); err != nil {
		t.Error(err)
	}
	if got := strings.Join(h.Calls(), ","); got != "good north" {
		t.Errorf("calls: %s", got)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		`its tool "dup" is left out: the x-mcp-header of its argument "in.b" is the same as another one (dup)`,
		`its tool "space" is left out: the x-mcp-header of its argument "a" is no name of a header`,
		`its tool "num" is left out: the x-mcp-header of its argument "a" belongs to a value that is no string, boolean or integer`,
		`its tool "escaped" is left out: the x-mcp-header of its argument "a" belongs to a value that is no string, boolean or integer`,
	}
	if strings.Join(logged, "\n") != strings.Join(want, "\n") {
		t.Errorf("logged: %q", logged)
	}
}
