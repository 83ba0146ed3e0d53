package relay

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/bridge/upstream"
	"dragoman/core/access"
)

const cancels7 = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`

// heard keeps what is written to a server.
type heard struct {
	io.WriteCloser
	all strings.Builder
}

func (h *heard) Write(b []byte) (int, error) {
	h.all.Write(b)
	return h.WriteCloser.Write(b)
}

// A call that is cancelled while it is judged never reaches the server.
func TestCancelledWhileItIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		judged := make(chan struct{})
		relay, _ := New(upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: plays("nobody")}}}), "up",
			func(string, string, json.RawMessage) error { <-judged; return nil })
		h := relay.HTTP("", func(*http.Request) access.Holder { return access.Owner("p") })
		l, _ := played(0)
		heard := &heard{WriteCloser: l.Out}
		l.Out = heard
		s := joins(t, h, "s", l)
		s.view.Shown("", json.RawMessage(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)) // so that it is known
		called, cancelled := make(chan string), make(chan int)
		go func() { called <- postTo(h, "s", echoCall("7")).Body.String() }()
		synctest.Wait()
		go func() { cancelled <- postTo(h, "s", cancels7).Code }()
		synctest.Wait()
		close(judged)
		if got := <-called; !strings.Contains(got, `"id":7,"error"`) || !strings.Contains(got, "taken back") {
			t.Errorf("the call: %s", got)
		}
		if code := <-cancelled; code != http.StatusAccepted {
			t.Errorf("the cancellation: %d", code)
		}
		h.Close()
		if strings.Contains(heard.all.String(), "tools/call") {
			t.Errorf("the server has heard %s", heard.all.String())
		}
	})
}
