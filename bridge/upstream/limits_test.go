package upstream

import "testing"

// The number of a server's questions to a session's user is limited, and there is room for
// another one when one is answered.
func TestQuestionsOfServersAreBounded(t *testing.T) {
	u, n := &upstream{Keeper: &Keeper{status: statusRunning, outage: &outage{}}, calls: 1}, 0
	for n < 1000 && u.mayAsk() {
		n++
	}
	if n != 8 {
		t.Errorf("%d questions at a time", n)
	}
	if u.silence.Answered(); !u.mayAsk() || u.mayAsk() {
		t.Error("an answer does not make room for one")
	}
}
