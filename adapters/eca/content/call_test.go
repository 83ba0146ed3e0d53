package content

import (
	"strings"
	"testing"
)

func TestSimpleCommands(t *testing.T) {
	for line, want := range map[string]string{
		"ls":                                 "ls",
		"  go  test ./...  ":                 "go test ./...",
		"a b && c || d | e ; f":              "a b|c|d|e|f",
		"make CC=gcc":                        "make CC=gcc",
		"a;b":                                "a|b",
		"a;":                                 "a",
		"echo a && git status; ls | head -1": "echo a|git status|ls|head -1",
		"a|b||c&&d":                          "a|b|c|d",
		"a\nb":                               "a|b",
		`echo "x y"`:                         `echo "x y"`,
		"echo 'a; b' c":                      `echo "a; b" c`,
		"go test ./... 2>&1 | tail -3":       "go test ./...|tail -3",
		"ls 2> /dev/null":                    "ls",
		"cat < in":                           "cat",
		// What writes into a file has no key, and is shown as a command of its own.
		"a > b":        "[a]",
		"a b 2>>c d":   "[a b d]",
		"a &> b; c":    "[a]|c",
		"grep a b > c": "[grep a b]",
		"cd src && grep -n old main.go > /tmp/o.txt; cat /tmp/o.txt": "cd src|[grep -n old main.go]|cat /tmp/o.txt",
		// What is not understood is one command without a key.
		"CC=gcc make":               "[CC=gcc make]",
		"a ;; b":                    "[a ;; b]",
		"a |& b":                    "[a |& b]",
		"a & b":                     "[a & b]",
		"a &&":                      "[a &&]",
		"&& a":                      "[&& a]",
		"echo $HOME":                "[echo $HOME]",
		`echo "$HOME"`:              `[echo "$HOME"]`,
		"echo `id`":                 "[echo `id`]",
		"cat <<EOF\nx\nEOF":         "[cat <<EOF\nx\nEOF]",
		"diff <(a) b":               "[diff <(a) b]",
		"echo \u202eabc":            "[echo \u202eabc]",
		"cat ~/.ssh/id_ed25519":     "[cat ~/.ssh/id_ed25519]",
		"for x in a b; do ls; done": "[for x in a b; do ls; done]",
		"echo 'a":                   "[echo 'a]",
		"> a":                       "[> a]",
		"a >":                       "[a >]",
		"":                          "[]",
	} {
		var got []string
		for _, c := range simpleCommands(line) {
			if text := c.key(); text != "" {
				got = append(got, text)
			} else {
				got = append(got, "["+strings.Join(c.words, " ")+"]")
			}
		}
		if got := strings.Join(got, "|"); got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
}
