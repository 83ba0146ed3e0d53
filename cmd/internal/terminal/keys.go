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
// characters, keys that edit, and pastes, which the terminal puts between two marks. Keys
// without a meaning do nothing. It does no I/O.
type keys struct {
	erase, word, kill, end byte // the user's keys; 0: none

	raw   []byte // the beginning of a character, a key or a mark
	paste []byte // the received part of a paste
	open  bool   // a paste has started and not ended
	line  keyLine
	cut   []piece // removed last by a key that removes more than one character
	past  past

	// Keys that the reader of lines carries out; it resets them.
	tab   bool // complete the word at the cursor
	clear bool // clear the screen
}

// The marks around a paste (bracketed paste, as xterm calls it).
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

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
	k.tab = false // a later key comes first
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
	tab := b == '\t' && k.past.on && !burst
	k.tab = tab
	switch {
	case b == '\n' || b == '\r':
		line := k.line
		line.pasted = line.pasted || burst
		k.line = keyLine{}
		k.past.rest()
		done(line)
	case b == 0x1b:
		return k.escape()
	case b == k.end && b != 0:
		if len(k.line.pieces) == 0 {
			ended()
		}
		k.line.remove(k.line.at, k.line.at+1)
	case b == k.erase && b != 0 || b == '\b' || b == 0x7f:
		k.line.remove(k.line.at-1, k.line.at)
	case b == k.kill && b != 0:
		k.drop(0, k.line.at)
	case b == k.word && b != 0:
		k.drop(k.line.wordBefore(strings.Fields), k.line.at)
	case b == '\t':
		if !tab {
			k.line.add(piece{text: "\t", shown: " "})
		}
	case b < ' ':
		k.control(b)
	default:
		if !utf8.FullRune(k.raw) {
			return 0
		}
		r, n := utf8.DecodeRune(k.raw)
		if r != utf8.RuneError && !unicode.IsControl(r) {
			k.line.typed(r)
		}
		return n
	}
	return 1
}

// control carries out a key that is held with Ctrl, as in Emacs and in shells.
func (k *keys) control(b byte) {
	l := &k.line
	switch b & 0x1f {
	case 'A' & 0x1f:
		l.at = 0
	case 'E' & 0x1f:
		l.at = len(l.pieces)
	case 'B' & 0x1f:
		l.move(-1)
	case 'F' & 0x1f:
		l.move(1)
	case 'K' & 0x1f:
		k.drop(l.at, len(l.pieces))
	case 'Y' & 0x1f:
		for _, p := range k.cut {
			l.add(p)
		}
	case 'P' & 0x1f:
		k.past.older(l)
	case 'N' & 0x1f:
		k.past.newer(l)
	case 'L' & 0x1f:
		k.clear = true
	}
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
		key := string(k.raw[2 : 2+i+1])
		k.open = "\x1b["+key == pasteBegins
		k.named(key)
		return 2 + i + 1
	case 'O':
		if len(k.raw) < 3 {
			return 0
		}
		k.named(string(k.raw[2:3]))
		return 3
	case 0x1b: // pressed twice
		return 1
	case '\r', '\n':
		k.line.add(piece{text: "\n", shown: "\n"})
	case 'b':
		k.named("1;3D")
	case 'f':
		k.named("1;3C")
	case 'd':
		k.drop(k.line.at, k.line.wordAfter())
	case 0x7f, '\b':
		k.drop(k.line.wordBefore(words), k.line.at)
	}
	return 2
}

// named carries out a key by the sequence that terminals send for it, without its beginning.
func (k *keys) named(key string) {
	l := &k.line
	switch key {
	case "A":
		k.past.older(l)
	case "B":
		k.past.newer(l)
	case "C":
		l.move(1)
	case "D":
		l.move(-1)
	case "1;5C", "1;3C":
		l.at = l.wordAfter()
	case "1;5D", "1;3D":
		l.at = l.wordBefore(words)
	case "H", "1~", "7~":
		l.at = 0
	case "F", "4~", "8~":
		l.at = len(l.pieces)
	case "3~":
		l.remove(l.at, l.at+1)
	}
}

// drop removes a part of the line, which Ctrl-Y brings back.
func (k *keys) drop(from, to int) {
	if from < to {
		k.cut = slices.Clone(k.line.pieces[from:to])
		k.line.remove(from, to)
	}
}

// words splits a text at everything that is not a letter or a digit.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
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
		return piece{text, "[pasted: " + display.Counted(n, "line") + ", " + size + "]", true}
	}
	text = strings.TrimRight(text, "\n")
	return piece{text, strings.ReplaceAll(display.Printable(text), "\t", " "), true}
}
