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

	mu    sync.Mutex // guards the fields below
	keys  keys
	gen   int     // the current generation
	begun int     // the generation in which the open paste began
	aside []piece // a half-typed prompt that a question interrupted
	lines []inputLine
	ended bool
	// dropped holds the lines that forget has dropped, until lost returns them.
	dropped []inputLine
}

// inputLine is a whole line of input.
type inputLine struct {
	keyLine
	gen int
}

func newInput() *input {
	return &input{came: make(chan struct{}, 1), room: make(chan struct{}, 1), over: make(chan struct{})}
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
			in.keys.add(p)
			in.keys.line.pasted = true
		}
		was = false
	}, func() { in.ended = true })
	if in.keys.open && !was {
		in.begun = in.gen
	}
	wake(in.came)
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
func (in *input) line() []piece {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.keys.line.pieces)
}

// next begins a generation, when a question is on the screen. Everything typed up to now is read
// and belongs to earlier generations. Lines that answers accepts are dropped, because they could
// be meant as the answer; the others are kept as prompts. An unfinished line is put aside for the
// next prompt.
func (in *input) next(answers func(inputLine) bool) (gen int, kept, dropped []inputLine) {
	if in.term != nil {
		in.term.drain(in)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	was := in.gen
	in.gen++
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
		in.keys.add(p)
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

// forget drops everything that was typed at a terminal and not taken.
func (in *input) forget() {
	if in.term == nil {
		return
	}
	in.term.drain(in)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropped = append(in.dropped, in.lines...)
	in.lines, in.aside, in.keys.line = nil, nil, keyLine{}
}

// discard is forget for the current generation, but lost does not return its lines.
func (in *input) discard() {
	if in.term == nil {
		return
	}
	in.term.drain(in)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lines = slices.DeleteFunc(in.lines, func(l inputLine) bool { return l.gen == in.gen })
	in.keys.line = keyLine{}
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
