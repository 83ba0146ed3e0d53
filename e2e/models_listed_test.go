package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// The models that a configured server lists need not be written down: editors are told of them
// when the list comes, after their first answers, and "dragoman models" has it without asking
// again.
func TestListedModelsReachEditors(t *testing.T) {
	t.Parallel()
	linuxOnly(t)
	for _, name := range []string{"eca", "acp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answered atomic.Bool
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1); !answered.Load() || r.URL.Path != "/api/tags" {
					t.Errorf("%s, before the editor had its answers: %t", r.URL, !answered.Load())
				}
				_, _ = w.Write([]byte(`{"models": [{"name": "qwen3:8b"}, {"name": "devstral:24b"}]}`))
			}))
			defer srv.Close()
			p := newPlace(t)
			p.userConfig(t, "providers: {box: {kind: ollama, base_url: "+srv.URL+"}}\n")
			if name == "eca" {
				e := p.edit(t, ecaDialect(), launch{})
				e.told("the demo", func(c chosen) bool { return c.SelectModel == "offline/demo" })
				e.begin()
				answered.Store(true)
				e.told("the server's models", func(c chosen) bool {
					return slices.Contains(c.Models, "box/qwen3:8b") && slices.Contains(c.Models, "box/devstral:24b")
				})
				e.leave()
			} else {
				e := p.edit(t, acpDialect(), launch{})
				e.begin()
				answered.Store(true)
				offered := false
				e.until("the server's models", func(m message) {
					offered = offered || m.Method == "session/update" && strings.Contains(string(m.raw), `"config_option_update"`) && strings.Contains(string(m.raw), `"box/qwen3:8b"`)
					e.dialect.take(e, m)
				}, func() bool { return offered })
				e.leave()
			}
			text, code := p.feed(t, "", "models", "list", "box/")
			if code != 0 || !strings.Contains(text, "box/devstral:24b") || asked.Load() != 1 {
				t.Errorf("asked %d times: %d %s", asked.Load(), code, text)
			}
		})
	}
}
