package bundle

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/core"
)

// Options configure the reading of a file.
type Options struct {
	Principal core.Principal // the owner of the imported sessions
	Max       int64          // most bytes when it is unpacked; 0: MaxSize
	// IDs chooses the ids of the sessions of a file, one for each; nil: those in the file.
	IDs func(inFile []core.SessionID) ([]core.SessionID, error)
	// Folders checks the folders of the session's workspace, or replaces them; nil: those in the file, if
	// they are plain. The first one is the working folder.
	Folders func(roots []string) ([]string, error)
	By      string // the client that imports it, for people
	Now     time.Time
}

// Check reads a file to its end, as Read does, and accepts any ids, folders and size.
func Check(ctx context.Context, from io.Reader) error {
	_, err := Read(ctx, from, Options{
		Max: math.MaxInt64,
		IDs: func(inFile []core.SessionID) (ids []core.SessionID, _ error) {
			for i := range inFile {
				ids = append(ids, core.SessionID(strconv.Itoa(i)))
			}
			return ids, nil
		},
		Folders: func(roots []string) ([]string, error) { return roots, nil },
	}, nil)
	return err
}

// Target takes the sessions of a file. jsonl.Arrival is one.
type Target interface {
	Session(context.Context, core.Meta) error
	Write(core.Record) error
	Spill(name string, content io.Reader) error
}

// Read reads a file to its end, and passes its sessions to a target on the way. What the target got
// counts only if there is no error: the checksum is the last line. nil: the file is only checked.
func Read(ctx context.Context, from io.Reader, o Options, to Target) (Info, error) {
	if o.Max <= 0 {
		o.Max = MaxSize
	}
	packed := bufio.NewReaderSize(from, 64<<10)
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return Info{}, fmt.Errorf("read the file: %w", form(err))
	}
	zip.Multistream(false)
	limit := &limited{from: zip, left: o.Max, max: o.Max}
	r := reader{Options: o, in: bufio.NewReaderSize(limit, 64<<10), sum: sha256.New(), to: to, ctx: ctx}
	err = r.all(ctx)
	if err == nil {
		if _, more := packed.Peek(1); !errors.Is(more, io.EOF) {
			err = errors.New("something follows its end")
		}
	}
	r.info.Bytes = o.Max - limit.left
	if no := (refusal{}); errors.As(err, &no) {
		return r.info, no.error
	}
	if err != nil {
		return r.info, fmt.Errorf("read the file: %w", form(err))
	}
	return r.info, nil
}

// form names the mistake behind errors of a file that ends early or was changed.
func form(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fmt.Errorf("%w: %w", errForm, err)
	}
	return err
}

// limited reads up to a number of bytes, and then fails.
type limited struct {
	from      io.Reader
	left, max int64
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		if n, err := l.from.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("it unpacks to more than %d MiB; another limit can be given (--max-mib)", l.max>>20)
	}
	n, err := l.from.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

type reader struct {
	Options
	in   *bufio.Reader
	sum  hash.Hash
	to   Target
	ctx  context.Context //nolint:containedctx // that of Read, which the reader does not outlive
	buf  []byte
	line int // its number
	info Info

	ids     map[core.SessionID]core.SessionID // those in the file, with those here
	roots   []string
	session *session // the one that is being read; nil: none
	begun   int      // how many sessions have begun
}

func (r *reader) all(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		tag, text, err := r.next()
		if err != nil {
			return r.at(err)
		}
		if tag == tagEnd {
			return r.at(r.end(text))
		}
		r.sum.Write(append(r.buf, '\n'))
		if err := r.take(tag, text); err != nil {
			return r.at(err)
		}
	}
}

// refusal is an error of those who choose ids and folders.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// at adds the number of the line to an error.
func (r *reader) at(err error) error {
	if err == nil || errors.As(err, new(refusal)) {
		return err
	}
	return fmt.Errorf("line %d: %w", max(r.line, 1), err)
}

// next reads a line into buf, and returns its parts. They are valid until the next call.
func (r *reader) next() (tag byte, text []byte, err error) {
	r.line++
	if cap(r.buf) > 1<<20 {
		r.buf = nil
	}
	r.buf = r.buf[:0]
	for {
		piece, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, piece...)
		switch {
		case len(r.buf) > maxLine:
			return 0, nil, fmt.Errorf("it has more than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return 0, nil, err
		}
		r.buf = r.buf[:len(r.buf)-1]
		if len(r.buf) < 2 || r.buf[1] != ' ' {
			return 0, nil, errForm
		}
		return r.buf[0], r.buf[2:], nil
	}
}

func (r *reader) take(tag byte, text []byte) error {
	switch {
	case r.line == 1 && tag == tagHeader:
		return r.header(text)
	case r.line == 1:
		return errForm
	case tag == tagSession:
		return r.begin(text)
	case r.session == nil:
		return errForm
	case tag == tagRecord:
		return r.record(text)
	case tag == tagSpill:
		return r.spill(text)
	}
	return errForm
}

func (r *reader) header(text []byte) error {
	var h header
	if decode(text, &h) != nil || h.Format != formatName {
		return errForm
	}
	if h.Version != formatVersion {
		return fmt.Errorf("its format has version %d, which this dragoman does not know: update it", h.Version)
	}
	if len(h.Sessions) == 0 || len(h.Sessions) > maxSessions {
		return fmt.Errorf("it has %d sessions; 1 to %d are possible", len(h.Sessions), maxSessions)
	}
	here := slices.Clone(h.Sessions)
	if r.IDs != nil {
		var err error
		if here, err = r.IDs(slices.Clone(h.Sessions)); err != nil {
			return refusal{err}
		}
	}
	r.ids = map[core.SessionID]core.SessionID{}
	for i, id := range h.Sessions {
		if err := checkID(here[i]); err != nil {
			return err
		}
		if _, twice := r.ids[id]; twice || slices.Contains(here[:i], here[i]) {
			return fmt.Errorf("two of its sessions are called %.100q", id)
		}
		r.ids[id] = here[i]
	}
	r.info = Info{By: h.By, Made: h.Made, Sessions: h.Sessions, Chosen: here, ID: here[0]}
	return nil
}

// checkID refuses ids that a person could not tell from others, or type.
func checkID(id core.SessionID) error {
	const most = 256
	switch {
	case id == "":
		return errors.New("the id of a session is empty; --as-copy makes new ones")
	case len(id) > most:
		return fmt.Errorf("the id of a session has %d bytes, and %d are the most; --as-copy makes new ones", len(id), most)
	case strings.ContainsFunc(string(id), hidden):
		return fmt.Errorf("the id %.100q of a session has characters that cannot be seen; --as-copy makes new ones", id)
	}
	return nil
}

// begin begins the next session of the header's.
func (r *reader) begin(text []byte) error {
	if err := r.finish(); err != nil {
		return err
	}
	var id core.SessionID
	if decode(text, &id) != nil || r.begun == len(r.info.Sessions) || r.info.Sessions[r.begun] != id {
		return errForm
	}
	r.session = &session{file: r, id: id, main: r.begun == 0}
	r.begun++
	return nil
}

// finish ends the session that is being read.
func (r *reader) finish() error {
	s := r.session
	if s == nil {
		return nil
	}
	r.session = nil
	return s.close()
}

func (r *reader) record(text []byte) error {
	r.info.Records++
	return r.session.record(text)
}

func (r *reader) spill(text []byte) error {
	var is spill
	if decode(text, &is) != nil || is.Size < 0 {
		return errForm
	}
	if err := r.session.spills(is.Name); err != nil {
		return err
	}
	content := io.TeeReader(io.LimitReader(r.in, is.Size), r.sum)
	var err error
	if r.to != nil {
		err = r.to.Spill(is.Name, content)
	}
	var left int64
	if err == nil {
		left, err = io.Copy(io.Discard, content)
	}
	if err == nil && r.to != nil && left > 0 {
		err = errors.New("cut output was not taken to its end")
	}
	if err != nil {
		return err
	}
	end, err := r.in.ReadByte()
	if err != nil {
		return err
	}
	if end != '\n' {
		return errForm
	}
	r.sum.Write([]byte{end})
	return nil
}

// end checks the last line, and that there is none behind it.
func (r *reader) end(text []byte) error {
	if err := r.finish(); err != nil {
		return err
	}
	var sum string
	if decode(text, &sum) != nil || r.begun == 0 || r.begun != len(r.info.Sessions) {
		return errForm
	}
	if subtle.ConstantTimeCompare([]byte(sum), []byte(hex.EncodeToString(r.sum.Sum(nil)))) == 0 {
		return fmt.Errorf("%w: its checksum is another one", errForm)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) { // which also checks what gzip has summed up
		if err == nil {
			err = errors.New("something follows its end")
		}
		return err
	}
	return nil
}

// decode reads one JSON value, of which everything is known. Nesting is bounded by package json.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.InputOffset() != int64(len(text)) {
		return errForm
	}
	return nil
}
