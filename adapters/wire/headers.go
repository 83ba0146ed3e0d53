package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

const (
	// maxHeader limits a header section, in bytes.
	maxHeader = 8 << 10
	// maxResync limits the bodies that are searched for a header that they contain by mistake, in
	// bytes.
	maxResync = 1 << 20
	// maxNeedle is more than the longest header line that resynchronizing recognizes.
	maxNeedle = 64
)

const lengthName = "Content-Length"

type headerFramer struct {
	src   unreader
	r     *bufio.Reader // over src
	limit int

	started bool // something has been read: no byte order mark is accepted any more
	lost    bool // the next header must be looked for
	pushed  int  // bytes put back in all
}

// Headers returns a framer of messages behind header sections with a Content-Length, of
// at most limit bytes each. Names may be in any case; a Content-Type is accepted when it
// names no charset, utf-8 or utf8; other headers are ignored, line feeds between
// messages too. After any fault it looks for the next Content-Length line, anywhere in the stream,
// in bounded memory.
func Headers(r io.Reader, limit int) Framer {
	if limit <= 0 {
		limit = MaxMessage
	}
	f := &headerFramer{src: unreader{r: r}, limit: limit}
	f.r = bufio.NewReaderSize(&f.src, readBuffer)
	return f
}

// section has the values of a header section.
type section struct {
	size    int    // the body's length; -1: not said yet
	charset string // one that we do not read, or ""
	fault   string // why the section cannot be used, or ""
	used    int    // bytes read of it
}

func (f *headerFramer) Next() ([]byte, error) {
	s := section{size: -1}
	if f.lost {
		size, err := f.search()
		if err != nil {
			return nil, err
		}
		s.size, f.lost = size, false
	}
	if err := f.section(&s); err != nil {
		return nil, err
	}
	switch {
	case s.fault != "":
	case s.size < 0:
		s.fault = "no Content-Length in the header"
	case s.size > f.limit:
		// JSON strings contain no raw line ends, so the next header line is found right after this
		// body, even if its announced length is wrong.
		f.lost = true
		return nil, tooLong(f.limit)
	case s.size == 0:
		return nil, &FrameError{Msg: "empty message"}
	}
	if s.fault != "" {
		f.lost = true
		return nil, &FrameError{Msg: s.fault}
	}
	body, err := f.body(s.size)
	if err != nil {
		return nil, err
	}
	if s.charset != "" {
		return nil, &FrameError{
			Msg:  fmt.Sprintf("charset %q is not supported, only utf-8", s.charset),
			Body: body,
		}
	}
	return body, nil
}

// section reads header lines up to the empty one. A line that is no header ends it at once, with a
// fault; a header with a bad value does not, so that the following lines are not taken for the
// next section.
func (f *headerFramer) section(s *section) error {
	for {
		line, err := f.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) && (s.used > 0 || s.size >= 0 || len(bytes.Trim(line, space)) > 0) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
		if !f.started {
			line, f.started = bytes.TrimPrefix(line, []byte(bom)), true
		}
		text := bytes.Trim(line, space)
		if len(text) == 0 && err == nil {
			if s.used == 0 && s.size < 0 {
				continue // line feeds between messages
			}
			return nil
		}
		if s.used += len(line); s.used > maxHeader || err != nil {
			s.fault = fmt.Sprintf("header section exceeds %d bytes", maxHeader)
			return nil
		}
		name, value, ok := bytes.Cut(text, []byte(":"))
		if name = bytes.TrimRight(name, " \t"); !ok || !isToken(name) {
			s.fault = "expected a header line with a Content-Length"
			// The garbage may be the rest of a body that was longer than announced, with the next
			// header behind it.
			if size, found := headerAtEnd(line); found {
				*s = section{size: size, used: s.used}
				continue
			}
			return nil
		}
		s.header(name, bytes.Trim(value, " \t"))
	}
}

func (s *section) header(name, value []byte) {
	switch {
	case strings.EqualFold(string(name), lengthName):
		size, ok := digits(value)
		switch {
		case !ok:
			s.fault = fmt.Sprintf("Content-Length %.40q is not a usable number", value)
		case s.size >= 0:
			s.fault = "more than one Content-Length in the header"
		default:
			s.size = size
		}
	case strings.EqualFold(string(name), "Content-Type"):
		if c := charset(string(value)); c != "" {
			s.charset = c
		}
	}
}

// body reads size bytes. Memory grows with the bytes that arrive, not with the announced length.
func (f *headerFramer) body(size int) ([]byte, error) {
	b := make([]byte, 0, min(size, readBuffer))
	for len(b) < size {
		b = grown(b, 1, size)
		n, err := io.ReadFull(f.r, b[len(b):min(cap(b), size)])
		if b = b[:len(b)+n]; err != nil {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return b, nil
}

// Resync implements [Resyncer]. If body contains a header, because its announced length was too
// large, reading continues there, else at the next header after it.
func (f *headerFramer) Resync(body []byte) {
	f.lost = true
	if len(body) > maxResync {
		return
	}
	at := 0
	for at < len(body) {
		end := bytes.IndexByte(body[at:], '\n')
		if end < 0 {
			break
		}
		if _, ok := headerAtEnd(body[at : at+end+1]); ok {
			f.unread(body[at:])
			return
		}
		at += end + 1
	}
	// The body's end may have cut a header in two.
	if from := headerCut(body[at:]); from >= 0 {
		f.unread(body[at+from:])
	}
}

// unread puts b back in front of the bytes that were not read yet. In all, no more bytes are put
// back than were read so far, so that headers within bodies within headers cost at most twice their
// length.
func (f *headerFramer) unread(b []byte) {
	rest, _ := f.r.Peek(f.r.Buffered())
	here := f.src.fresh - len(f.src.back) - len(rest)
	if f.pushed += len(b); f.pushed > here {
		return
	}
	f.src.back = bytes.Join([][]byte{b, rest, f.src.back}, nil)
	f.r.Reset(&f.src)
}

// headerCut returns the offset of an incomplete Content-Length header at the end of b, or -1.
func headerCut(b []byte) int {
	if i := foldIndex(b, lengthName); i >= 0 {
		return i
	}
	for n := min(len(b), len(lengthName)-1); n > 0; n-- {
		if strings.EqualFold(string(b[len(b)-n:]), lengthName[:n]) {
			return len(b) - n
		}
	}
	return -1
}

// search reads up to and including the next line that ends in a Content-Length header,
// and returns its value.
func (f *headerFramer) search() (int, error) {
	var tail []byte // the end of a line that did not fit the buffer
	for {
		part, err := f.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, err
		}
		line := part
		if tail != nil {
			line = append(tail, part[max(0, len(part)-maxNeedle):]...)
		}
		if err == nil {
			if size, ok := headerAtEnd(line); ok {
				return size, nil
			}
			tail = nil
			continue
		}
		tail = append([]byte(nil), line[max(0, len(line)-maxNeedle):]...)
	}
}

// headerAtEnd finds a Content-Length header at the end of a line, after any other text.
func headerAtEnd(line []byte) (size int, ok bool) {
	line = bytes.TrimRight(line, space)
	colon := bytes.LastIndexByte(line, ':')
	if colon < len(lengthName) || !strings.EqualFold(string(line[colon-len(lengthName):colon]), lengthName) {
		return 0, false
	}
	return digits(bytes.Trim(line[colon+1:], " \t"))
}

// foldIndex is the first place of name in b, in any case of ASCII letters, or -1.
func foldIndex(b []byte, name string) int {
	for i := 0; i+len(name) <= len(b); i++ {
		if b[i]|0x20 == name[0]|0x20 && strings.EqualFold(string(b[i:i+len(name)]), name) {
			return i
		}
	}
	return -1
}

// digits reads a number of decimal digits only.
func digits(b []byte) (int, bool) {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' || n > (math.MaxInt-9)/10 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(b) > 0
}

// isToken reports whether b can be a header's name (RFC 9110, section 5.6.2).
func isToken(b []byte) bool {
	for _, c := range b {
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return len(b) > 0
}

// charset returns the charset that a Content-Type names when it is one that we do not read, else "".
func charset(contentType string) string {
	_, params, _ := strings.Cut(contentType, ";")
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "charset") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if !strings.EqualFold(value, "utf-8") && !strings.EqualFold(value, "utf8") {
			return value
		}
	}
	return ""
}

// unreader is a reader in front of which bytes can be put back.
type unreader struct {
	r     io.Reader
	back  []byte // to be read before r
	fresh int    // bytes read from r
}

func (p *unreader) Read(b []byte) (int, error) {
	if len(p.back) == 0 {
		p.back = nil
		n, err := p.r.Read(b)
		p.fresh += n
		return n, err
	}
	n := copy(b, p.back)
	p.back = p.back[n:]
	return n, nil
}
