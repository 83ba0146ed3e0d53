package tools

import (
	"strings"
	"testing"
	"unicode"

	"dragoman/core"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"go test ./...":                 "go test ./...",
		"":                              "",
		"Größe 世界 🙂":                    "Größe 世界 🙂",
		"a\nb":                          "a⏎b",
		"a\tb\rc":                       "a⟨U+0009⟩b⟨U+000D⟩c",
		"\x1b[31mred":                   "⟨U+001B⟩[31mred",
		"a\u202eb\u2066c":               "a⟨U+202E⟩b⟨U+2066⟩c",
		"a\u200bb\u2060c\ufeff":         "a⟨U+200B⟩b⟨U+2060⟩c⟨U+FEFF⟩",
		"a\u2028b\u2029c\u0085":         "a⟨U+2028⟩b⟨U+2029⟩c⟨U+0085⟩",
		"a\u00a0b\u3000c":               "a⟨U+00A0⟩b⟨U+3000⟩c",
		"\u3164\u115f\u2800\u034f":      "⟨U+3164⟩⟨U+115F⟩⟨U+2800⟩⟨U+034F⟩",
		"a\ufe0fb\U000e0041":            "a⟨U+FE0F⟩b⟨U+E0041⟩",
		"a\xffb":                        "a⟨xFF⟩b",
		"x" + strings.Repeat(" ", 500):  "x⟨500 blanks⟩",
		"x" + strings.Repeat(" ", 16):   "x" + strings.Repeat(" ", 16),
		"⏎ ⟨500 blanks⟩":                "⟨U+23CE⟩ ⟨U+27E8⟩500 blanks⟨U+27E9⟩",
		"\x00\x7f\u009b":                "⟨U+0000⟩⟨U+007F⟩⟨U+009B⟩",
		"rm -rf x\u200d/ \u061c\u206f.": "rm -rf x⟨U+200D⟩/ ⟨U+061C⟩⟨U+206F⟩.",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := visibleLines("a\n\tb\r\n\u202e"); got != "a\n\tb⟨U+000D⟩\n⟨U+202E⟩" {
		t.Errorf("lines: %q", got)
	}
}

// Only equal texts look the same.
func FuzzVisible(f *testing.F) {
	f.Add("a\nb", "a⏎b")
	f.Add("⟨U+202E⟩", "\u202e")
	f.Add(strings.Repeat(" ", 17), "⟨17 blanks⟩")
	f.Add("\xff", "\ufffd")
	f.Fuzz(func(t *testing.T, a, b string) {
		va, vb := visible(a), visible(b)
		if (va == vb) != (a == b) {
			t.Errorf("%q and %q both look like %q", a, b, va)
		}
		for _, r := range va {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' {
				t.Errorf("%q shows as %q", a, va)
			}
		}
		c := code(a)
		fence := c[:longestPrefix(c)]
		if inner := strings.TrimSuffix(strings.TrimPrefix(c, fence), fence); strings.Contains(inner, fence) {
			t.Errorf("%q ends its code span %q", a, c)
		}
	})
}

func longestPrefix(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// The text of an approval shows everything that runs.
func TestTitles(t *testing.T) {
	b := newBed(t)
	b.put("sub/<!-- x -->.md", "x")
	long := "echo " + strings.Repeat("a", 300)
	for _, c := range []struct {
		tool  string
		args  m
		title string
		more  string // the content of Content
	}{
		{"shell_command", m{"command": "go test ./..."}, "Run `go test ./...`", ""},
		{"shell_command", m{"command": "ls\nrm -rf x"}, "Run `ls⏎rm -rf x`", "```bash\nls\nrm -rf x\n```"},
		{"shell_command", m{"command": "ls\rrm"}, "Run `ls⟨U+000D⟩rm`", "```bash\nls⟨U+000D⟩rm\n```"},
		{"shell_command", m{"command": "ls" + strings.Repeat(" ", 500) + ";rm -rf ~"}, "Run `ls⟨158 blanks⟩` … and 351 more characters", "```bash\nls⟨500 blanks⟩;rm -rf ~\n```"},
		{"shell_command", m{"command": long}, "Run `" + long[:160] + "` … and 145 more characters", "```bash\n" + long + "\n```"},
		{"shell_command", m{"command": "echo `id` <!-- x -->"}, "Run ``echo `id` <!-- x -->``", ""},
		{"shell_command", m{"command": "a\n```\nhidden"}, "Run ````a⏎```⏎hidden````", "````bash\na\n```\nhidden\n````"},
		{"shell_command", m{"command": "ls", "cwd": "sub", "description": "look\x1b]0;x\a"}, "Run `ls` in sub", "The agent says: look⟨U+001B⟩]0;x⟨U+0007⟩"},
		{"read_file", m{"path": "sub/<!-- x -->.md"}, "Read `sub/<!-- x -->.md`", ""},
		{"write_file", m{"path": "a\u202egpj.sh", "content": "x"}, "Create `a⟨U+202E⟩gpj.sh` (+1)", ""},
		{"ask_user", m{"question": "A\nB\u202e?"}, "Ask: A⏎B⟨U+202E⟩?", ""},
		{"grep", m{"pattern": "a\u200bb", "path": "sub", "include": "*.md"}, "Search `a⟨U+200B⟩b` in `*.md` in sub", ""},
		{"directory_tree", m{}, "List .", ""},
	} {
		b.set.shell.Name = "bash"
		_, pv, err := b.preview(c.tool, c.args)
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		if pv.Title != c.title {
			t.Errorf("%v: title %s, want %s", c.args, pv.Title, c.title)
		}
		var more []string
		for _, blk := range pv.Content {
			if x, ok := blk.(core.Text); ok {
				more = append(more, x.Text)
			}
		}
		if got := strings.Join(more, "\n"); got != c.more {
			t.Errorf("%v: content %s, want %s", c.args, got, c.more)
		}
	}
}

// A name is code in a title where Markdown would turn a part of it bold or swallow a sign, and
// bare where clients show plain text.
func TestNamesInTitles(t *testing.T) {
	for name, want := range map[string]string{
		"a/snake_case.go":  "a/snake_case.go",
		"__init__.py":      "`__init__.py`",
		"a/__tests__/b.js": "`a/__tests__/b.js`",
		"a__b":             "`a__b`",
		"_x_.md":           "`_x_.md`",
		`a\_b.txt`:         "`a\\_b.txt`",
		"with space.txt":   "`with space.txt`",
		"größe_über.txt":   "größe_über.txt",
	} {
		if got := label(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := plainLabel("a/__init__.py"); got != "a/__init__.py" {
		t.Errorf("plain: %s", got)
	}
}
