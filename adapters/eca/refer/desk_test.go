package refer

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/workspace"
)

func TestMentions(t *testing.T) {
	for _, c := range []struct {
		text string
		want []mention
	}{
		{"look at @a.go, please", []mention{{path: "a.go"}}},
		{"@src/a.go:L2-L4 and (@/x/y:L7).", []mention{{"src/a.go", [2]int{2, 4}}, {"/x/y", [2]int{7, 7}}}},
		{"@a.go @a.go", []mention{{path: "a.go"}}},
		{"@a:L9-L3 @b:L0", []mention{{"a", [2]int{9, 9}}, {"b", [2]int{1, 1}}}},
		{"@a:L1-4 @a:L99999999999", []mention{{path: "a:L1-4"}, {path: "a:L99999999999"}}},
		{"me@example.com says \"@/lib/x\" and @ and @... and @.", nil},
		{"", nil},
	} {
		if got := mentions(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v, want %v", c.text, got, c.want)
		}
	}
}

// A pasted text may contain any number of words with an at sign.
func TestManyMentions(t *testing.T) {
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, "@user%d ", i)
	}
	if n := len(mentions(b.String())); n != maxContexts {
		t.Errorf("%d mentions, want %d", n, maxContexts)
	}
}

// A word after an at sign is a path if it has the form of one, or if such a path exists.
func TestMentionedPaths(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	d := New(nil, core.Local, []string{"/w", "/v"})
	d.exists = func(path string) bool { return path == "/v/src/a.go" || path == "/etc/passwd" }
	for name, want := range map[string]string{
		"src/a.go": "/v/src/a.go", "/etc/x": "/etc/x", "~/x": "/home/ada/x", "./x": "/w/x", "../x": "/x",
		"someone": "", "types/node": "", "~": "", "~bob/x": "", "/": "", "..": "", "etc/../../etc/passwd": "",
	} {
		if got, ok := d.mentioned(name); ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestClamped(t *testing.T) {
	for _, c := range []struct {
		in   *eca.LinesRange
		want [2]int
	}{
		{nil, [2]int{}},
		{&eca.LinesRange{Start: 3, End: 7}, [2]int{3, 7}},
		{&eca.LinesRange{Start: 3, End: 1}, [2]int{3, 3}},
		{&eca.LinesRange{Start: 0, End: 2}, [2]int{1, 2}},
		{&eca.LinesRange{Start: -4, End: -9}, [2]int{1, 1}},
	} {
		if got := clamped(c.in); got != c.want {
			t.Errorf("%+v: got %v, want %v", c.in, got, c.want)
		}
	}
}

func TestTreeOf(t *testing.T) {
	got := treeOf("/w", []workspace.FileName{{Path: "/w/b.go"}, {Path: "/w/a/x.go"}, {Path: "/w/a", Folder: true}, {Path: "/w/a/c/y.go"}, {Path: "/w/d", Folder: true}, {Path: "/v/z"}})
	want := "/w\n  a/\n    c/\n      y.go\n    x.go\n  b.go\n  d/\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A file that a rule forbids is not read, and the user gets a message; a file that a rule would
// ask about is read.
func TestForbidden(t *testing.T) {
	read := reader{}
	d := New(&core.Profile{Workspace: workspace.Contents{Files: &read}, Policy: verdicts(func(c core.Check) core.Verdict {
		switch a := c.Access[0]; {
		case a.Path == "/w/.env" || a.URL == "https://bad/":
			return core.Verdict{Effect: core.Deny, Why: "denied by rule 1"}
		case a.Outside != (a.Path == "/x"):
			t.Errorf("%s: outside=%t", a.Path, a.Outside)
		}
		return core.Verdict{Effect: core.MustAsk}
	})}, core.Local, []string{"/w"})
	blocks, view := d.Prompt(t.Context(), eca.PromptParams{Message: "see @/w/.env and @/x @/x:L2", Contexts: []byte(`[{"type":"web","url":"https://bad/"},{"type":"file","path":"/x"},{"type":"file","path":"/w/a"}]`)}, &Shelf{})
	if want := []string{"/w/a", "/x"}; !reflect.DeepEqual(read.paths, want) || len(blocks) != 3 || len(view.Standing) != 2 {
		t.Errorf("read %q, want %q: %v, in view %v", read.paths, want, blocks, view.Standing)
	}
	if len(d.Told) != 2 {
		t.Errorf("the user was told %q", d.Told)
	}
}

// A prompt has a size limit: references beyond that stay references.
func TestTooMuchAttached(t *testing.T) {
	read := reader{size: maxAttached / 2}
	d := New(&core.Profile{Workspace: workspace.Contents{Files: &read}}, core.Local, []string{"/w"})
	blocks := d.Message(t.Context(), "@/w/a @/w/b @/w/c @/w/d")
	if len(read.paths) != 2 || len(blocks) != 5 || len(d.Told) != 2 {
		t.Errorf("read %q, %d blocks, told %q", read.paths, len(blocks), d.Told)
	}
	if l, ok := blocks[4].(core.Link); !ok || l.URI != "file:///w/d" {
		t.Errorf("got %v", blocks[4])
	}
}

type verdicts func(core.Check) core.Verdict

func (f verdicts) Decide(c core.Check) core.Verdict { return f(c) }

// reader records the read files.
type reader struct {
	paths []string
	size  int // of the files
}

func (r *reader) Find(context.Context, []string, string, int) []workspace.FileName { return nil }

func (r *reader) List(context.Context, []string, string, string, int) []workspace.FileName {
	return nil
}

func (r *reader) Read(_ context.Context, _ []string, ref workspace.Reference) core.Block {
	r.paths = append(r.paths, ref.Path)
	return core.Resource{Text: ref.Path + strings.Repeat("x", r.size)}
}

func (r *reader) Keep([]string) workspace.Finder { return nil }
func (r *reader) Undo(context.Context, core.Meta, core.Editor, []core.Diff) []core.RevertedFile {
	return nil
}

// Whatever a text contains, its mentions are words of it.
func FuzzMentions(f *testing.F) {
	f.Add("see @a.go:L1-L2, and @~/x")
	f.Fuzz(func(t *testing.T, text string) {
		d := New(nil, core.Local, []string{"/w"})
		d.exists = func(string) bool { return true }
		for _, m := range mentions(text) {
			if m.lines[0] < 0 || m.lines[1] < m.lines[0] || m.path == "" {
				t.Errorf("%q: %+v", text, m)
			}
			d.mentioned(m.path)
		}
	})
}

// Whatever prompt a client sends, its references are absolute.
func FuzzPrompts(f *testing.F) {
	f.Add(`{"chatId":"c","query":"x","contexts":[{"type":"file","path":"a"},{"type":"cursor"},null,5]}`)
	f.Add(`{"message":"/login @~/x:L1-L2","contexts":[{"type":"file","path":"file:///%61"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var prompt eca.PromptParams
		_ = wire.Unmarshal([]byte(text), &prompt) // an error is the answer
		read := reader{}
		d := New(&core.Profile{Workspace: workspace.Contents{Files: &read}}, core.Local, []string{"/w"})
		d.exists = func(string) bool { return true }
		d.Prompt(t.Context(), prompt, &Shelf{})
		for _, path := range read.paths {
			if path != "" && path[0] != '/' {
				t.Errorf("%s: %q is read", text, path)
			}
		}
	})
}
