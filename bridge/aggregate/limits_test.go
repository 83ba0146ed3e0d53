package aggregate

import (
	"encoding/json"
	"fmt"
	"testing"
)

// A server has so many questions with a client at a time, and room for another one when one
// is answered.
func TestQuestionsOfServersAreBounded(t *testing.T) {
	p, n := &part{}, 0
	for n < 1000 && p.ask() {
		n++
	}
	if n != 64 {
		t.Errorf("%d questions at a time", n)
	}
	if p.answered(); !p.ask() || p.ask() {
		t.Error("an answer does not make room for one")
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
