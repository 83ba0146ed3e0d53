package aggregate

import (
	"encoding/json"
	"errors"
	"fmt"
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

// An aggregate remembers the servers of so many tasks; it looks for the others.
func TestRememberedTasksAreBounded(t *testing.T) {
	s, p := &side{tasks: map[string]*part{}}, &part{}
	for i := range 10_000 {
		id := fmt.Sprint("task ", i)
		s.learn(p, json.RawMessage(`{"taskId":"`+id+`"}`))
		if len(s.tasks) > 4096 || s.tasks[id] != p {
			t.Fatalf("%d are remembered; %s: %v", len(s.tasks), id, s.tasks[id] == p)
		}
	}
}
