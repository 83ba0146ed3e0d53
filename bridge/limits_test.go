package bridge

import (
	"encoding/json"
	"fmt"
	"testing"
)

// A server has so many questions with a user at a time, of a session or of a client of an
// aggregate, and room for another one when one is answered.
func TestQuestionsOfServersAreBounded(t *testing.T) {
	u, p := &upstream{Keeper: &Keeper{status: statusRunning}, calls: 1}, &part{}
	for name, c := range map[string]struct {
		most     int
		ask      func() bool
		answered func()
	}{"session": {8, u.mayAsk, u.asked}, "aggregate": {64, p.ask, p.answered}} {
		n := 0
		for n < 1000 && c.ask() {
			n++
		}
		if n != c.most {
			t.Errorf("%s: %d questions at a time", name, n)
		}
		if c.answered(); !c.ask() || c.ask() {
			t.Errorf("%s: an answer does not make room for one", name)
		}
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
