package logs

import (
	"testing"
	"time"

	"dragoman/bridge/upstream"
)

// The line of a call has all that is known of it, in an order of its own.
func TestAppendRecord(t *testing.T) {
	at := time.Date(2026, 11, 28, 16, 0, 0, 120_000_000, time.FixedZone("", 3600))
	for want, c := range map[string]upstream.Audit{
		`{"time":"2026-11-28T15:00:00.12Z","principal":"local","client":"a \"b\" 1","token":"t","server":"up","tool":"<x>","outcome":"ok","ms":1.5,"in":7,"out":12}` + "\n": {
			Time: at, Principal: "local", Client: `a "b" 1`, Token: "t", Server: "up", Tool: "<x>",
			Outcome: upstream.OutcomeOK, Took: 1500 * time.Microsecond, In: 7, Out: 12,
		},
		`{"time":"2026-11-28T15:00:00.12Z","principal":"","server":"up","tool":"x","outcome":"refused","ms":0,"in":0,"out":0}` + "\n": {
			Time: at, Server: "up", Tool: "x", Outcome: upstream.OutcomeRefused,
		},
	} {
		if got := string(appendRecord(nil, c)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
