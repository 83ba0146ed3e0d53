package guide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

func (n node) String() string {
	switch n.kind {
	case listNode:
		var all []string
		for _, v := range n.list {
			all = append(all, v.String())
		}
		return "[" + strings.Join(all, " ") + "]"
	case mapNode:
		var all []string
		for _, f := range n.fields {
			all = append(all, f.key+"="+f.value.String())
		}
		return "{" + strings.Join(all, " ") + "}"
	case textNode:
	}
	return fmt.Sprintf("%q", n.text)
}

func TestFrontMatter(t *testing.T) {
	for _, tt := range []struct{ name, front, want string }{
		{"nothing", "", `{}`},
		{"comment", "# a comment", `{}`},
		{"plain", "a: b\nc:  d e # comment\nf: g#h", `{a="b" c="d e" f="g#h"}`},
		{"empty", "a:\nb: ~\nc: null\n", `{a="" b="~" c="null"}`},
		{"escapes", `a: "\t\r\x41\U0001F600\/\ |"` + "\nb: \"c\\\n  d\"\ne: \"\\q\"\nf: \"\\x4\"", `{a="\t\rA😀/ |" b="cd" e="\"\\q\"" f="\"\\x4\""}`},
		{"quoted", `a: "b: \"c\"\n\u00e9"` + "\nb: 'it''s # one'\n\"c d\": e", `{a="b: \"c\"\né" b="it's # one" c d="e"}`},
		{"quoted over lines", "a: \"b\n  c\n\n  d\"\ne: f", `{a="b c\nd" e="f"}`},
		{"continued", "a: b\n  c: d\n  e\n\n  f\ng: h", `{a="b c: d e\nf" g="h"}`},
		{"below", "a:\n  b c\n  d", `{a="b c d"}`},
		{"literal", "a: |\n  b\n    c\n\n  d\ne: f", `{a="b\n  c\n\nd" e="f"}`},
		{"folded", "a: >-\n  b\n  c\n\n  d\n    e\n  f\ng: h", `{a="b c\nd\n  e\nf" g="h"}`},
		{"not a block", "a: > b\nc: |d e", `{a="> b" c="|d e"}`},
		{"list", "a:\n  - b\n  - \"c\"\nd:\n- e\n-  f g", `{a=["b" "c"] d=["e" "f g"]}`},
		{"mappings in a list", "a:\n  - name: b\n    required: true\n  - name: c\n  -\n    name: d", `{a=[{name="b" required="true"} {name="c"} {name="d"}]}`},
		{"lists in lists", "a:\n  - - b\n    - c\n  - d", `{a=[["b" "c"] "d"]}`},
		{"mapping", "a:\n  b: c\n  d:\n    e: f\ng: h", `{a={b="c" d={e="f"}} g="h"}`},
		{"brackets", "a: [b, \"c, d\", 'e']\nf: []\ng: {h: i, j: [k, l], m: }", `{a=["b" "c, d" "e"] f=[] g={h="i" j=["k" "l"] m=""}}`},
		{"brackets over lines", "a: [\n  b,\n  c, # no\n]\nd: e", `{a=["b" "c"] d="e"}`},
		{"brackets over lines, plain", "a: [\n  b,\n  c\n]\nd: [e,\n  f]", `{a=["b" "c"] d=["e" "f"]}`},
		{"glob", "a: *.ts\nb: [a-z]*.md\nc: {a,b}/**\nd: !x\ne: &f g\nh: **/*.go", `{a="*.ts" b="[a-z]*.md" c="{a,b}/**" d="!x" e="&f g" h="**/*.go"}`},
		{"globs in brackets", "a: [src/**/*.{ts,tsx}, b]", `{a=["src/**/*.{ts,tsx}" "b"]}`},
		{"colons", "description: Use this when: there are: colons", `{description="Use this when: there are: colons"}`},
		{"address", "a: http://x/y", `{a="http://x/y"}`},
		{"text behind quotes", `a: "b" and "c"`, `{a="\"b\" and \"c\""}`},
		{"never closed", "a: \"b\nc: d", `{a="\"b" c="d"}`},
		{"indented", "  a: b\n  c: d", `{a="b" c="d"}`},
		{"carriage returns", "a: b\r\nc: |\r\n  d\r\n", `{a="b" c="d"}`},

		{"no mapping", "just text", "line 2: is not KEY: VALUE"},
		{"list alone", "- a\n- b", "line 2: front matter is lines of KEY: VALUE"},
		{"twice", "a: b\nc: d\na: e", `line 4: duplicate key "a"`},
		{"indented more", "a: b\nc:\n  d: e\n    f: g", `{a="b" c={d="e f: g"}}`},
		{"indented less", "  a: b\nc: d", "line 3: is indented less than the lines above"},
		{"tab", "a:\n\tb: c", "line 3: is indented with a tab; write blanks"},
		{"item among keys", "a: b\n- c", "line 3: is an item of a list where KEY: VALUE should be"},
		{"deep", "a:\n b:\n  c:\n   d:\n    e:\n     f:\n      g:\n       h: i", "line 9: is nested too deeply"},
	} {
		front, body, err := splitFront("---\n" + tt.front + "\n---\nbody\n---\n")
		got := front.String()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || body != "body\n---\n" {
			t.Errorf("%s:\n got %s\nwant %s\nbody %q", tt.name, got, tt.want, body)
		}
	}
}

func TestSplitFront(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `{} ""`,
		"text":                 `{} "text"`,
		"\n---\na: b\n---\n":   `{} "\n---\na: b\n---\n"`,
		"---":                  `{} "---"`,
		"--- \na: b\n...\nc\n": `{a="b"} "c\n"`,
		"---\n---\n":           `{} ""`,
		"----\na\n":            `{} "----\na\n"`,
	} {
		front, body, err := splitFront(text)
		if got := fmt.Sprintf("%v %q", front, body); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// The YAML library reads real front matter in the same way.
func TestFrontMatterIsYAML(t *testing.T) {
	for _, text := range []string{
		"name: pdf\ndescription: Work with PDF files, when: not\n",
		"name: pdf\ndescription: >\n  Extract text\n  from files.\n\n  Second paragraph.\nlicense: Apache-2.0\n",
		"description: |-\n  Line one\n    indented\n  line two\nmode: subagent\n",
		"description: \"Quoted \\\"text\\\" \\u2014 dash\"\nmodel: 'it''s'\n",
		"paths:\n  - \"src/**/*.ts\"\n  - 'lib/*.js'\n  - docs/index.md\nenforce: [read, modify]\n",
		"paths:\n- a\n- b\nagent: code\n",
		"arguments:\n  - name: city\n    description: City to report on\n    required: true\n  - name: units\n    required: false\n",
		"tools:\n  byDefault: ask\n  deny:\n    - my_mcp__my_tool\n  allow:\n    - eca__shell_command(npm run .*)\n",
		"tools: {write: false, bash: false}\nmaxSteps: 25\n",
		"a: b # comment\n# comment\nc: d\n",
		"description: Reviews code\n  and more\n  on three lines\nx: y\n",
		"metadata:\n  author: someone\n  tags: [a, 'b c', \"d\"]\n  deep:\n    er: x\n",
	} {
		front, _, err := splitFront("---\n" + text + "---\n")
		if err != nil {
			t.Errorf("%v:\n%s", err, text)
			continue
		}
		var want yaml.MapSlice
		if strings.Contains(text, "when: not") { // not YAML
			continue
		}
		if err := yaml.UnmarshalWithOptions([]byte(text), &want, yaml.UseOrderedMap()); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if got, want := front.String(), library(want); got != want {
			t.Errorf("got  %s\nwant %s\n%s", got, want, text)
		}
	}
}

// library formats the YAML library's result.
func library(v any) string {
	switch v := v.(type) {
	case yaml.MapSlice:
		var all []string
		for _, f := range v {
			all = append(all, fmt.Sprint(f.Key)+"="+library(f.Value))
		}
		return "{" + strings.Join(all, " ") + "}"
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, library(e))
		}
		return "[" + strings.Join(all, " ") + "]"
	}
	return fmt.Sprintf("%q", strings.TrimRight(fmt.Sprint(v), "\n"))
}

// Hostile front matter is refused, or read as text, in a short time.
func TestHostileFrontMatter(t *testing.T) {
	bomb := "a: &a [x, x, x]\n"
	for i := range 20 {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", 'b'+i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 9), ", "))
	}
	long := strings.Repeat("x", 1<<20)
	var many, brackets strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&many, "k%d: v\n", i)
		fmt.Fprintf(&brackets, "k%d: [\n", i)
	}
	for name, front := range map[string]string{
		"bomb": bomb, "long": "a: " + long, "many": many.String(), "open brackets": brackets.String(), "brackets": "a: " + strings.Repeat("[", 8000), "braces": "a: " + strings.Repeat("{a: ", 4000),
		"dashes": strings.Repeat("- ", 8000), "dashes below": "a:\n  " + strings.Repeat("- ", 8000), "quotes": "a: " + strings.Repeat(`"`, 15001), "colons": strings.Repeat(": ", 8000),
		"lines": strings.Repeat("\n", 16000), "blanks": strings.Repeat(" ", 16000) + "a: b", "tabs": strings.Repeat("\t", 16000), "escapes": `a: "` + strings.Repeat(`\u0041`, 2000) + `\uD800"`,
	} {
		begin := time.Now()
		n, _, err := splitFront("---\n" + front + "\n---\n")
		if took := time.Since(begin); took > 20*time.Second { // -race on a loaded machine
			t.Errorf("%s took %v", name, took)
		}
		if size := len(n.String()); size > 8*maxFront {
			t.Errorf("%s grew to %d bytes", name, size)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{
		"a: b\nc: [d, {e: f}]\n", "a:\n  - b: c\n    d: |\n      e\n  - f\n", "a: >-\n  b\n\n  c\n", "a: \"b\\n\\u0041\" # c\n", "a: {b, c}/**\n", "- a\n", "a:\n- - - b\n", "a: &x *y !z\n", "a: [\n b\n]\n",
	} {
		f.Add("---\n" + s + "---\nbody")
	}
	f.Fuzz(func(t *testing.T, text string) {
		front, body, err := splitFront(text)
		if !strings.HasSuffix(text, body) {
			t.Errorf("the body is not the end of the text: %q", body)
		}
		if err != nil && (len(err.Error()) > 300 || err.Error() == "") {
			t.Errorf("error of %d bytes", len(err.Error()))
		}
		if got := front.String(); len(got) > 8*len(text)+16 {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		again, _, _ := splitFront(text)
		if again.String() != front.String() {
			t.Error("read differently a second time")
		}
		front.first("a", "b").words()
		toolsOf(front)
		arguments(body, front)
	})
}
