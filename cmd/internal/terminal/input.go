package terminal

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"sync"

	"dragoman/core/display"
)

// input reads, line by line, from a person who types or from a pipe.
//
// At a terminal every line belongs to a generation: the number of questions that had been shown
// when its first character, or its paste, was read. Only lines of its own generation answer a
// question, so that nothing typed or pasted before it was on the screen is its answer. Over a
// pipe the lines come in the order that their writer has chosen, and there are no generations.
type input struct {
	term *terminal     // nil: a pipe
	came chan struct{} // holds 1: news stays until it is seen
	room chan struct{} // holds 1: a line was taken
	over chan struct{} // closed when lines are no longer taken
	stop chan struct{} // holds 1: Esc was pressed

	mu    sync.Mutex // guards the fields below
	keys  keys
	gen   int     // the current generation
	begun int     // the generation in which the open paste began
	aside []piece // a half-typed prompt that a question interrupted

	asking bool // a question is open
	lines  []inputLine
	ended  bool
	again  bool // the screen has to be drawn again
	// dropped holds the lines that forget has dropped, until lost returns them.
	dropped []inputLine
}

// inputLine is a whole line of input.
type inputLine struct {
	keyLine
	gen int
}

func newInput() *input {
	return &input{came: make(chan struct{}, 1), room: make(chan struct{}, 1), over: make(chan struct{}), stop: make(chan struct{}, 1)}
}

// read reads until the input ends or is closed.
func (in *input) read(from io.Reader) {
	if in.term != nil {
		in.term.read(in)
	} else {
		in.scan(from)
	}
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
	wake(in.came)
}

// scan reads the lines of a pipe, the next one when the last was taken. A line of more than 1 MiB
// ends the input.
func (in *input) scan(from io.Reader) {
	s := bufio.NewScanner(from)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		in.mu.Lock()
		in.lines = append(in.lines, inputLine{keyLine: keyLine{pieces: []piece{{text: s.Text()}}}})
		in.mu.Unlock()
		wake(in.came)
		select {
		case <-in.room:
		case <-in.over:
			return
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// acceptLocked takes input of a terminal.
func (in *input) acceptLocked(chunk []byte) {
	was := in.keys.open
	in.keys.take(chunk, func(k keyLine) {
		in.lines = append(in.lines, inputLine{k, in.gen})
	}, func(paste string) {
		if p := pieceOf(paste); was && in.begun < in.gen {
			in.aside = append(in.aside, p)
		} else {
			in.keys.line.add(p)
			in.keys.line.pasted = true
		}
		was = false
	}, func() { in.ended = true })
	if in.keys.open && !was {
		in.begun = in.gen
	}
	wake(in.came)
}

// escaping reports whether the last character was that of Esc, with which many keys begin.
func (in *input) escaping() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return string(in.keys.raw) == "\x1b" && !in.keys.open
}

// escape ends the wait for the rest of a key: it was Esc.
func (in *input) escape() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if string(in.keys.raw) == "\x1b" && !in.keys.open {
		in.keys.raw = nil
		wake(in.stop)
	}
}

// unstop forgets an Esc that was pressed when nothing ran.
func (in *input) unstop() {
	select {
	case <-in.stop:
	default:
	}
}

// take returns the next line. At a terminal the line belongs to the generation gen, or to
// any generation if gen is 0.
func (in *input) take(gen int) (line inputLine, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	i := slices.IndexFunc(in.lines, func(l inputLine) bool { return gen == 0 || in.term == nil || l.gen == gen })
	if i < 0 {
		return inputLine{}, false
	}
	line = in.lines[i]
	in.lines = slices.Delete(in.lines, i, i+1)
	wake(in.room)
	return line, true
}

// end reports whether the input has ended. Lines may still be there.
func (in *input) end() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ended
}

// line returns the part of the next line that has been typed.
func (in *input) line() keyLine {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := in.keys.line
	l.pieces = slices.Clone(l.pieces)
	return l
}

// recall has the keys for it show earlier prompts, the newest of which is the last; without any
// there are no such keys, and Tab completes nothing.
func (in *input) recall(on bool, entries []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.keys.past = past{on: on, entries: entries}
}

// resumed has the line drawn again after the process was stopped.
func (in *input) resumed() {
	in.mu.Lock()
	in.again = true
	in.mu.Unlock()
	wake(in.came)
}

// lostScreen returns whether resumed was called since the last call.
func (in *input) lostScreen() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	again := in.again
	in.again = false
	return again
}

// pressed returns whether Tab and the key that clears the screen were pressed last.
func (in *input) pressed() (tab, clearing bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	tab, clearing = in.keys.tab, in.keys.clear
	in.keys.tab, in.keys.clear = false, false
	return tab, clearing
}

// insert inserts a text at the cursor, unless the line was changed since it was as was.
func (in *input) insert(was keyLine, drop int, text string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := &in.keys.line
	if l.at != was.at || !slices.Equal(l.pieces, was.pieces) {
		return
	}
	l.remove(l.at-drop, l.at)
	for _, r := range text {
		l.typed(r)
	}
}

// next begins a generation, when a question is on the screen. Everything typed up to now is read
// and belongs to earlier generations. Lines that answers accepts are dropped, because they could
// be meant as the answer; the others are kept as prompts. An unfinished line is put aside for the
// next prompt. With waits there is no generation, and gen is 0, while anything is typed or unread.
func (in *input) next(waits bool, answers func(inputLine) bool) (gen int, kept, dropped []inputLine) {
	if in.term != nil {
		in.term.drain(in)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if waits && in.term != nil && (len(in.lines) > 0 || len(in.keys.line.pieces) > 0 || in.keys.open || len(in.keys.raw) > 0) {
		return 0, nil, nil
	}
	was := in.gen
	in.gen++
	in.asking = true
	if in.term == nil {
		return in.gen, nil, nil
	}
	in.lines = slices.DeleteFunc(in.lines, func(l inputLine) bool {
		switch {
		case strings.TrimSpace(l.text()) == "":
			return true
		case l.gen == was && answers(l):
			dropped = append(dropped, l)
			return true
		case l.gen == was:
			kept = append(kept, l)
		}
		return false
	})
	in.putAsideLocked()
	return in.gen, kept, dropped
}

func (in *input) putAsideLocked() {
	in.aside = append(in.aside, in.keys.line.pieces...)
	in.keys.line = keyLine{}
}

// resume restores the unfinished line that next has put aside.
func (in *input) resume() {
	in.mu.Lock()
	defer in.mu.Unlock()
	rest := in.keys.line
	in.keys.line = keyLine{pasted: rest.pasted}
	for _, p := range slices.Concat(in.aside, rest.pieces) {
		in.keys.line.add(p)
	}
	in.aside = nil
}

// later keeps a line as a prompt.
func (in *input) later(l inputLine) {
	in.mu.Lock()
	defer in.mu.Unlock()
	l.gen = 0
	in.lines = append(in.lines, l)
}

// forget drops the lines that were typed at a terminal and not taken. An unfinished prompt stays;
// an unfinished answer does not.
func (in *input) forget() {
	if in.term == nil {
		return
	}
	in.term.drain(in)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropped = append(in.dropped, in.lines...)
	in.lines = nil
	if in.asking {
		in.keys.line = keyLine{}
	}
}

// answered ends the question that next has begun.
func (in *input) answered() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.asking = false
}

// discard drops everything that was typed in the current generation; lost does not return it.
func (in *input) discard() {
	if in.term == nil {
		return
	}
	in.term.drain(in)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lines = slices.DeleteFunc(in.lines, func(l inputLine) bool { return l.gen == in.gen })
	in.keys.line, in.keys.cut = keyLine{}, nil
}

// lost returns the lines that forget has dropped since the last call.
func (in *input) lost() []inputLine {
	in.mu.Lock()
	defer in.mu.Unlock()
	lost := in.dropped
	in.dropped = nil
	return lost
}

// heads quotes the beginnings of lines for a message.
func heads(lines []inputLine) string {
	var list []string
	for _, l := range lines {
		list = append(list, `"`+display.Line(l.text(), 60)+`"`)
	}
	return strings.Join(list, ", ")
}
