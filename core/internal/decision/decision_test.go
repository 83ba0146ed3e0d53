package decision

import "testing"

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []Decision
		plain   bool
	}{
		{"none", nil, true},
		{"yes and no", []Decision{AllowOnce, RejectOnce}, true},
		{"yes for the session as well", []Decision{AllowSession, AllowOnce, RejectOnce}, true},
		{"no alone", []Decision{RejectOnce}, false},
		{"no way to say no", []Decision{AllowOnce, AllowSession}, false},
		{"two yes", []Decision{AllowOnce, AllowOnce, RejectOnce}, false},
		{"one for good", []Decision{AllowOnce, AllowAlways, RejectOnce}, false},
		{"one that decides nothing", []Decision{AllowOnce, RejectOnce, ""}, false},
	} {
		var options []Option
		for _, d := range c.options {
			options = append(options, Option{Decision: d})
		}
		if got := Plain(options); got != c.plain {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestFind(t *testing.T) {
	options := []Option{{ID: "y", Label: "Yes"}, {ID: "n", Label: "No"}, {ID: "n", Label: "Never"}, {Label: "Nameless"}}
	for id, label := range map[string]string{"y": "Yes", "n": "", "": "", "x": ""} {
		if o, ok := Find(options, id); o.Label != label || ok != (label != "") {
			t.Errorf("option %q is %+v, %v", id, o, ok)
		}
	}
}

func TestInWords(t *testing.T) {
	options := []Option{{Label: "Tea", Description: "hot"}, {Label: "Water"}}
	for _, c := range []struct {
		text, url string
		options   []Option
		want      string
	}{
		{" Thirsty?\n", "", nil, "Thirsty?"},
		{"Thirsty?", "", options, "Thirsty?\n\n1. Tea: hot\n2. Water"},
		{"Order here:", "https://example.com/tea", options, "Order here:\nhttps://example.com/tea"},
		{"", "https://example.com/tea", nil, "https://example.com/tea"},
	} {
		if got := InWords(c.text, c.url, c.options); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
