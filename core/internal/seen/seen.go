// Package seen keeps what a session knows about the texts of files: those that it has seen on the
// disk or has written, by their digests.
package seen

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

const (
	maxFiles = 10_000
	maxTexts = 16 // of one file
)

// Sum is the digest of a text.
type Sum [8]byte

// Texts is that knowledge. It may be used by any goroutine. A nil Texts knows nothing and learns nothing.
type Texts struct {
	mu      sync.Mutex // guards the fields below
	files   map[string]*file
	uses    uint64
	since   time.Time
	changed bool // since Save or Load
}

// file is the knowledge about one file.
type file struct {
	sums   []Sum // the newest is last
	last   *Sum  // the text on the disk at the last look; nil: unknown
	editor any   // whose text followed that one, or anyEditor
	shared bool  // other editors may have a text from before it
	used   uint64
}

// anyEditor stands for the editors of an earlier process.
type anyEditor struct{}

// Has reports whether a file has had a text.
func (t *Texts) Has(path string, s Sum) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.files[path]
	return f != nil && slices.Contains(f.sums, s)
}

// Add notes a text of a file.
func (t *Texts) Add(path string, s Sum) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fileLocked(path).add(s)
}

// Look notes the text that a file has on the disk. The unsaved text that an editor, which can be
// compared, may get from now on is based on that one.
func (t *Texts) Look(path string, s Sum, editor any) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.fileLocked(path)
	f.add(s)
	f.last, f.editor = &s, editor
}

// Last returns the text that a file had on the disk when it was last looked at; ok is false where
// an editor's text may be based on another one.
func (t *Texts) Last(path string, editor any) (s Sum, ok bool) {
	if t == nil {
		return s, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.files[path]
	if f == nil || f.last == nil || f.editor != editor && f.editor != (anyEditor{}) {
		return s, false
	}
	return *f.last, true
}

// Share notes that a second editor may have a text of a file from before its last change.
func (t *Texts) Share(path string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fileLocked(path).shared = true
}

// Copy notes that a file has the texts of another one, which was moved there.
func (t *Texts) Copy(from, to string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.files[from]
	if f == nil {
		return
	}
	f2 := t.fileLocked(to)
	for _, s := range f.sums {
		f2.add(s)
	}
	f2.last, f2.editor, f2.shared = f.last, f.editor, f.shared
}

// Begin notes when the session may first have changed a file; the zero time: not yet.
func (t *Texts) Begin(at time.Time) {
	if t == nil || at.IsZero() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() || at.Before(t.since) {
		t.since, t.changed = at, true
	}
}

// Since returns when the session may first have changed a file; the zero time: it has not.
func (t *Texts) Since() time.Time {
	if t == nil {
		return time.Time{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since
}

// fileLocked returns the knowledge about a file, which is going to change. Of too many files, that
// one is forgotten which was not used for longest.
func (t *Texts) fileLocked(path string) *file {
	t.changed = true
	t.uses++
	f := t.files[path]
	if f == nil {
		if t.files == nil {
			t.files = map[string]*file{}
		}
		if len(t.files) >= maxFiles {
			oldest := path
			for p, g := range t.files {
				if o := t.files[oldest]; o == nil || g.used < o.used {
					oldest = p
				}
			}
			delete(t.files, oldest)
		}
		f = &file{}
		t.files[path] = f
	}
	f.used = t.uses
	return f
}

// add makes s the newest text.
func (f *file) add(s Sum) {
	if n := len(f.sums); n > 0 && f.sums[n-1] == s {
		return
	}
	f.sums = slices.DeleteFunc(f.sums, func(o Sum) bool { return o == s })
	if len(f.sums) >= maxTexts {
		f.sums = slices.Delete(f.sums, 0, len(f.sums)-maxTexts+1)
	}
	f.sums = append(f.sums, s)
}

// stored is the form in which the knowledge outlives the process.
type stored struct {
	Since time.Time    `json:"since,omitzero"`
	Files []storedFile `json:"files"` // that which was used last is last
}

type storedFile struct {
	Path string `json:"path"`
	Sums []byte `json:"sums"`           // one after the other
	Last []byte `json:"last,omitempty"` // nothing: unknown
}

// Save returns the stored form; nil: it is as it was when it was last saved or loaded. Whether an
// editor has a text from before the last change is not known later, so what was shared is left out.
func (t *Texts) Save() []byte {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.changed {
		return nil
	}
	t.changed = false
	is := stored{Since: t.since, Files: make([]storedFile, 0, len(t.files))}
	paths := make([]string, 0, len(t.files))
	for p := range t.files {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b string) int { return int(int64(t.files[a].used) - int64(t.files[b].used)) })
	for _, p := range paths {
		f := t.files[p]
		sf := storedFile{Path: p, Sums: make([]byte, 0, len(f.sums)*len(Sum{}))}
		for _, s := range f.sums {
			sf.Sums = append(sf.Sums, s[:]...)
		}
		if f.last != nil && !f.shared {
			sf.Last = f.last[:]
		}
		is.Files = append(is.Files, sf)
	}
	data, _ := json.Marshal(is) // it has nothing that could fail
	return data
}

// Load takes what Save returned, perhaps in another process, in place of what is known. What this
// process knows about editors stays where the file has not been looked at since.
func (t *Texts) Load(data []byte) error {
	var is stored
	if err := json.Unmarshal(data, &is); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.files
	t.files = make(map[string]*file, len(is.Files))
	for _, sf := range is.Files[max(0, len(is.Files)-maxFiles):] {
		f := t.fileLocked(sf.Path)
		for list := range slices.Chunk(sf.Sums, len(Sum{})) {
			if len(list) == len(Sum{}) {
				f.add(Sum(list))
			}
		}
		if len(sf.Last) == len(Sum{}) {
			s := Sum(sf.Last)
			f.last, f.editor = &s, anyEditor{}
		}
		old := was[sf.Path]
		if old != nil && old.last != nil && len(f.sums) > 0 && f.sums[len(f.sums)-1] == *old.last {
			f.last, f.editor, f.shared = old.last, old.editor, old.shared
		}
	}
	if !is.Since.IsZero() && (t.since.IsZero() || is.Since.Before(t.since)) {
		t.since = is.Since
	}
	t.changed = false
	return nil
}
