package eca

import (
	"strings"
	"testing"

	"dragoman/adapters/eca/offer"
	"dragoman/core"
)

// Views make links of sources: only pages and files become links. A title is never empty, because
// the Emacs client fails on a missing one.
func TestCited(t *testing.T) {
	for _, c := range []struct {
		link core.Link
		want string
	}{
		{core.Link{URI: "https://x.example/a", Title: "A"}, `"content":{"type":"url","title":"A","url":"https://x.example/a"}`},
		{core.Link{URI: "file:///w/a.go", Name: "a.go"}, `"content":{"type":"url","title":"a.go","url":"file:///w/a.go"}`},
		{core.Link{URI: "http://x.example"}, `"content":{"type":"url","title":"http://x.example","url":"http://x.example"}`},
		{core.Link{URI: "command:rm", Title: "Click `here`"}, "\"content\":{\"type\":\"text\",\"text\":\"\\n`Click 'here' (command:rm)`\\n\"}"},
		{core.Link{URI: "javascript:alert(1)"}, "\"content\":{\"type\":\"text\",\"text\":\"\\n`javascript:alert(1)`\\n\"}"},
		{core.Link{URI: "http://%zz"}, "\"content\":{\"type\":\"text\",\"text\":\"\\n`http://%zz`\\n\"}"},
	} {
		v := newView("c", nil, "", offer.New(nil))
		if got := string(v.cited(nil, c.link)); !strings.Contains(got, c.want) {
			t.Errorf("%+v: got %s, want %s", c.link, got, c.want)
		}
	}
}
