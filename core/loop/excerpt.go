package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// excerpt returns what the model gets of a result or a message that has size bytes of room: the
// beginning and the end, on whole lines. missing says in words what is between them.
func (u unseen) excerpt(spec core.Spec, size int) (x core.Excerpt, missing string) {
	if u.call != nil {
		x.Call = u.call.id
	} else {
		x.Message = u.message.id
	}
	begins := 1
	if u.call != nil && spec.Offset != "" {
		begins = u.call.number(spec.Offset)
	}
	x.Note = strings.Repeat(" ", 120) // about as long as a note
	for range 2 {
		room := max(0, size-len(x.Note)-2)
		head := room / 2
		if spec.Kind == core.KindExecute { // a command says at its end what came of it
			head = room / 5
		}
		x.From, x.To = ends(u.all(), head, room-head)
		var advice string
		missing, advice = u.missing(spec, x, begins)
		x.Note = "[… " + missing + " left out: no room in the model's window; " + advice + " …]"
	}
	return x, missing
}

// ends returns the marks between which blocks are cut, if head bytes of their beginning and tail
// bytes of their end stay.
func ends(all []core.Block, head, tail int) (from, to [2]int) {
	i := 0
	for ; i < len(all); i++ {
		n := weigh(all[i : i+1])
		if n > head {
			break
		}
		head -= n
	}
	from = [2]int{i, 0}
	if i == len(all) {
		return from, from
	}
	if text, is := textOf(all[i]); is {
		from[1] = headOf(text, head)
	}
	j := len(all) - 1
	for ; j > i; j-- {
		n := weigh(all[j : j+1])
		if n > tail {
			break
		}
		tail -= n
	}
	to = [2]int{j + 1, 0}
	if text, is := textOf(all[j]); is {
		at := len(text) - tailOf(text, tail)
		if j == i {
			at = max(at, from[1])
		}
		if at < len(text) {
			to = [2]int{j, at}
		}
	}
	return from, to
}

// headOf returns the length of the first lines of a text that have at most n bytes together, or of
// its first characters where a line is much longer.
func headOf(text string, n int) int {
	head := display.Cut(text, min(n, len(text)))
	if i := strings.LastIndexByte(head, '\n') + 1; i > n/2 {
		return i
	}
	return len(head)
}

// tailOf is headOf for the end of a text.
func tailOf(text string, n int) int {
	tail := display.CutEnd(text, min(n, len(text)))
	if len(tail) == len(text) || text[len(text)-len(tail)-1] == '\n' {
		return len(tail)
	}
	if i := strings.IndexByte(tail, '\n') + 1; i < len(tail)-n/2 {
		return len(tail) - i
	}
	return len(tail)
}

// missing says in words what an excerpt does not have, and how to read it. The content begins with
// the line of the number begins.
func (u unseen) missing(spec core.Spec, x core.Excerpt, begins int) (what, advice string) {
	all := u.all()
	before, _ := upTo(all, x.From)
	upto, _ := upTo(all, x.To)
	size, others := len(upto)-len(before), 0
	for _, b := range all[x.From[0]:x.To[0]] {
		if text, is := textOf(b); is {
			size += len(text)
		} else {
			others++
		}
	}
	first := begins + linesBefore(all, x.From)
	last := begins + linesBefore(all, x.To)
	if upto == "" || strings.HasSuffix(upto, "\n") {
		last = max(first, last-1)
	}
	var parts []string
	if size > 0 && first == last {
		parts = append(parts, fmt.Sprintf("%s bytes of line %d", display.Number(size), first))
	} else if size > 0 {
		parts = append(parts, fmt.Sprintf("lines %d–%d", first, last))
	}
	if others > 0 {
		parts = append(parts, display.Counted(others, "picture")+" or the like")
	}
	what = strings.Join(parts, " and ")
	switch {
	case u.call == nil:
		return what, "read the rest in parts, if it is a file"
	case u.call.spill != "":
		return what, "the whole is in " + u.call.spill + ", for read_file and grep"
	case spec.Offset == "" || size == 0:
		return what, "ask for less at once to see the rest"
	case first == last && before != "" && !strings.HasSuffix(before, "\n"):
		return what, "search in the file to see parts of it"
	}
	return what, fmt.Sprintf("to read them, use %s %d and %s %d, or parts of that", spec.Offset, first, spec.Limit, last-first+1)
}

// linesBefore returns the number of lines before a mark. Each block begins a line.
func linesBefore(all []core.Block, at [2]int) (n int) {
	for _, b := range all[:at[0]] {
		if text, is := textOf(b); is {
			n += strings.Count(onLines(text), "\n")
		}
	}
	text, _ := upTo(all, at)
	return n + strings.Count(text, "\n")
}

// number returns an argument of a call that is a number; 1: it is not given.
func (u *use) number(arg string) int {
	var args map[string]json.RawMessage
	var n float64
	if json.Unmarshal(u.args, &args) != nil || json.Unmarshal(bytes.Trim(args[arg], `"`), &n) != nil {
		return 1
	}
	return max(int(n), 1)
}
