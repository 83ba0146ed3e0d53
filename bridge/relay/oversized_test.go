package relay

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
)

// An answer over the limit of one message ends the call with an error, and the connection lives on.
func TestAnswerOverTheLimitEndsTheRelayedCall(t *testing.T) {
	t.Parallel()
	hostile(t, bridgetest.Greeting+bridgetest.OneTool("")+"tools/call#1 huge\n"+bridgetest.ToolDone, nil, func(t *testing.T, cs *mcp.ClientSession) {
		if s, err := callT(t, cs, "t"); err == nil || !strings.Contains(err.Error(), "exceeds 64 MiB") {
			t.Errorf("%.300q, %v", s, err)
		}
		if s, err := callT(t, cs, "t"); s != "done" || err != nil {
			t.Errorf("the next call: %.300q, %v", s, err)
		}
	})
}
