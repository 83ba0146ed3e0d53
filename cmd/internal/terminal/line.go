package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"

	"dragoman/cmd/internal/terminal/columns"
	"dragoman/core/display"
)

// keyLine is a line, or the part of it that has been typed so far.
type keyLine struct {
	pieces []piece
	at     int  // the cursor: in front of this piece
	pasted bool // in whole or in part
	size   int  // of the text, in bytes
	cut    bool // more was typed than maxLine allows
}

// piece is the part of a line that one key or one paste has added.
type piece struct {
	text   string
	shown  string // on the screen; "\n" begins a line
	pasted bool
}

func (l keyLine) text() string { return textOf(l.pieces) }

func textOf(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.text)
	}
	return b.String()
}

func shownText(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.shown)
	}
	return b.String()
}

// typed inserts a character at the cursor. One that belongs to the character in front of it, as
// in an emoji of several, becomes a part of that.
func (l *keyLine) typed(r rune) {
	text := string(r)
	if l.at > 0 && l.size+len(text) <= maxLine {
		p := &l.pieces[l.at-1]
		if !p.pasted && columns.Extends(p.text, r) {
			l.size += len(text)
			p.text += text
			p.shown = display.Printable(p.text)
			return
		}
	}
	l.add(piece{text: text, shown: display.Printable(text)})
}

// add inserts a piece at the cursor.
func (l *keyLine) add(p piece) {
	if l.size+len(p.text) > maxLine {
		l.cut = true
		return
	}
	l.pieces = slices.Insert(l.pieces, l.at, p)
	l.at++
	l.size += len(p.text)
}

// remove removes the pieces from one number up to another.
func (l *keyLine) remove(from, to int) {
	from, to = max(from, 0), min(to, len(l.pieces))
	if from >= to {
		return
	}
	for _, p := range l.pieces[from:to] {
		l.size -= len(p.text)
	}
	l.pieces = slices.Delete(l.pieces, from, to)
	l.at = from
	if len(l.pieces) == 0 {
		*l = keyLine{}
	}
}

// move moves the cursor by a number of pieces.
func (l *keyLine) move(by int) { l.at = min(max(l.at+by, 0), len(l.pieces)) }

// wordBefore returns where the word at the cursor, or in front of it, begins. split says what a
// word is.
func (l *keyLine) wordBefore(split func(string) []string) int {
	i := l.at
	for i > 0 && !isWord(l.pieces[i-1], split) {
		i--
	}
	for i > 0 && isWord(l.pieces[i-1], split) {
		i--
	}
	return i
}

// wordAfter returns where the word at the cursor, or behind it, ends.
func (l *keyLine) wordAfter() int {
	i := l.at
	for i < len(l.pieces) && !isWord(l.pieces[i], words) {
		i++
	}
	for i < len(l.pieces) && isWord(l.pieces[i], words) {
		i++
	}
	return i
}

func isWord(p piece, split func(string) []string) bool { return len(split(p.text)) > 0 }

// lineOf returns a text as a line that can be edited. A long text is one piece.
func lineOf(text string) keyLine {
	var l keyLine
	if strings.Count(text, "\n") >= 10 || len(text) > 2000 {
		l.add(pieceOf(text))
		return l
	}
	for _, r := range text {
		switch r {
		case '\n':
			l.add(piece{text: "\n", shown: "\n"})
		case '\t':
			l.add(piece{text: "\t", shown: " "})
		case utf8.RuneError:
		default:
			l.typed(r)
		}
	}
	return l
}

// past is the list of earlier prompts while a prompt is typed.
type past struct {
	on      bool // a prompt is typed, and not an answer
	entries []string
	at      int     // the one on the screen, counted from the end; 0: the new line
	draft   keyLine // the new line while another one is on the screen
}

func (p *past) rest() { p.at, p.draft = 0, keyLine{} }

// older replaces the line by the prompt before it.
func (p *past) older(l *keyLine) {
	if !p.on || p.at == len(p.entries) {
		return
	}
	if p.at == 0 {
		p.draft = *l
	}
	p.at++
	*l = lineOf(p.entries[len(p.entries)-p.at])
}

// newer replaces the line by the prompt behind it.
func (p *past) newer(l *keyLine) {
	switch {
	case !p.on || p.at == 0:
		return
	case p.at == 1:
		*l = p.draft
		p.rest()
	default:
		p.at--
		*l = lineOf(p.entries[len(p.entries)-p.at])
	}
}
