package passed

import "testing"

func TestList(t *testing.T) {
	var l List[int]
	for _, step := range []struct {
		who       int
		name, why string
		want      string
	}{
		{1, "Zed", "it was dismissed", "it was dismissed"},
		{1, "Zed", "there was an error", "there was an error"},
		{2, "Emacs", "it was dismissed", "Zed: there was an error; Emacs: it was dismissed"},
		{1, "Zed", "it has left", "Emacs: it was dismissed; Zed: it has left"},
		{1, "Zed", "it was dismissed", "it was dismissed"},
	} {
		if got := l.Add(step.who, step.name, step.why); got != step.want {
			t.Errorf("%+v: %q", step, got)
		}
	}
	if !l.Has(1) || !l.Has(2) || l.Has(3) {
		t.Errorf("%+v", l)
	}
}
