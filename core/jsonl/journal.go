package jsonl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sync"

	"dragoman/core"
)

const (
	formatName    = "dragoman log"
	formatVersion = 1
)

// features are what the logs of this version use, beyond the format's version.
func features() []string {
	return []string{
		"same",   // a call's record names the fields that are as they were
		"values", // big bodies are in files of their own
	}
}

// header is the first line of a log.
type header struct {
	Format   string   `json:"format"`
	Version  int      `json:"version"`
	Features []string `json:"features"`
}

// newLog returns the content of a new log.
func newLog(meta core.Meta) []byte {
	b, err := json.Marshal(header{formatName, formatVersion, features()})
	if err != nil { // constants: it cannot fail
		return nil
	}
	b = seal(b, 0)
	start := len(b)
	b = new(core.Encoder).Append(b, core.Record{Seq: 1, Time: meta.Created, Event: core.Opened{Meta: meta}})
	return seal(b, start)
}

// readHeader reads the first line of a log.
func readHeader(l *lines) (header, error) {
	line, err := l.read()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errUnfinished) && !errors.Is(err, errTooLong) {
		return header{}, err
	}
	object, ok := unseal(line)
	var h header
	if !ok || json.Unmarshal(object, &h) != nil {
		return header{}, errors.New("the log's first line is damaged; nothing was deleted")
	}
	if h.Format != formatName || h.Version != formatVersion {
		return header{}, fmt.Errorf("the log is in a format that this version does not know (%q, version %d): update dragoman", h.Format, h.Version)
	}
	return h, nil
}

// unknownFeatures lists what this version lacks to write such a log.
func (h header) unknownFeatures() []string {
	known := features()
	return slices.DeleteFunc(slices.Clone(h.Features), func(f string) bool { return slices.Contains(known, f) })
}

// readMeta reads what a session was made with. Spill is not set.
func readMeta(f files) (core.Meta, error) {
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return core.Meta{}, err
	}
	defer func() { _ = log.Close() }()
	l := newLines(log)
	if _, err := readHeader(l); err != nil {
		return core.Meta{}, err
	}
	var dec core.Decoder
	line, err := l.read()
	if object, ok := unseal(line); ok && err == nil {
		r, err := dec.Decode(object)
		if opened, ok := r.Event.(core.Opened); ok && err == nil {
			return opened.Meta, nil
		}
	}
	return core.Meta{}, errors.New("the log's second line is damaged; nothing was deleted")
}

// journal is one opened session. It implements core.Journal.
type journal struct {
	store *Store
	files files
	meta  core.Meta

	mu    sync.Mutex // guards the field below
	claim *claim     // nil: not claimed
}

var _ core.Journal = (*journal)(nil)

func (j *journal) Meta() core.Meta { return j.meta }

// Close gives up the claim. Reading that has begun goes on.
func (j *journal) Close() error {
	j.store.mu.Lock()
	delete(j.store.open, j)
	j.store.mu.Unlock()
	return j.Release()
}

// Read implements core.Journal. It keeps the log open while it is walked
// through, and needs the same memory however long the log is.
func (j *journal) Read(ctx context.Context, after core.Pos) iter.Seq2[core.Record, error] {
	return func(yield func(core.Record, error) bool) {
		err := readLog(ctx, j.files, after, func(r core.Record) bool { return yield(r, nil) })
		if errors.Is(err, fs.ErrNotExist) {
			err = core.ErrNotFound
		}
		if err != nil {
			yield(core.Record{}, fmt.Errorf("read session %q: %w", j.meta.ID, err))
		}
	}
}

// readLog passes on what a log has behind after, until yield has enough.
func readLog(ctx context.Context, f files, after core.Pos, yield func(core.Record) bool) error {
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	l := newLines(log)
	if _, err := readHeader(l); err != nil {
		return err
	}
	d := decoding{values: f.values, after: after, at: after}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		object, err := l.object()
		if errors.Is(err, io.EOF) || errors.Is(err, errUnfinished) || errors.Is(err, errBad) {
			return nil // what stands behind a bad line, only a claim looks at
		}
		if err != nil {
			return err
		}
		r, ok, err := d.next(object)
		if errors.Is(err, errBad) {
			return nil
		}
		if err != nil {
			return err
		}
		if ok && !yield(r) {
			return nil
		}
	}
}

// errBad says that a line is not what was written there.
var errBad = errors.New("the line is damaged")

// object returns the next line's object. A line that looks bad is read once
// more: its writer may have cut it back and written another meanwhile.
func (l *lines) object() ([]byte, error) {
	for tries := 0; ; tries++ {
		line, err := l.read()
		object, ok := unseal(line)
		switch {
		case err == nil && ok:
			return object, nil
		case err != nil && !errors.Is(err, errTooLong):
			return nil, err
		case tries == 1:
			return nil, errBad
		}
		l.again()
	}
}

// decoding turns the lines of a log into the records behind a position.
type decoding struct {
	values string
	after  core.Pos
	at     core.Pos
	wanted bool // the lines are no longer before after
	epoch  uint64
	dec    core.Decoder
}

// next takes one line. ok is false when there is nothing to pass on.
func (d *decoding) next(object []byte) (r core.Record, ok bool, err error) {
	parse := core.ParseLine
	if !d.wanted {
		parse = core.Peek
	}
	line, err := parse(object)
	if err != nil {
		return core.Record{}, false, fmt.Errorf("%w: %w", errBad, err)
	}
	place := line.Place()
	if place.Epoch < d.epoch { // a stale owner's
		return core.Record{}, false, nil
	}
	d.epoch = place.Epoch
	if !d.wanted {
		if place.Seq < d.after.Seq {
			return core.Record{}, false, d.skip(line, object)
		}
		d.wanted = true
		return d.next(object)
	}
	if r, err = d.record(line, object); err != nil {
		return core.Record{}, false, err
	}
	next, r, ok, err := d.at.Splice(r)
	if ok {
		d.at = next
	}
	return r, ok, err
}

// record decodes one line.
func (d *decoding) record(line core.Line, object []byte) (r core.Record, err error) {
	digest := valueOf(object)
	if digest == "" {
		r, err = d.dec.DecodeLine(line)
	} else {
		object, err = withValue(object, d.values, digest)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errBad) { // its place is kept
			r = line.Place()
			r.Event = core.Unknown{Kind: line.Kind(), Raw: json.RawMessage(`{"lost":"` + digest + `"}`)}
			return r, nil
		}
		if err != nil {
			return core.Record{}, err
		}
		r, err = d.dec.Decode(object)
	}
	if err != nil {
		return core.Record{}, fmt.Errorf("%w: %w", errBad, err)
	}
	return r, nil
}

// skip passes over one line. Only a call's may matter to those behind it.
func (d *decoding) skip(line core.Line, object []byte) error {
	if digest := valueOf(object); digest != "" && line.IsCall() {
		whole, err := withValue(object, d.values, digest)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errBad) {
			return nil
		}
		if err != nil {
			return err
		}
		object = whole
	}
	if err := d.dec.Skip(object); err != nil {
		return fmt.Errorf("%w: %w", errBad, err)
	}
	return nil
}
