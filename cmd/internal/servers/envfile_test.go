package servers

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestEnvFiles(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\ufeff# a comment\n\nA=b\r\nexport B=c d\nC=\nD=a=b$5#x\nE='$X \"q\" \\n'\nF=\"a\\n\\$X\\\"\" # why\n_1=ü", "A=b|B=c d|C=|D=a=b$5#x|E=$X \"q\" \\n|F=a\n$X\"|_1=ü"},
		{"", ""},
		{"A=1\nB", "line 2: it is not NAME=VALUE"},
		{"A=1\n\n1B=x", `line 3: "1B" is not the name of a variable`},
		{"A B=x", `line 1: "A B" is not the name of a variable`},
		{"A =x", "line 1: it has a blank before the =; write none"},
		{"A= x", "line 1: the value of A begins with a blank; write no blanks around the =, or quotes"},
		{"A=1\nA=2", "line 2: A is set twice"},
		{"A='x", "line 1: the value of A has no closing quote on its line"},
		{"A=\"x", "line 1: the value of A has no closing quote on its line"},
		{"A='x'y", "line 1: the value of A goes on after its closing quote"},
		{`A="\q"`, `line 1: the value of A has a backslash before a character other than n, r, t, ", \ and $`},
		{"A=it's", "line 1: the value of A has a quote or a backslash in it; write '…' around it"},
		{"A=secret # note", "line 1: the value of A has a # after a blank, which may begin a comment; write '…' around it"},
		{"A=$HOME/x", "line 1: the value of A has a variable ($NAME), which is not replaced here; write '…' around the text itself"},
		{"A=\"${X}\"", `line 1: the value of A has a variable ($NAME), which is not replaced here; write \$ or '…' for the text itself`},
		{"A=$5$(cat x)", "line 1: the value of A has a variable ($NAME), which is not replaced here; write '…' around the text itself"},
		{"A=\x00", "line 1: it is not text"},
		{"A=\xff", "line 1: it is not text"},
	} {
		values, err := parseEnvFile([]byte(c.text))
		var got []string
		for _, name := range slices.Sorted(maps.Keys(values)) {
			got = append(got, name+"="+values[name])
		}
		shown := strings.Join(got, "|")
		if err != nil {
			shown = err.Error()
		}
		if shown != c.want {
			t.Errorf("%q: %s\nwant %s", c.text, shown, c.want)
		}
	}
}

// Whatever a file contains, reading it ends, and an error has none of the values.
func FuzzEnvFile(f *testing.F) {
	f.Add("A=b\nexport B='c' # d\nC=\"\\$x\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parseEnvFile([]byte(text))
		if err != nil && values != nil {
			t.Errorf("%q: values and %v", text, err)
		}
		for name := range values {
			if !isEnvName(name) {
				t.Errorf("%q: the name %q", text, name)
			}
		}
	})
}
