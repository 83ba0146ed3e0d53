package callstate

import "testing"

func TestStates(t *testing.T) {
	all := []State{"", Proposed, Awaiting, Running, Succeeded, Errored, Rejected, Canceled}
	for _, s := range all {
		if ended := s == Succeeded || s == Errored || s == Rejected || s == Canceled; s.Ended() != ended {
			t.Errorf("%q ended: %v", s, s.Ended())
		}
		for _, next := range all {
			if s.Ended() && s.To(next) || next == "" && s.To(next) {
				t.Errorf("%q may go to %q", s, next)
			}
		}
	}
	if !State("").To(Proposed) || State("").To(Running) || !Awaiting.To(Running) || Awaiting.To(Succeeded) || !Running.To(Succeeded) {
		t.Error("a call does not begin as proposed, or ends without having run")
	}
}
