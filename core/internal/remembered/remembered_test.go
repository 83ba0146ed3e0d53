package remembered

import (
	"reflect"
	"testing"

	"dragoman/core/internal/decision"
)

var (
	mine     = Turn[string]{Client: "Zed", Personal: true}
	planning = Turn[string]{Client: "Zed"}
	program  = Turn[string]{Client: "agent", Caller: "x"}
	another  = Turn[string]{Client: "agent", Caller: "y"}
)

// Each answer counts in the turns that are named, and in no other.
func TestAnswersCount(t *testing.T) {
	const yes, no = decision.AllowSession, decision.RejectAlways
	for _, c := range []struct {
		name       string
		by, client string
		said       decision.Decision
		in         Turn[string]
		counts     []Turn[string]
	}{
		{"a person's yes", Person, "Zed", yes, mine, []Turn[string]{mine}},
		{"a person's no", Person, "Zed", no, mine, []Turn[string]{mine, planning, program, another}},
		{"a person's yes to a program", Person, "Zed", yes, program, []Turn[string]{mine, program}},
		{"a person's no to a program", Person, "Zed", no, program, []Turn[string]{mine, planning, program, another}},
		{"a program's yes", "x", "agent", yes, program, []Turn[string]{program}},
		{"a program's no", "x", "agent", no, program, []Turn[string]{program}},
		{"a program's yes to a person's turn", "x", "agent", yes, mine, []Turn[string]{program}},
		{"an old yes of who prompted", "", "Zed", yes, mine, []Turn[string]{mine}},
		{"an old yes of somebody else", "", "Emacs", yes, mine, nil},
		{"an old yes to a program", "", "agent", yes, program, nil},
		{"an old no of somebody else", "", "Emacs", no, mine, []Turn[string]{mine, planning, program, another}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Answers[string]{}
			a.Add(c.by, c.client, "touch", c.said, c.in)
			var counts []Turn[string]
			for _, turn := range []Turn[string]{mine, planning, program, another} {
				if d, ok := a.Of(turn)["touch"]; ok {
					if d != c.said {
						t.Errorf("it became %q", d)
					}
					counts = append(counts, turn)
				}
			}
			if !reflect.DeepEqual(counts, c.counts) {
				t.Errorf("it counts in %+v", counts)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	a, other := Answers[string]{}, Answers[string]{}
	a.set("ann", "x", "1")
	a.set("ann", "y", "2")
	other.set("ann", "x", "3")
	other.set("bob", "x", "4")
	a.Merge(other)
	want := Answers[string]{"ann": {"x": "3", "y": "2"}, "bob": {"x": "4"}}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("%v, want %v", a, want)
	}
}
