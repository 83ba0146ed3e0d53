package jsonl

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
)

// A line is a JSON object whose last member is the CRC32C of everything before it, in
// eight hexadecimal digits:
//
//	{"e":1,"s":7,…,"c":"0f3a99d2"}
const (
	sumMember = `,"c":"`
	sumLen    = len(sumMember) + 8 + len(`"}`)

	// maxLine bounds a line, so that reading one takes bounded memory. Far shorter
	// records are already in files of their own.
	maxLine = 1 << 20
)

var (
	errUnfinished = errors.New("the line has no end yet")
	errTooLong    = errors.New("the line is too long")
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// seal makes a line of the object in dst[start:].
func seal(dst []byte, start int) []byte {
	dst = dst[:len(dst)-1]
	sum := checksum(dst[start:])
	dst = append(dst, sumMember...)
	dst = appendSum(dst, sum)
	return append(dst, "\"}\n"...)
}

func appendSum(dst []byte, sum uint32) []byte {
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[sum>>shift&0xf])
	}
	return dst
}

// unseal checks a line, without its end, and returns the object from before seal. It
// changes line.
func unseal(line []byte) (object []byte, ok bool) {
	n := len(line) - sumLen
	if n < 1 || string(line[n:n+len(sumMember)]) != sumMember || string(line[len(line)-2:]) != `"}` {
		return nil, false
	}
	var sum [8]byte
	if string(line[n+len(sumMember):len(line)-2]) != string(appendSum(sum[:0], checksum(line[:n]))) {
		return nil, false
	}
	line[n] = '}'
	return line[:n+1], true
}

// lastLine returns the last line of whole lines, without its end.
func lastLine(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return b[bytes.LastIndexByte(b, '\n')+1:]
}

// lines reads lines from a file that another process may be writing.
type lines struct {
	file io.ReaderAt
	buf  []byte // buf[from:to] was read and not yet returned
	from int
	to   int
	next int64 // offset of buf[from]
	at   int64 // offset of the last returned line
}

func newLines(file io.ReaderAt) *lines { return &lines{file: file} }

// Files are read in pieces, each twice as large as the one before: most reads need one
// line, or a session of a few.
const (
	firstPiece = 4 << 10
	largePiece = 64 << 10
)

// read returns the next line without its end, valid until the next call. The error is
// io.EOF at the end, errUnfinished if the last line has no end, errTooLong, or the
// file's error.
func (l *lines) read() ([]byte, error) {
	l.at = l.next
	for looked := 0; ; {
		if i := bytes.IndexByte(l.buf[l.from+looked:l.to], '\n'); i >= 0 {
			line := l.buf[l.from : l.from+looked+i]
			l.from += len(line) + 1
			l.next += int64(len(line)) + 1
			return line, nil
		}
		looked = l.to - l.from
		if looked > maxLine {
			return nil, errTooLong
		}
		if err := l.fill(); errors.Is(err, io.EOF) && looked > 0 {
			return nil, errUnfinished
		} else if err != nil {
			return nil, err
		}
	}
}

// fill reads more into the buffer.
func (l *lines) fill() error {
	if l.from > 0 {
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from = 0
	}
	if len(l.buf) < largePiece || l.to == len(l.buf) {
		buf := make([]byte, max(firstPiece, 2*len(l.buf)))
		copy(buf, l.buf[:l.to])
		l.buf = buf
	}
	n, err := l.file.ReadAt(l.buf[l.to:], l.next+int64(l.to))
	l.to += n
	if n > 0 {
		return nil
	}
	return err
}

// again makes read return the line at l.at, with its current content in the file.
func (l *lines) again() { l.goTo(l.at) }

// goTo makes read return the line at an offset.
func (l *lines) goTo(at int64) {
	l.next, l.from, l.to = at, 0, 0
}

// skip skips a line that is too long.
func (l *lines) skip() error {
	for {
		if i := bytes.IndexByte(l.buf[l.from:l.to], '\n'); i >= 0 {
			l.from += i + 1
			l.next += int64(i) + 1
			return nil
		}
		l.next += int64(l.to - l.from)
		l.from, l.to = 0, 0
		if err := l.fill(); err != nil {
			return err
		}
	}
}
