package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"

	"dragoman/core"
	"dragoman/core/codec"
)

const (
	formatName    = "dragoman log"
	formatVersion = 1
)

// features lists the features of this version's logs, beyond the format's version.
func features() []string {
	return []string{
		"same",   // a call's record names its unchanged fields
		"values", // big bodies are in files of their own
	}
}

// gaps is one more feature, of a repaired log: records that replace missing ones.
const gaps = "gaps"

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
	b = new(codec.Encoder).Append(b, core.Record{Seq: 1, Time: meta.Created, Event: core.Opened{Meta: meta}})
	return seal(b, start)
}

// errHead refuses a log whose beginning is unreadable.
var errHead = errors.New("the beginning of its log is damaged, and nothing was deleted")

// readHeader reads the first line of a log.
func readHeader(l *lines) (header, error) {
	line, err := l.read()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errUnfinished) && !errors.Is(err, errTooLong) {
		return header{}, err
	}
	object, ok := unseal(line)
	var h header
	if !ok || json.Unmarshal(object, &h) != nil {
		return header{}, errHead
	}
	if h.Format != formatName || h.Version != formatVersion {
		return header{}, fmt.Errorf(
			"the log is in a format that this version does not know (%q, version %d): update dragoman",
			h.Format,
			h.Version,
		)
	}
	return h, nil
}

// writable returns the reason why this version cannot continue such a log.
func (h header) writable() error {
	if lacks := h.unknownFeatures(); len(lacks) > 0 {
		return fmt.Errorf(
			"a later version of dragoman wrote it, with features that this one lacks (%s): update it",
			strings.Join(lacks, ", "),
		)
	}
	return nil
}

// unknownFeatures lists the features that this version lacks for writing such a log.
func (h header) unknownFeatures() []string {
	known := append(features(), gaps)
	return slices.DeleteFunc(slices.Clone(h.Features), func(f string) bool { return slices.Contains(known, f) })
}

// maxUnborn is the size of the longest file that counts as a log without content.
const maxUnborn = 64 << 10

// unborn reports whether the log has nothing but a length: the power was lost before it was ever synced. There is no
// session then.
func (f files) unborn() bool {
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = log.Close() }()
	b, err := io.ReadAll(io.LimitReader(log, maxUnborn+1))
	return err == nil && len(b) <= maxUnborn && len(bytes.Trim(b, "\x00")) == 0
}

// there reports whether there is a session.
func (f files) there() bool { return exists(f.log) && !f.unborn() }

// readMeta reads the Meta of a session. It may return one even with errHead.
func readMeta(f files) (core.Meta, error) {
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return core.Meta{}, err
	}
	defer func() { _ = log.Close() }()
	l := newLines(log)
	_, bad := readHeader(l)
	if bad != nil && !errors.Is(bad, errHead) {
		return core.Meta{}, bad
	}
	var dec codec.Decoder
	line, err := l.read()
	if object, ok := unseal(line); ok && err == nil {
		r, err := dec.Decode(object)
		if opened, ok := r.Event.(core.Opened); ok && err == nil {
			return opened.Meta, bad
		}
	}
	return core.Meta{}, errHead
}

// journal is one opened session. It implements core.Journal.
type journal struct {
	store *Store
	files files
	meta  core.Meta

	mu    sync.Mutex // guards the fields below
	claim *claim     // nil: not claimed
	read  *tail      // how far the log was read or written; nil: not to its end
	fresh *freshLog  // nil: the log was read
}

// freshLog is the content of a log that was just made.
type freshLog struct {
	record core.Record // the only one
	size   int64       // of the log, in bytes
}

// begin remembers the content of a new log, so that it need not be read at once.
func (j *journal) begin(log []byte) {
	object, ok := unseal(lastLine(log))
	if !ok {
		return
	}
	if r, err := new(codec.Decoder).Decode(object); err == nil {
		size := int64(len(log))
		j.fresh, j.read = &freshLog{r, size}, &tail{end: r.End(), size: size}
	}
}

// begun returns the records of a log that was just made, the first time; ok is false if it has to be read.
func (j *journal) begun(after core.Pos) (r core.Record, ok bool) {
	j.mu.Lock()
	fresh := j.fresh
	j.fresh = nil
	j.mu.Unlock()
	if fresh == nil || (core.Pos{Seq: 1}).Before(after) {
		return r, false
	}
	log, err := os.Lstat(j.files.log) // we may have appended to it, or another process
	return fresh.record, err == nil && log.Size() == fresh.size
}

// readTo returns how far the log was read, and removes it from the journal.
func (j *journal) readTo() *tail {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.read
	j.read = nil
	return t
}

func (j *journal) setRead(t *tail) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read = t
}

var _ core.Journal = (*journal)(nil)

func (j *journal) Meta() core.Meta { return j.meta }

// Close releases the claim. A read in progress continues.
func (j *journal) Close() error {
	j.store.mu.Lock()
	delete(j.store.open, j)
	j.store.mu.Unlock()
	return j.Release()
}

// Read implements core.Journal. It keeps the log open during the iteration, and needs
// the same memory for a log of any length.
func (j *journal) Read(ctx context.Context, after core.Pos) iter.Seq2[core.Record, error] {
	return func(yield func(core.Record, error) bool) {
		if r, ok := j.begun(after); ok {
			yield(r, nil)
			return
		}
		end, err := readLog(
			ctx,
			j.files,
			j.meta.ID,
			after,
			j.readTo(),
			func(r core.Record) bool { return yield(r, nil) },
		)
		if end != nil {
			j.setRead(end)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = core.ErrNotFound
		}
		if err != nil {
			yield(core.Record{}, fmt.Errorf("read session %q: %w", j.meta.ID, err))
		}
	}
}
