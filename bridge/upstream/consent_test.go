package upstream

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// 64 calls of 2026-07-28 can wait for their users' answers, each for 15 minutes.
func TestConsentsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Consents
		call, state := Call{Tool: "echo", Args: json.RawMessage(`{}`)}, ""
		for range MaxParked {
			res, err := c.park("up", call, &AskFirst{Why: "must be asked by rule 1"})
			if err != nil {
				t.Fatal(err)
			}
			var parked struct{ RequestState string }
			if err := json.Unmarshal(res, &parked); err != nil {
				t.Fatal(err)
			}
			state = parked.RequestState
		}
		if _, err := c.park("up", call, &AskFirst{}); err == nil || !strings.Contains(err.Error(), "64 calls wait for answers already") {
			t.Errorf("one more: %v", err)
		}
		<-time.After(ParkedFor + time.Second)
		answers := json.RawMessage(`{"allow":{"action":"accept","content":{"allow":true}}}`)
		if kept, err := c.answered("up", "echo", state, answers); kept != nil || err != nil || len(c.open) > 0 {
			t.Errorf("afterwards: %v, %v, %d calls", kept, err, len(c.open))
		}
		if _, err := c.park("up", call, &AskFirst{}); err != nil {
			t.Error(err)
		}
		for state := range c.open {
			c.take(state)
		}
	})
}

// Answers that name the question twice allow nothing, whichever comes last.
func TestConsentsAnsweredTwice(t *testing.T) {
	yes, no := `{"action":"accept","content":{"allow":true}}`, `{"action":"decline"}`
	for _, answers := range []string{
		`{"allow":` + no + `,"allow":` + yes + `}`,
		`{"allow":` + yes + `,"allow":` + yes + `}`,
		`{"allow":{"action":"decline","action":"accept","content":{"allow":true}}}`,
		`{"allow":{"action":"accept","content":{"allow":true,"Allow":false}}}`,
		`{"Allow":` + yes + `}`,
		yes,
	} {
		var c Consents
		res, err := c.park("up", Call{Tool: "echo", Args: json.RawMessage(`{}`)}, &AskFirst{Why: "must be asked by rule 1"})
		if err != nil {
			t.Fatal(err)
		}
		var parked struct{ RequestState string }
		if err := json.Unmarshal(res, &parked); err != nil {
			t.Fatal(err)
		}
		kept, err := c.answered("up", "echo", parked.RequestState, json.RawMessage(answers))
		if kept != nil || err == nil || !strings.Contains(err.Error(), "did not allow the call") {
			t.Errorf("%s: %v, %v", answers, kept, err)
		}
	}
}
