package diff

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"dragoman/core"
	"dragoman/core/display"
)

// Of describes a change of the file at path, which titles call show. was is its text before; nil:
// there was no such file.
func Of(path, show string, was *string, text string) core.Diff {
	d := core.Diff{Path: path, New: text, Created: was == nil}
	if was != nil {
		d.Old = *was
	}
	edits := udiff.Lines(d.Old, text)
	for _, e := range edits {
		d.Removed += lines(d.Old[e.Start:e.End])
		d.Added += lines(e.New)
	}
	// The library counts lines from the start for each edit, so many edits in a large
	// file are described as one.
	if len(edits)*len(d.Old) > 1<<30 {
		edits = []udiff.Edit{{Start: edits[0].Start, End: edits[len(edits)-1].End}}
		tail := len(d.Old) - edits[0].End
		edits[0].New = text[edits[0].Start : len(text)-tail]
	}
	show = strings.TrimPrefix(display.Visible(show), "/")
	from := "a/" + show
	if d.Created {
		from = "/dev/null"
	}
	if patch, err := udiff.ToUnified(from, "b/"+show, d.Old, edits, udiff.DefaultContextLines); err == nil {
		d.Patch = patch
	}
	return d
}

// lines counts the lines of a text, including an unfinished last one.
func lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// Size returns the size of a diff, for a title.
func Size(d core.Diff) string {
	switch {
	case d.Old == d.New && !d.Created:
		return "(no change)"
	case d.Removed == 0:
		return fmt.Sprintf("(+%d)", d.Added)
	case d.Added == 0:
		return fmt.Sprintf("(−%d)", d.Removed)
	}
	return fmt.Sprintf("(+%d −%d)", d.Added, d.Removed)
}

// Shown returns the content of a change for the request for approval.
func Shown(d core.Diff) []core.Block {
	blocks := []core.Block{d}
	if list := hiddenIn(d.Old, d.New); len(list) > 0 {
		blocks = append(blocks, core.Text{Text: "The new text has invisible characters: " + strings.Join(list, ", ") + "."})
	}
	return blocks
}

// FirstLine returns the first line in which the texts differ; 0: there is none.
func FirstLine(d core.Diff) int {
	was, now := d.Old, d.New
	if was == now {
		return 0
	}
	n := 0
	for n < len(was) && n < len(now) && was[n] == now[n] {
		n++
	}
	return strings.Count(now[:n], "\n") + 1
}
