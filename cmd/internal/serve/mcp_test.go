package serve

import "testing"

// By default a client's model may answer soft asks, but not over HTTP.
func TestModelAnswersByDefault(t *testing.T) {
	for configured, want := range map[string][2]bool{"": {true, false}, "soft": {true, true}, "none": {false, false}} {
		for i, overHTTP := range []bool{false, true} {
			if got := modelAnswers(configured, overHTTP); got != want[i] {
				t.Errorf("%q, over HTTP %t: %t", configured, overHTTP, got)
			}
		}
	}
}
