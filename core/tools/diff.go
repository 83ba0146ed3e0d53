package tools

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"dragoman/core"
	"dragoman/core/files"
)

// diffOf describes a change of a file.
func diffOf(p files.Place, was files.Content, text string) core.Diff {
	d := core.Diff{Path: p.Name, Old: was.Text, New: text, Created: !was.Exists}
	edits := udiff.Lines(was.Text, text)
	for _, e := range edits {
		d.Removed += lines(was.Text[e.Start:e.End])
		d.Added += lines(e.New)
	}
	// The library counts lines from the start for each edit, so many edits in a large
	// file are described as one.
	if len(edits)*len(was.Text) > 1<<30 {
		edits = []udiff.Edit{{Start: edits[0].Start, End: edits[len(edits)-1].End}}
		tail := len(was.Text) - edits[0].End
		edits[0].New = text[edits[0].Start : len(text)-tail]
	}
	show := strings.TrimPrefix(visible(p.Show), "/")
	from := "a/" + show
	if d.Created {
		from = "/dev/null"
	}
	if patch, err := udiff.ToUnified(from, "b/"+show, was.Text, edits, udiff.DefaultContextLines); err == nil {
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

// changes returns the size of a diff, for a title.
func changes(d core.Diff) string {
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

// shown returns the content of a change for the request for approval.
func shown(d core.Diff) []core.Block {
	blocks := []core.Block{d}
	if list := hiddenIn(d.Old, d.New); len(list) > 0 {
		blocks = append(blocks, core.Text{Text: "The new text has invisible characters: " + strings.Join(list, ", ") + "."})
	}
	return blocks
}
