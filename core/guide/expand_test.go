package guide

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func TestSplitArgs(t *testing.T) {
	for in, want := range map[string][]string{
		"":                        nil,
		"  a  b\tc\nd ":           {"a", "b", "c", "d"},
		`"two words" one`:         {"two words", "one"},
		`'two words' one`:         {"two words", "one"},
		`a"b c"d`:                 {"ab cd"},
		`key="two words"`:         {"key=two words"},
		`don't say won't`:         {"don't", "say", "won't"},
		`'tis the season, don't`:  {"'tis", "the", "season,", "don't"},
		`'it's fine' x`:           {"it's fine", "x"},
		`"no end`:                 {`"no`, "end"},
		`a "b" "c`:                {"a", "b", `"c`},
		`a\ b \"c\" C:\new \`:     {"a b", `"c"`, `C:\new`, `\`},
		`"a \" b" "c \n \\"`:      {`a " b`, `c \n \`},
		`"" ''`:                   {"", ""},
		`"a\"`:                    {`a"`},
		"é \u00a0x":               {"é", "\u00a0x"},
		strings.Repeat("'a ", 3):  {"'a", "'a", "'a"},
		strings.Repeat("'a' ", 2): {"a", "a"},
	} {
		if got := splitArgs(in); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestExpandNamed(t *testing.T) {
	dir := tree(t, []txtar.File{
		{Name: "ws/.eca/commands/named.md", Data: []byte("---\narguments: [{name: b, required: true}]\n---\n{{a}}-{{b}}")},
		{Name: "ws/.eca/commands/numbered.md", Data: []byte("---\narguments: [first, second]\n---\n$2 $1 ($ARGUMENTS)")},
		{Name: "ws/.eca/commands/all.md", Data: []byte("all: $ARGUMENTS")},
		{Name: "ws/.eca/skills/s/SKILL.md", Data: []byte("---\ndescription: d\n---\ndo {{it}}")},
	})
	g := load(t, options(dir, ""))
	for _, tt := range []struct {
		name   string
		values map[string]string
		want   string
	}{
		{"named", map[string]string{"a": "x $1", "b": "y {{a}}"}, "x $1-y {{a}}"},
		{"named", map[string]string{"b": "y"}, "-y"},
		{"named", map[string]string{"a": "x"}, "/named: an argument is missing: b"},
		{"numbered", map[string]string{"first": "1", "second": "2"}, "2 1 (1 2)"},
		{"all", map[string]string{"arguments": "a b"}, "all: a b"},
		{"s", map[string]string{"it": "well"}, "do well"},
		{"nothing", nil, "/nothing: there is no such command"},
	} {
		got, err := g.ExpandNamed(tt.name, tt.values)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, tt.want) || tt.name != "s" && got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.name, tt.values, got, tt.want)
		}
	}
	if _, err := g.ExpandNamed("named", nil); !errors.Is(err, ErrMissing) {
		t.Errorf("%v is not ErrMissing", err)
	}
	if _, err := g.Expand("nothing", ""); !errors.Is(err, ErrNoCommand) {
		t.Errorf("%v is not ErrNoCommand", err)
	}
	if _, err := g.Expand("all", strings.Repeat("x", maxExpanded)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v", err)
	}
	if _, err := g.Expand("", ""); !errors.Is(err, ErrNoCommand) {
		t.Errorf("%v is not ErrNoCommand", err)
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"$ARGUMENTS $1 {{a}}", `\$1 ${{ a }} $10`, "{{a}}{{b}}$9$ARG3", "{{{{a}}}}", `\\$ARGS\`} {
		f.Add(s, `x "y z" a=b`)
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		args = strings.TrimSpace(args)
		list, _ := arguments(text, node{})
		words := splitArgs(args)
		total := 0
		for _, w := range words {
			total += len(w)
		}
		if total > len(args) {
			t.Errorf("%q became %q", args, words)
		}
		if len(list) > maxArguments {
			t.Errorf("%d arguments", len(list))
		}
		got, err := fill(text, args, words, naming(list, words))
		if err != nil {
			return
		}
		// Arguments are never expanded: a mark in each placeholder is unchanged in the
		// result.
		const mark = "\x00$1{{a}}$ARGUMENTS\x00"
		named := map[string]string{}
		for _, a := range list {
			named[a.Name] = mark
		}
		marked, err := fill(text, mark, slices.Repeat([]string{mark}, 9), named)
		if err != nil {
			return
		}
		places := 0
		for _, p := range pieces(text) {
			if _, known := named[p.text]; p.kind == allPiece || p.kind == positionPiece || p.kind == namedPiece && known {
				places++
			}
		}
		if n := strings.Count(marked, mark); n < places {
			t.Errorf("%d of %d places are filled: %q", n, places, marked)
		}
		if len(list) == 0 && !strings.Contains(text, "$ARG") && !strings.Contains(text, `\`) && args == "" && got != strings.TrimSpace(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func BenchmarkExpand(b *testing.B) {
	text := strings.Repeat("Write about {{topic}} in $1, and $ARGUMENTS. ", 100)
	for b.Loop() {
		list, _ := arguments(text, node{})
		words := splitArgs(`"two words" and topic=x`)
		if _, err := fill(text, "two words", words, naming(list, words)); err != nil {
			b.Fatal(err)
		}
	}
}
