package company

import (
	"testing"

	"dragoman/core"
)

func TestNews(t *testing.T) {
	zed := core.Attendee{ID: "z", Name: "Zed 1.0", Node: "here, process 1"}
	emacs := core.Attendee{ID: "e", Name: "Emacs", Node: "here, process 2"}
	back := core.Attendee{ID: "e2", Name: "Emacs", Node: "here, process 3"}
	bot := core.Attendee{ID: "b", Name: "bot\u202e\nx", Node: "here, process 1", Observe: true}
	var c Company
	for i, step := range []struct {
		now  []core.Attendee
		want string
	}{
		{[]core.Attendee{zed, emacs, bot}, "Emacs and bot x (only watching) are also attached to this session."},
		{[]core.Attendee{zed, emacs, bot}, ""},
		{[]core.Attendee{zed, back, bot}, ""}, // it has come back
		{[]core.Attendee{zed, back, emacs}, "Emacs (here, process 2) joined this session. bot x (only watching) left this session."},
		{[]core.Attendee{zed, emacs}, "Emacs (here, process 3) left this session."},
		{[]core.Attendee{zed}, "Emacs left this session."},
		{[]core.Attendee{zed, {ID: "y", Name: "Zed 1.0", Node: "here, process 4"}}, "Zed 1.0 (here, process 4) joined this session."},
	} {
		if news := c.See(step.now); news != (i != 1) {
			t.Errorf("step %d: See = %v", i, news)
		}
		if got := c.News("z"); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	var alone Company
	if got := alone.News("z"); got != "" {
		t.Errorf("alone: %q", got)
	}
	if alone.See([]core.Attendee{emacs}); alone.News("z") != "Emacs joined this session." {
		t.Error("one who comes later did not join")
	}
}

func TestSpeaker(t *testing.T) {
	for _, c := range [][3]string{
		{"Zed 0.212", "Emacs 30", "Zed 0.212"},
		{"Zed 0.211", "Zed 0.212", ""},
		{"dragoman chat", "dragoman run", "dragoman chat"},
		{"", "Zed", ""},
		{"Zed", "", ""},
	} {
		if got := Speaker(core.Origin{Client: c[0]}, c[1]); got != c[2] {
			t.Errorf("%q to %q: %q", c[0], c[1], got)
		}
	}
}
