package bridgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// HeaderTools are the tools of a HeaderServer; good has valid headers.
const HeaderTools = `{"name":"good","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"},"any":true,"in":{"type":"object","properties":{"n":{"type":["integer","null"],"x-mcp-header":"N"}}}}}},` +
	`{"name":"dup","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Dup"},"in":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"dup"}}}}}},` +
	`{"name":"space","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"X Y"}}}},` +
	`{"name":"num","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"Num"}}}},` +
	`{"name":"escaped","inputSchema":{"type":"object","properties":{"a":{"type":"array","x-mcp-\u0068eader":"A"}}}},` +
	`{"name":"plain","inputSchema":{"type":"object"}}`

// HeaderServer is a server of 2026-07-28 over HTTP whose tools have arguments that are headers. It
// refuses its first request, and names its version then.
type HeaderServer struct {
	mu    sync.Mutex // guards the fields below
	calls []string
	named bool
}

// Calls returns the tools that were called, with the header of the region.
func (s *HeaderServer) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// ServeHTTP implements http.Handler.
func (s *HeaderServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if !s.named || r.Header.Get("Mcp-Protocol-Version") != "2026-07-28" {
		s.named = true
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"],"requested":"?"}}}`, m.ID)
		return
	}
	result := `"content":[{"type":"text","text":"called"}]`
	switch m.Method {
	case "server/discover":
		result = `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{}`
	case "tools/list":
		result = `"ttlMs":0,"cacheScope":"private","tools":[` + HeaderTools + `]`
	case "tools/call":
		s.calls = append(s.calls, m.Params.Name+" "+r.Header.Get("Mcp-Param-Region"))
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}`, m.ID, result)
}
