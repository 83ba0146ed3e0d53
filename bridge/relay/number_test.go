package relay

import (
	"strings"
	"testing"

	"dragoman/bridge/upstream"
)

// A client whose version is a number, as in the first days, learns what a server of today wants:
// that server's own words are about its parser.
func TestRelayExplainsAVersionThatIsANumber(t *testing.T) {
	t.Parallel()
	g := watched(t, "", upstream.Server{Name: "up", Endpoint: plays("sdk")})
	said := talk(t, g.Server, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`)
	for _, want := range []string{`"id":1,"error":{"code":-32602`, "the MCP server up does not speak version 1 of the protocol", "a version that is a date"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in %s", want, said)
		}
	}
}
