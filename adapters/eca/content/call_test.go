package content

import (
	"fmt"
	"testing"
)

func TestSimpleCommands(t *testing.T) {
	for line, want := range map[string]string{
		"ls":                                 "[[ls]]",
		"  go  test ./...  ":                 "[[go test ./...]]",
		"a b && c || d | e ; f":              "[[a b] [c] [d] [e] [f]]",
		"make CC=gcc":                        "[[make CC=gcc]]",
		"CC=gcc make":                        "[[CC=gcc make]]",
		"a;b":                                "[[a] [b]]",
		"echo a && git status; ls | head -1": "[[echo a] [git status] [ls] [head -1]]",
		"a|b||c&&d":                          "[[a] [b] [c] [d]]",
		"a ;; b":                             "[[a ;; b]]",
		"a |& b":                             "[[a |& b]]",
		"a & b":                              "[[a & b]]",
		"a &&":                               "[[a &&]]",
		"&& a":                               "[[&& a]]",
		"a\nb":                               "[[a\nb]]",
		"a > b":                              "[[a > b]]",
		`echo "x y"`:                         `[[echo "x y"]]`,
		"echo $HOME":                         "[[echo $HOME]]",
		"echo \u202eabc":                     "[[echo \u202eabc]]",
		"cat ~/.ssh/id_ed25519":              "[[cat ~/.ssh/id_ed25519]]",
	} {
		if got := fmt.Sprint(simpleCommands(line)); got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
}
