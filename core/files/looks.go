package files

import (
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"time"

	"dragoman/core"
)

// relation is how an editor's text of a file stands to the one on the disk.
type relation int

const (
	same    relation = iota // as the disk's
	late                    // one that the disk had before: the disk counts
	unsaved                 // unsaved work, based on the disk's text: the editor's counts
	parted                  // unsaved work, and the disk's text may have changed behind it: neither counts
)

// clockSlack is by how much the time of a change may lie before the call that made it: some file
// systems count in steps of two seconds.
const clockSlack = 2 * time.Second

var errParted = errors.New("it was changed on the disk, perhaps by a command, and the editor has changes of it that are " +
	"not saved, so neither text was touched: have the user save or discard the changes in the editor first")

// relate compares the editor's text of a file with the disk's. What is unknown may be unsaved work.
func (w *Workspace) relate(p Place, disk Content, buffer string) relation {
	texts := w.host.Texts()
	switch last, known := texts.Last(p.Real, w.editorOf(p)); {
	case disk.Exists && SameText(disk.Text, buffer):
		return same
	case texts.Has(p.Real, sumOf(buffer)):
		return late
	case known && disk.Exists && last == disk.sum:
		return unsaved
	case known:
		return parted
	}
	// Nobody has looked at it with this editor.
	since := texts.Since()
	if disk.Exists && !since.IsZero() && disk.changed.After(since.Add(-clockSlack)) {
		return parted
	}
	return unsaved
}

// looked notes that the disk's text is the one that a call goes by. What the user types into a buffer
// that is late is still based on the text before.
func (w *Workspace) looked(p Place, disk Content) {
	switch {
	case !disk.Exists || p.Spilled:
	case disk.is == late:
		w.host.Texts().Add(p.Real, disk.sum)
	case disk.is == same || disk.is == unsaved:
		w.host.Texts().Look(p.Real, disk.sum, w.editorOf(p))
	}
}

// wrote notes a text that was written, after a look at the disk: an editor may change a text as it
// saves it, or not save it at all. direct says that no editor's text has followed.
func (w *Workspace) wrote(p Place, before Content, text string, direct bool) {
	texts := w.host.Texts()
	if direct {
		texts.Look(p.Real, sumOf(text), nil)
		return
	}
	now, err := w.OnDisk(p)
	if err != nil || !now.Exists || now.sum == before.sum && !SameText(now.Text, text) {
		return // it was not saved
	}
	texts.Add(p.Real, sumOf(text))
	w.looked(p, now)
}

// Known reports whether the session has seen a text of a file on the disk, or has written it.
func (w *Workspace) Known(p Place, text string) bool { return w.host.Texts().Has(p.Real, sumOf(text)) }

// Shared notes that another client's editor may have a text of a file from before its last change.
func (w *Workspace) Shared(p Place) { w.host.Texts().Share(p.Real) }

// editorOf returns the editor that serves a file, as something that can be compared; nil: none.
func (w *Workspace) editorOf(p Place) any {
	e := w.host.Editor(p.Name)
	if e == nil || !reflect.ValueOf(e).Comparable() {
		return nil
	}
	return e
}

// BOM is the mark that some editors write before UTF-8 text.
const BOM = "\ufeff"

// plain returns a text without what editors leave out or add: the kind of line ends, the last of
// them, and a byte order mark.
func plain(s string) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(s, BOM), "\r\n", "\n"), "\n")
}

// SameText compares a text of the editor's with one on the disk.
func SameText(a, b string) bool { return a == b || plain(a) == plain(b) }

// sumOf returns the digest of a text. Texts that SameText holds for have the same one.
func sumOf(s string) core.TextSum {
	sum := sha256.Sum256([]byte(plain(s)))
	return core.TextSum(sum[:len(core.TextSum{})])
}
