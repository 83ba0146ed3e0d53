package markdown

import "strings"

// inline shows the text of a line in a colour, and returns how much of it was shown. final means
// that the line is complete; otherwise a mark whose end has not come is held back, with what
// follows it.
func (r *Renderer) inline(code, s string, final bool) (n int) {
	hold := func(i int) bool { return !final && len(s)-i < maxHeld }
	for n < len(s) {
		i := strings.IndexAny(s[n:], "`*_~[\\")
		if i < 0 {
			r.text(code, s[n:])
			return len(s)
		}
		r.text(code, s[n:n+i])
		n += i
		size, whole := r.mark(code, s[n:], final)
		if size == 0 {
			if !whole && hold(n) {
				return n
			}
			size = 1
			if s[n] != '\\' && s[n] != '[' {
				size = run(s[n:])
			}
			r.text(code, s[n:n+size])
		}
		n += size
	}
	return n
}

func (r *Renderer) text(code, s string) {
	if s != "" {
		r.flow.Text(code, s)
		r.last = s[len(s)-1]
	}
}

// mark shows the span that begins with a mark, and returns its size. It is 0 if the mark has no
// meaning, or, with whole false, if more of the line is needed.
func (r *Renderer) mark(code, s string, final bool) (size int, whole bool) {
	n := run(s)
	switch c := s[0]; {
	case c == '\\':
		if len(s) > 1 && strings.ContainsRune("\\`*_~[]()#+-.!|>{}<", rune(s[1])) {
			r.text(code, s[1:2])
			return 2, true
		}
		return 0, len(s) > 1
	case c == '[':
		return r.link(code, s)
	case n == len(s) && !final:
		return 0, false
	case c == '`':
		end := closing(s[n:], s[:n], func(int) bool { return true })
		if end < 0 || !final && end+2*n == len(s) {
			return 0, false
		}
		r.text(with(code, cyan), codeText(s[n:n+end]))
		return 2*n + end, true
	case c == '~' && n != 2, n > 3, n == len(s), s[n] == ' ':
		return 0, true
	case c == '_' && isWord(r.last):
		return 0, true
	}
	inner := s[n:]
	end := closing(inner, s[:n], func(i int) bool {
		after := i + n
		return i > 0 && inner[i-1] != ' ' && (s[0] != '_' || after == len(inner) || !isWord(inner[after]))
	})
	if end < 0 || !final && end+n == len(inner) { // the run may go on
		return 0, false
	}
	r.inline(with(code, map[string]string{"*": italic, "**": bold, "***": bold + ";" + italic, "~~": struck}[strings.ReplaceAll(s[:n], "_", "*")]), inner[:end], true)
	r.last = s[0]
	return 2*n + end, true
}

// run returns the length of the run of one character at the beginning of a text.
func run(s string) int { return len(s) - len(strings.TrimLeft(s, s[:1])) }

// closing finds a run that is exactly a mark and that fits.
func closing(s, mark string, fits func(int) bool) int {
	for i := 0; i < len(s); {
		if s[i] != mark[0] {
			i++
			continue
		}
		n := run(s[i:])
		if n == len(mark) && fits(i) {
			return i
		}
		i += n
	}
	return -1
}

// codeText returns the content of a span of code without the blanks that set off backticks.
func codeText(s string) string {
	if len(s) > 2 && s[0] == ' ' && s[len(s)-1] == ' ' && strings.TrimSpace(s) != "" {
		return s[1 : len(s)-1]
	}
	return s
}

// link shows a link with its address.
func (r *Renderer) link(code, s string) (size int, whole bool) {
	i := strings.IndexByte(s, ']')
	if i < 0 || i+1 == len(s) {
		return 0, false
	}
	if s[i+1] != '(' {
		return 0, true
	}
	j := strings.IndexByte(s[i:], ')')
	if j < 0 {
		return 0, false
	}
	text, address := s[1:i], s[i+2:i+j]
	r.inline(with(code, under), text, true)
	if address != text {
		r.text(code, " ")
		r.text(faint, "("+address+")")
	}
	return i + j + 1, true
}

func with(code, more string) string {
	if code == "" {
		return more
	}
	return code + ";" + more
}

func isWord(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
