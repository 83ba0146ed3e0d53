package choices

import "testing"

func TestOption(t *testing.T) {
	list := []Option{
		{ID: "mode", Value: "ask", Values: []Value{{ID: "ask"}, {ID: "plan"}}},
		{ID: "fast", Value: "false", Boolean: true},
	}
	for _, test := range []struct {
		id, value string
		takes     bool
	}{
		{"mode", "plan", true},
		{"mode", "Plan", false},
		{"mode", "", false},
		{"mode", "true", false},
		{"fast", "true", true},
		{"fast", "false", true},
		{"fast", "yes", false},
		{"fast", "", false},
	} {
		if got := Find(list, test.id).Takes(test.value); got != test.takes {
			t.Errorf("%s takes %q: got %t", test.id, test.value, got)
		}
	}
	set := Set(list, "mode", "plan")
	if Find(set, "mode").Value != "plan" || Find(set, "fast").Value != "false" {
		t.Errorf("set: got %+v", set)
	}
	if Find(list, "mode").Value != "ask" {
		t.Error("the list was changed, and not a copy")
	}
	if Find(list, "other") != nil || len(Set(list, "other", "x")) != 2 {
		t.Error("there is an option of another id")
	}
}
