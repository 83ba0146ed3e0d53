package upstream

import (
	"testing"

	"dragoman/bridge/bridgetest"
)

// A server without a handshake gets none, however it refuses the handshake.
func TestServersWithoutAHandshake(t *testing.T) {
	for name, refusal := range map[string]string{
		"unknown method":      `-32601,"message":"unknown method"`,
		"unsupported version": `-32022,"message":"unsupported version","data":{"supported":["2026-07-28"]}`,
		"missing header":      `-32020,"message":"Missing MCP-Protocol-Version header"`,
		"missing members":     `-32602,"message":"missing _meta keys"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, s := open(t, &host{}, Options{Servers: []Server{{Name: "up", Endpoint: plays("script", "SCRIPT="+
				`initialize {"jsonrpc":"2.0","id":$ID,"error":{"code":`+refusal+`}}
server/discover {"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{}}}
`+bridgetest.OneTool(""))}}})
			toolOf(t, s, "t")
		})
	}
}
