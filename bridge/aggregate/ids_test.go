package aggregate

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// A request whose id is null is answered: every version with a date forbids it.
func TestRequestsWithANullIDAreRefused(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":null,"method":"ping"}`
	const want = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"ping: the id of a request must not be null"}}`
	a := aggregate(t, upstream.Options{}, Options{})
	c := bridgetest.NewRaw(t, piped(t, a).(*mcp.IOTransport))
	c.Say(ping)
	if got := c.Next(); got != want {
		t.Errorf("pipe: %s", got)
	}
	resp, err := http.Post(overHTTP(t, a).(*mcp.StreamableClientTransport).Endpoint, "application/json", strings.NewReader(ping)) //nolint:noctx // a server of this process
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, _ := io.ReadAll(resp.Body); strings.TrimSpace(string(got)) != want || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("http: %d %s", resp.StatusCode, got)
	}
}
