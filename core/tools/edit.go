package tools

import (
	"errors"
	"fmt"
	"strings"

	"dragoman/core/files"
)

// edit is an exact replacement.
type edit struct {
	old, new string
	all      bool
}

func (e edit) check() error {
	switch {
	case e.old == "":
		return fmt.Errorf("argument %q is empty: use write_file to replace a whole file", "old")
	case e.old == e.new:
		return fmt.Errorf("arguments %q and %q are the same: there is nothing to change", "old", "new")
	}
	return nil
}

// apply returns text with the edit made. A byte order mark stays at the beginning,
// and if the file's lines end in CRLF, the new ones do too.
func (e edit) apply(text string) (string, error) {
	mark := ""
	if strings.HasPrefix(text, files.BOM) {
		mark, text = files.BOM, text[len(files.BOM):]
		e.old, e.new = strings.TrimPrefix(e.old, files.BOM), strings.TrimPrefix(e.new, files.BOM)
		if e.old == "" {
			return "", fmt.Errorf("argument %q is only a byte order mark", "old")
		}
	}
	crlf := strings.Count(text, "\r\n")
	mostly := crlf > 0 && 2*crlf >= strings.Count(text, "\n")
	n := strings.Count(text, e.old)
	if n == 0 && crlf > 0 && !strings.Contains(e.old, "\r\n") {
		e.old = toCRLF(e.old)
		n = strings.Count(text, e.old)
	}
	if n == 0 && strings.Contains(e.old, "\r\n") && crlf == 0 {
		e.old, e.new = toLF(e.old), toLF(e.new)
		n = strings.Count(text, e.old)
	}
	if mostly {
		e.new = toCRLF(e.new)
	}
	switch {
	case n == 0:
		return "", notFound(text, e.old)
	case n > 1 && !e.all:
		return "", fmt.Errorf(
			"old is there %d times, in lines %s: give more lines around it, or set all",
			n,
			occurrences(text, e.old),
		)
	case e.old == e.new:
		return "", errors.New(
			"old and new are the same but for the line ends, which the file keeps: there is nothing to change",
		)
	case e.all:
		return mark + strings.ReplaceAll(text, e.old, e.new), nil
	}
	return mark + strings.Replace(text, e.old, e.new, 1), nil
}

// toCRLF ends every line of s in CRLF.
func toCRLF(s string) string { return strings.ReplaceAll(toLF(s), "\n", "\r\n") }

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// occurrences lists the lines where old begins, at most ten.
func occurrences(text, old string) string {
	var list []string
	line := 1
	for {
		i := strings.Index(text, old)
		if i < 0 {
			return strings.Join(list, ", ")
		}
		line += strings.Count(text[:i], "\n")
		if len(list) == 10 {
			return strings.Join(list, ", ") + ", …"
		}
		list = append(list, fmt.Sprint(line))
		line += strings.Count(old, "\n")
		text = text[i+len(old):]
	}
}

// notFound returns the error that old is not in the text, with the most similar
// lines.
func notFound(text, old string) error {
	have, want := splitLines(text), splitLines(old)
	at, score := nearest(have, want)
	if score == 0 {
		return errors.New("old is not in the file, nor anything like it: read the file again")
	}
	var b strings.Builder
	what := "old is not in the file. The nearest lines are:"
	if score == len(want)*full {
		what = "old is not in the file: it differs in blanks only. The lines are:"
	}
	b.WriteString(what)
	for i := at; i < min(at+min(len(want), 20), len(have)); i++ {
		line := have[i]
		if len(line) > maxLine {
			line = cutLine([]byte(line), 0)
		}
		fmt.Fprintf(&b, "\n%d: %s", i+1, strings.ToValidUTF8(line, "\ufffd"))
	}
	return errors.New(b.String())
}

func splitLines(s string) []string {
	list := strings.Split(toLF(s), "\n")
	if n := len(list) - 1; n > 0 && list[n] == "" {
		list = list[:n]
	}
	return list
}

// full is the score of a line that differs in blanks at most.
const full = 1000

// nearest finds the part of have that is most similar to want. Lines are compared
// without blanks: first for equality, over all of want (its first 50 lines); if no
// line is equal, it returns the line that shares most with want's first one.
func nearest(have, want []string) (at, score int) {
	bare := make([]string, len(have))
	for i, line := range have {
		bare[i] = squeeze(line)
	}
	var goal []string
	for _, line := range want[:min(len(want), 50)] {
		goal = append(goal, squeeze(line))
	}
	for i := range bare {
		same := 0
		for j := 0; j < len(goal) && i+j < len(bare); j++ {
			if bare[i+j] == goal[j] && goal[j] != "" {
				same += full
			}
		}
		if same > score {
			at, score = i, same
		}
	}
	if score > 0 {
		for _, g := range goal {
			if g == "" {
				score += full // an empty line counts as equal
			}
		}
		return at, score
	}
	first := 0
	for first < len(goal)-1 && goal[first] == "" {
		first++
	}
	for i, line := range bare {
		if s := alike(line, goal[first]); s > score {
			at, score = max(0, i-first), s
		}
	}
	return at, score
}

// squeeze removes all blanks.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// alike returns the share of two lines that is equal at both ends, below full; 0 for less
// than a third.
func alike(a, b string) int {
	longer := max(len(a), len(b))
	if longer == 0 {
		return 0
	}
	shorter := min(len(a), len(b))
	head, tail := 0, 0
	for head < shorter && a[head] == b[head] {
		head++
	}
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if s := (head + tail) * (full - 1) / longer; s >= full/3 {
		return s
	}
	return 0
}
