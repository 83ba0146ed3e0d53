package slash

import (
	"strings"
	"testing"

	"dragoman/core/internal/capability"
)

func TestMerge(t *testing.T) {
	ours := func() []Command {
		return []Command{
			{Kind: Builtin, Name: "resume"},
			{Kind: Builtin, Name: "model", Yields: true},
			{Kind: Builtin, Name: "compact", Needs: capability.Compact},
			{Kind: Custom, Name: "review"},
			{Kind: Skill, Name: "draw"},
		}
	}
	for _, c := range []struct {
		name string
		own  string
		caps *capability.Caps
		want string
	}{
		{"an agent with none", "", nil, "builtin/resume builtin/model builtin/compact custom/review skill/draw"},
		{"a name of its own", "sing", nil, "builtin/resume builtin/model builtin/compact custom/review skill/draw agent/sing"},
		{"one about the session", "resume", nil, "builtin/resume builtin/model builtin/compact custom/review skill/draw"},
		{"those that give way", "model review", nil, "builtin/resume builtin/compact skill/draw agent/model agent/review"},
		{"one name twice", "sing sing", nil, "builtin/resume builtin/model builtin/compact custom/review skill/draw agent/sing"},
		{"a capability that it has", "", &capability.Caps{}, "builtin/resume builtin/model builtin/compact custom/review skill/draw"},
		{"one that it lacks", "", &capability.Caps{OwnsHistory: true}, "builtin/resume builtin/model custom/review skill/draw"},
		{"and its own instead", "compact", &capability.Caps{OwnsHistory: true}, "builtin/resume builtin/model custom/review skill/draw agent/compact"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var own []Command
			for _, name := range strings.Fields(c.own) {
				own = append(own, Command{Name: name})
			}
			var got []string
			for _, m := range Merge(ours(), Own(own), c.caps) {
				got = append(got, string(m.Kind)+"/"+m.Name)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
			for _, o := range own {
				if o.Kind != "" {
					t.Error("the agent's list was changed")
				}
			}
		})
	}
}
