package upstream

import (
	"errors"
	"testing"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/bridgetest"
)

// A server without a handshake gets none, however it refuses the handshake.
func TestServersWithoutAHandshake(t *testing.T) {
	for name, refusal := range map[string]string{
		"unknown method":      `-32601,"message":"unknown method"`,
		"unsupported version": `-32022,"message":"unsupported version","data":{"supported":["2026-07-28"]}`,
		"missing header":      `-32020,"message":"Missing MCP-Protocol-Version header"`,
		"missing members":     `-32602,"message":"missing _meta keys"`,
		"named in words":      `-32000,"message":"Bad Request: Unsupported protocol version: 2025-11-25 (supported versions: 2026-07-28)"`,
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

// A version that a refusal names is offered next.
func TestVersionsThatARefusalNamesAreOffered(t *testing.T) {
	const old = `initialize"2025-06-18" {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
	const modern = `server/discover {"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{}}}`
	for name, script := range map[string]string{
		"data": `initialize {"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05","2025-06-18"],"requested":"2025-11-25"}}}
` + old,
		"words": `initialize {"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"Unsupported protocol version (supported versions: 2025-06-18, 2025-03-26)"}}
` + old,
		"an answer without a version": `initialize {"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete"}}
` + modern,
	} {
		t.Run(name, func(t *testing.T) {
			_, s := open(t, &host{}, Options{Servers: []Server{{Name: "up", Endpoint: plays("script", "SCRIPT="+script+"\n"+bridgetest.OneTool(""))}}})
			toolOf(t, s, "t")
		})
	}
}

// A server that refuses what it names itself is not asked for ever, and neither is one that names nothing.
func TestOffersEnd(t *testing.T) {
	for _, refusal := range []error{
		&jrpc2.Error{Code: proto.CodeUnsupportedVersion, Data: []byte(`{"supported":["2026-07-28","2025-11-25","2025-06-18","2099-01-01"]}`)},
		&jrpc2.Error{Code: proto.CodeUnsupportedVersion}, &jrpc2.Error{Code: jrpc2.InvalidParams}, &jrpc2.Error{Code: streamable.CodeUnreached, Message: "refused"},
		&versionError{[]string{""}}, &versionError{[]string{"2099-01-01"}}, errors.New("ended"),
	} {
		for _, first := range []string{proto.Modern, proto.Legacy} {
			offered := map[string]int{}
			n := 0
			for next := first; next != ""; n++ {
				offered[next]++
				next = nextOffer(next, refusal, offered)
			}
			if n > 7 || first == proto.Modern && offered[proto.Legacy] == 0 {
				t.Errorf("%v: %v", refusal, offered)
			}
		}
	}
}
