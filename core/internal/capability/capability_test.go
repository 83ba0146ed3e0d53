package capability

import (
	"strings"
	"testing"
)

var all = []Name{Rewind, Fork, Compact, Images, Audio, Resources}

func TestHas(t *testing.T) {
	for _, c := range []struct {
		name string
		caps Caps
		has  []Name
	}{
		{"works from our log", Caps{}, []Name{Rewind, Fork, Compact}},
		{"remembers and can do nothing", Caps{OwnsHistory: true, Steer: true, Load: true}, nil},
		{"remembers and forgets", Caps{OwnsHistory: true, Rewind: true}, []Name{Rewind}},
		{"remembers and forks", Caps{OwnsHistory: true, Fork: true, Images: true}, []Name{Fork, Images}},
		{"takes everything", Caps{OwnsHistory: true, Images: true, Audio: true, Resources: true}, []Name{Images, Audio, Resources}},
	} {
		has := map[Name]bool{}
		for _, what := range c.has {
			has[what] = true
		}
		for _, what := range append(all, "", "telepathy") {
			if got := Has(c.caps, what); got != has[what] {
				t.Errorf("one that %s has %q: %v", c.name, what, got)
			}
		}
	}
}

// The error names the first capability that is missing, each in words of its own.
func TestCheck(t *testing.T) {
	if err := Check("Bob", Caps{Images: true}, []Name{Images, Compact}); err != nil {
		t.Error(err)
	}
	if err := Check("Bob", Caps{Images: true}, []Name{Images, Audio, Resources}); err == nil || err.Error() != "agent Bob takes no audio" {
		t.Error(err)
	}
	said := map[string]Name{}
	for _, what := range all {
		text := (&Unsupported{"Bob", what}).Error()
		if other, twice := said[text]; twice || strings.TrimPrefix(text, "agent Bob ") == text {
			t.Errorf("without %s (and %s): %q", what, other, text)
		}
		said[text] = what
	}
}
