package aggregate

import (
	"errors"
	"testing"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
)

// A question is refused while so many questions of the server are with the client.
func TestQuestionsOfServersAreBounded(t *testing.T) {
	s, p := &side{}, &part{}
	for range 64 {
		if !p.silence.Ask(maxAskingClient) {
			t.Fatal("refused too early")
		}
	}
	_, err := s.askClient(t.Context(), p, "example/ask", nil)
	if e, ok := errors.AsType[*jrpc2.Error](err); !ok || e.Code != wire.CodeBusy {
		t.Error(err)
	}
}
