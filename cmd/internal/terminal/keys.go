package terminal

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/core/display"
)

// maxLine limits one line of input, in bytes.
const maxLine = 1 << 20

// keys assembles lines from the input of a terminal that does not edit them itself: typed
// characters, keys that erase, and pastes, which the terminal puts between two marks.
// Arrows and other keys do nothing. It does no I/O.
type keys struct {
	erase, word, kill, end byte // the user's keys; 0: none

	raw   []byte // the beginning of a character, a key or a mark
	paste []byte // the received part of a paste
	open  bool   // a paste has started and not ended
	line  keyLine
}

// keyLine is a line, or the part of it that has been typed so far.
type keyLine struct {
	pieces []piece
	pasted bool // in whole or in part
	size   int  // of the text, in bytes
	cut    bool // more was typed than maxLine allows
}

// piece is the part of a line that one key or one paste has added.
type piece struct {
	text  string
	shown string // on the screen, on one line
}

// The marks around a paste (bracketed paste, as xterm calls it).
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

func (k keyLine) text() string {
	var b strings.Builder
	for _, p := range k.pieces {
		b.WriteString(p.text)
	}
	return b.String()
}

// take reads a chunk. It calls done with each whole line, pasted with each paste, and ended
// at the end of the input. If a chunk has bytes after the end of a line, it was not typed: it
// comes from a paste in a terminal without marks, and all of its lines count as pasted.
func (k *keys) take(chunk []byte, done func(keyLine), pasted func(string), ended func()) {
	burst := false
	if i := bytes.IndexAny(chunk, "\r\n"); i >= 0 && i < len(chunk)-1 && !k.open &&
		!bytes.Contains(chunk, []byte(pasteBegins)) {
		burst = true
	}
	k.raw = append(k.raw, chunk...)
	for len(k.raw) > 0 {
		if k.open {
			if !k.inPaste(pasted) {
				return
			}
			continue
		}
		n := k.one(done, ended, burst)
		if n == 0 {
			return
		}
		k.raw = k.raw[n:]
	}
	k.line.pasted = k.line.pasted || burst && len(k.line.pieces) > 0
}

// inPaste moves text into the paste until its end; false: more must come first.
func (k *keys) inPaste(pasted func(string)) bool {
	i := bytes.Index(k.raw, []byte(pasteEnds))
	if i >= 0 {
		k.keep(k.raw[:i])
		k.raw = k.raw[i+len(pasteEnds):]
		text := string(k.paste)
		k.open, k.paste = false, nil
		pasted(text)
		return true
	}
	// A possible beginning of the mark waits for the rest of it.
	n := len(k.raw)
	for back := min(n, len(pasteEnds)-1); back > 0; back-- {
		if strings.HasPrefix(pasteEnds, string(k.raw[n-back:])) {
			n -= back
			break
		}
	}
	k.keep(k.raw[:n])
	k.raw = k.raw[n:]
	return false
}

// keep stores a part of a paste, up to one byte more than the limit.
func (k *keys) keep(part []byte) {
	k.paste = append(k.paste, part[:min(len(part), maxLine+1-len(k.paste))]...)
}

// one reads one key and returns its size in bytes; 0: it is incomplete.
func (k *keys) one(done func(keyLine), ended func(), burst bool) int {
	b := k.raw[0]
	switch {
	case b == '\n' || b == '\r':
		line := k.line
		line.pasted = line.pasted || burst
		k.line = keyLine{}
		done(line)
	case b == 0x1b:
		return k.escape()
	case b == k.end && b != 0:
		if len(k.line.pieces) == 0 {
			ended()
		}
	case b == k.erase && b != 0 || b == '\b' || b == 0x7f:
		k.drop(1)
	case b == k.kill && b != 0:
		k.drop(len(k.line.pieces))
	case b == k.word && b != 0:
		k.drop(k.lastWord())
	case b == '\t':
		k.add(piece{"\t", " "})
	case b < ' ': // a key without a meaning here
	default:
		if !utf8.FullRune(k.raw) {
			return 0
		}
		r, n := utf8.DecodeRune(k.raw)
		if text := string(r); r != utf8.RuneError && !unicode.IsControl(r) {
			k.add(piece{text, display.Printable(text)})
		}
		return n
	}
	return 1
}

// escape reads a key that is an escape sequence, or the mark of a paste.
func (k *keys) escape() int {
	if len(k.raw) < 2 {
		return 0
	}
	switch k.raw[1] {
	case '[':
		i := slices.IndexFunc(k.raw[2:], func(b byte) bool { return b < ' ' || b >= '@' })
		if i < 0 {
			if len(k.raw) > 32 { // no key is that long
				return len(k.raw)
			}
			return 0
		}
		k.open = string(k.raw[:2+i+1]) == pasteBegins
		return 2 + i + 1
	case 'O':
		if len(k.raw) < 3 {
			return 0
		}
		return 3
	}
	return 2
}

// add appends a piece to the line.
func (k *keys) add(p piece) {
	if k.line.size+len(p.text) > maxLine {
		k.line.cut = true
		return
	}
	k.line.pieces = append(k.line.pieces, p)
	k.line.size += len(p.text)
}

// drop removes the last n pieces of the line.
func (k *keys) drop(n int) {
	n = min(n, len(k.line.pieces))
	for _, p := range k.line.pieces[len(k.line.pieces)-n:] {
		k.line.size -= len(p.text)
	}
	k.line.pieces = k.line.pieces[:len(k.line.pieces)-n]
	if len(k.line.pieces) == 0 {
		k.line = keyLine{}
	}
}

// lastWord counts the pieces of the last word and of the blanks after it.
func (k *keys) lastWord() (n int) {
	blank := func(p piece) bool { return strings.TrimSpace(p.text) == "" }
	p := k.line.pieces
	for n < len(p) && blank(p[len(p)-1-n]) {
		n++
	}
	for n < len(p) && !blank(p[len(p)-1-n]) {
		n++
	}
	return n
}

// pieceOf returns a paste as one piece. A text of several lines is shown by its size.
func pieceOf(paste string) piece {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(paste)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if n := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1; n > 1 || len(text) > 1000 {
		size := display.Counted(utf8.RuneCountInString(text), "character")
		return piece{text, "[pasted: " + display.Counted(n, "line") + ", " + size + "]"}
	}
	text = strings.TrimRight(text, "\n")
	return piece{text, strings.ReplaceAll(display.Printable(text), "\t", " ")}
}
