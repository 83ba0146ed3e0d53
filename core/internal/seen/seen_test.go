package seen

import (
	"fmt"
	"testing"
	"time"
)

func sum(n int) Sum { return Sum{byte(n), byte(n >> 8), byte(n >> 16)} }

// reload returns what another process knows.
func reload(t *testing.T, from *Texts) *Texts {
	t.Helper()
	to := &Texts{}
	if err := to.Load(from.Save()); err != nil {
		t.Fatal(err)
	}
	return to
}

// The newest 16 texts of a file are known, whichever came first, also in another process.
func TestNewestTexts(t *testing.T) {
	texts := &Texts{}
	for i := range 20 {
		texts.Add("/a", sum(i))
		texts.Add("/a", sum(0)) // seen again and again
	}
	for _, is := range []*Texts{texts, reload(t, texts)} {
		for i, want := range map[int]bool{0: true, 3: false, 4: false, 5: true, 19: true} {
			if got := is.Has("/a", sum(i)); got != want {
				t.Errorf("text %d: %t", i, got)
			}
		}
		if is.Has("/b", sum(0)) {
			t.Error("another file has its texts")
		}
	}
}

// Of too many files those are forgotten that were not used for longest.
func TestManyFiles(t *testing.T) {
	texts := &Texts{}
	for i := range maxFiles + 2 {
		texts.Add(fmt.Sprint(i), sum(i))
		texts.Add("0", sum(0))
	}
	for i, want := range map[int]bool{0: true, 1: false, 2: false, 3: true, maxFiles + 1: true} {
		if got := texts.Has(fmt.Sprint(i), sum(i)); got != want {
			t.Errorf("file %d: %t", i, got)
		}
	}
}

// The last look counts for the editor whose text followed it. Another process does not know the
// editors, and takes the look for theirs unless there was a second one.
func TestLastLook(t *testing.T) {
	texts := &Texts{}
	texts.Look("/a", sum(1), "zed")
	texts.Look("/b", sum(2), "zed")
	texts.Share("/b")
	for _, c := range []struct {
		path, editor  string
		here, another bool
	}{{"/a", "zed", true, true}, {"/a", "emacs", false, true}, {"/b", "zed", true, false}, {"/c", "zed", false, false}} {
		if _, ok := texts.Last(c.path, c.editor); ok != c.here {
			t.Errorf("%s %s here: %t", c.path, c.editor, ok)
		}
		texts.Begin(time.Unix(5, 0)) // so that there is something to save
		if _, ok := reload(t, &Texts{files: texts.files, changed: true}).Last(c.path, c.editor); ok != c.another {
			t.Errorf("%s %s in another process: %t", c.path, c.editor, ok)
		}
	}
	if s, _ := texts.Last("/a", "zed"); s != sum(1) {
		t.Errorf("got %v", s)
	}
}

// A process that loads what it has saved itself still knows the editors, unless another one has looked
// at the file meanwhile.
func TestEditorsAfterRest(t *testing.T) {
	texts := &Texts{}
	texts.Look("/a", sum(1), "zed")
	texts.Look("/b", sum(1), "zed")
	other := reload(t, texts)
	other.Look("/b", sum(2), "emacs")
	other.Begin(time.Unix(9, 0))
	if err := texts.Load(other.Save()); err != nil {
		t.Fatal(err)
	}
	if _, ok := texts.Last("/a", "emacs"); ok {
		t.Error("/a has followed another editor")
	}
	if s, ok := texts.Last("/b", "zed"); !ok || s != sum(2) {
		t.Errorf("/b: %v %t", s, ok)
	}
	if !texts.Since().Equal(time.Unix(9, 0)) {
		t.Errorf("since %v", texts.Since())
	}
	if texts.Save() != nil {
		t.Error("there is something to save")
	}
}

// A moved file has the texts that it had.
func TestMovedFile(t *testing.T) {
	texts := &Texts{}
	texts.Add("/a", sum(1))
	texts.Look("/a", sum(2), "zed")
	texts.Copy("/a", "/b")
	texts.Copy("/none", "/c")
	if s, ok := texts.Last("/b", "zed"); !ok || s != sum(2) || !texts.Has("/b", sum(1)) {
		t.Errorf("/b: %v %t", s, ok)
	}
}

// Knowledge that cannot be read is none; nothing that is known is lost.
func TestUnreadable(t *testing.T) {
	texts := &Texts{}
	texts.Add("/a", sum(1))
	if err := texts.Load([]byte("{")); err == nil || !texts.Has("/a", sum(1)) {
		t.Errorf("loaded: %v", err)
	}
	if err := texts.Load([]byte(`{"files":[{"path":"/b","sums":"AQ==","last":"AQ=="}]}`)); err != nil || texts.Has("/b", Sum{1}) {
		t.Errorf("a half digest: %v", err)
	}
	var none *Texts
	none.Add("/a", sum(1))
	if none.Look("/a", sum(1), nil); none.Has("/a", sum(1)) || none.Save() != nil {
		t.Error("nothing knows something")
	}
}
