package refer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/workspace"
)

// desk returns the desk of a prompt in /w.
func desk(files workspace.Files) *Desk {
	return New(&core.Profile{Workspace: workspace.Contents{Files: files}}, core.Local, []string{"/w"})
}

// briefly renders blocks.
func briefly(blocks []core.Block) (list []string) {
	for _, b := range blocks {
		switch b := b.(type) {
		case core.Text:
			list = append(list, "text "+b.Text)
		case core.Link:
			list = append(list, "link "+b.URI)
		case core.Resource:
			list = append(list, fmt.Sprintf("resource %s", b.Text))
		case core.Image:
			list = append(list, "image")
		}
	}
	return list
}

// Contexts stay in view, each file once with all of its lines; only what the message refers to goes
// with it.
func TestContextsStayInView(t *testing.T) {
	for _, c := range []struct {
		name, message, contexts   string
		blocks, standing, passing []string
	}{
		{
			"files", "hi",
			`{"type":"file","path":"/w/a","linesRange":{"start":8,"end":9}},{"type":"file","path":"/w/b"},{"type":"file","path":"/w/a","linesRange":{"start":1,"end":2}},{"type":"file","path":"/w/a","linesRange":{"start":3,"end":4}}`,
			[]string{"text hi"},
			[]string{"resource [lines 1 to 4]\n/w/a\n[lines 8 to 9]\n/w/a\n", "resource /w/b"},
			nil,
		},
		{
			"the whole and a part", "hi", `{"type":"file","path":"/w/a","linesRange":{"start":8,"end":9}},{"type":"file","path":"/w/a"}`,
			[]string{"text hi"},
			[]string{"resource /w/a"},
			nil,
		},
		{
			"typed", "see @/w/a", `{"type":"file","path":"/w/a"},{"type":"file","path":"/w/b"}`,
			[]string{"text see @/w/a", "resource /w/a"},
			[]string{"resource /w/b"},
			nil,
		},
		{
			"a cursor and a text", "hi", `{"type":"cursor","path":"/w/a","position":{"start":{"line":3,"character":1},"end":{"line":3,"character":1}}},{"type":"text","label":"*scratch*","content":"notes"}`,
			[]string{"text hi"},
			nil,
			[]string{"resource notes", "link file:///w/a#L3"},
		},
		{
			"a selection", "hi", `{"type":"cursor","path":"/w/a","position":{"start":{"line":3,"character":1},"end":{"line":4,"character":1}}}`,
			[]string{"text hi"},
			nil,
			[]string{"link file:///w/a#L3-L4", "resource /w/a"},
		},
		{
			"a selection in view", "hi", `{"type":"file","path":"/w/a"},{"type":"cursor","path":"/w/a","position":{"start":{"line":3,"character":1},"end":{"line":4,"character":1}}}`,
			[]string{"text hi"},
			[]string{"resource /w/a"},
			[]string{"link file:///w/a#L3-L4"},
		},
		{"a picture", "hi", `{"type":"image","base64":"aGk="}`, []string{"text hi", "image"}, nil, nil},
		{"an unknown one", "hi", `{"type":"hologram"}`, []string{"text hi"}, []string{`resource (The editor attached a context of the unknown type "hologram" that could not be read.)`}, nil},
	} {
		d := desk(&reader{})
		d.exists = func(string) bool { return true }
		blocks, view := d.Prompt(t.Context(), eca.PromptParams{Message: c.message, Contexts: []byte("[" + c.contexts + "]")}, &Shelf{})
		for _, part := range []struct {
			name      string
			got, want []string
		}{{"message", briefly(blocks), c.blocks}, {"standing", briefly(view.Standing), c.standing}, {"passing", briefly(view.Passing), c.passing}} {
			if !slices.Equal(part.got, part.want) {
				t.Errorf("%s, %s: got %q, want %q", c.name, part.name, part.got, part.want)
			}
		}
	}
}

// A file in view is read again only after a change, and a message that mentions it has no copy.
func TestFilesInViewAreReadAgainOnlyAfterAChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	old := time.Now().Add(-time.Hour)
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	read := &reader{}
	var shelf Shelf
	prompt := func(message string, want int) {
		t.Helper()
		d := desk(read)
		contexts := fmt.Sprintf(`[{"type":"file","path":%q},{"type":"web","url":"https://example.com/"}]`, path)
		blocks, view := d.Prompt(t.Context(), eca.PromptParams{Message: message, Contexts: []byte(contexts)}, &shelf)
		if len(blocks) != 1 || len(view.Standing) != 2 {
			t.Errorf("the message is %q, in view is %q", briefly(blocks), briefly(view.Standing))
		}
		if len(read.paths) != want {
			t.Errorf("%d readings, want %d: %q", len(read.paths), want, read.paths)
		}
	}
	write("one", old)
	prompt("hi", 2)
	prompt("again", 2)
	prompt("see @"+path+" and @"+path+":L1", 2)
	write("two", old.Add(time.Minute))
	prompt("after a change", 3)
	write("three", old.Add(time.Minute))
	prompt("after a change of size", 4)
	write("THREE", time.Now())
	prompt("just now", 5)
	prompt("its time is too young to tell", 6)
}

// The user is told once that something may not be read, as long as it stays in view.
func TestRefusalsAreToldOnce(t *testing.T) {
	var shelf Shelf
	told := func(contexts string) int {
		d := New(&core.Profile{Workspace: workspace.Contents{Files: &reader{}}, Policy: verdicts(func(core.Check) core.Verdict {
			return core.Verdict{Effect: core.Deny, Why: "no"}
		})}, core.Local, []string{"/w"})
		d.Prompt(t.Context(), eca.PromptParams{Message: "hi", Contexts: []byte(contexts)}, &shelf)
		return len(d.Told)
	}
	got := []int{told(`[{"type":"file","path":"/w/a"}]`), told(`[{"type":"file","path":"/w/a"}]`), told(`[]`), told(`[{"type":"file","path":"/w/a"}]`)}
	if want := []int{1, 0, 0, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("told %v times, want %v", got, want)
	}
}

// What could not be read is tried again.
func TestFailuresAreTriedAgain(t *testing.T) {
	var shelf Shelf
	shelf.next()
	r, reads := workspace.Reference{URL: "https://example.com/"}, 0
	for range 2 {
		b := shelf.get(r, func() core.Block { reads++; return workspace.Unread(r.URL, os.ErrDeadlineExceeded) })
		if !strings.Contains(b.(core.Resource).Text, "timeout") {
			t.Errorf("got %v", b)
		}
		shelf.next()
	}
	if reads != 2 {
		t.Errorf("%d readings, want 2", reads)
	}
}

// A page on this machine is fetched if the user agrees, who is asked once while it stays in view.
func TestPagesOfThisMachineNeedAgreement(t *testing.T) {
	for _, url := range []string{"http://localhost:8080/", "http://app.localhost/", "http://127.0.0.1/x", "http://[::1]:1/", "http://LOCALHOST./"} {
		for _, yes := range []bool{true, false} {
			var shelf Shelf
			read, asked := &reader{}, 0
			for range 2 {
				d := desk(read)
				d.Agrees = func(_ context.Context, got string) bool { asked++; return yes && got == url }
				_, view := d.Prompt(t.Context(), eca.PromptParams{Message: "hi", Contexts: []byte(`[{"type":"web","url":"` + url + `"}]`)}, &shelf)
				if text := briefly(view.Standing)[0]; strings.Contains(text, "nobody has agreed") == yes {
					t.Errorf("%s, %t: %s", url, yes, text)
				}
			}
			if asked != 1 || len(read.paths) == 1 != yes {
				t.Errorf("%s, %t: asked %d times, read %d times", url, yes, asked, len(read.paths))
			}
		}
	}
	read := &reader{}
	_, view := desk(read).Prompt(t.Context(), eca.PromptParams{Message: "hi", Contexts: []byte(`[{"type":"web","url":"http://localhost/"}]`)}, &Shelf{})
	if len(read.paths) != 0 || !strings.Contains(briefly(view.Standing)[0], "nobody has agreed") {
		t.Errorf("without anybody to ask: %q", briefly(view.Standing))
	}
	d := desk(read)
	d.Agrees = func(context.Context, string) bool { t.Error("asked about a public page"); return true }
	d.Prompt(t.Context(), eca.PromptParams{Message: "hi", Contexts: []byte(`[{"type":"web","url":"https://localhost.example.com/"}]`)}, &Shelf{})
}
