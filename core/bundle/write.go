package bundle

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"dragoman/core"
	"dragoman/core/codec"
)

// Write writes a session and those of its tasks. by is the program, for people.
func Write(
	ctx context.Context, to io.Writer, from Source, p core.Principal, id core.SessionID, by string, now time.Time,
) (Info, error) {
	zip := gzip.NewWriter(to)
	sum := sha256.New()
	w := writer{from: from, principal: p, out: bufio.NewWriterSize(io.MultiWriter(zip, sum), 64<<10)}
	err := w.all(ctx, id, by, now)
	if err == nil {
		err = w.out.Flush()
	}
	if err == nil {
		w.out.Reset(zip)
		if err = w.line(tagEnd, hex.EncodeToString(sum.Sum(nil))); err == nil {
			err = w.out.Flush()
		}
	}
	if err == nil {
		err = zip.Close()
	}
	if err != nil {
		return Info{}, fmt.Errorf("export session %q: %w", id, err)
	}
	return w.info, nil
}

type writer struct {
	from      Source
	principal core.Principal
	out       *bufio.Writer
	buf       []byte
	info      Info
}

func (w *writer) line(tag byte, v any) (err error) {
	if w.buf, err = appendLine(w.buf[:0], tag, v); err != nil {
		return err
	}
	_, err = w.out.Write(w.buf)
	return err
}

func (w *writer) all(ctx context.Context, id core.SessionID, by string, now time.Time) error {
	tasks, err := w.tasks(ctx, id)
	if err != nil {
		return err
	}
	ids := append([]core.SessionID{id}, tasks...)
	if len(ids) > maxSessions {
		return fmt.Errorf("it has %d tasks, and %d are the most that an import accepts", len(tasks), maxSessions-1)
	}
	w.info = Info{ID: id, By: by, Made: now.UTC().Truncate(time.Second), Sessions: ids}
	if err := w.line(tagHeader, header{formatName, formatVersion, w.info.By, w.info.Made, ids}); err != nil {
		return err
	}
	for i, id := range ids {
		if err := w.session(ctx, id, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// tasks lists the sessions of a session's tasks, and those of theirs, each behind the one that delegated
// it.
func (w *writer) tasks(ctx context.Context, id core.SessionID) ([]core.SessionID, error) {
	byParent := map[core.SessionID][]core.Summary{}
	for sum, err := range w.from.List(ctx, w.principal) {
		if err != nil {
			return nil, err
		}
		if sum.Parent != "" {
			byParent[sum.Parent] = append(byParent[sum.Parent], sum)
		}
	}
	seen := map[core.SessionID]bool{id: true}
	list := []core.SessionID{id}
	for i := 0; i < len(list); i++ {
		children := byParent[list[i]]
		slices.SortFunc(children, func(a, b core.Summary) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
		for _, sum := range children {
			if !seen[sum.ID] {
				seen[sum.ID] = true
				list = append(list, sum.ID)
			}
		}
	}
	return list[1:], nil
}

// session writes a session; main says that it is the exported one.
func (w *writer) session(ctx context.Context, id core.SessionID, main bool) (err error) {
	log, err := w.from.Open(ctx, w.principal, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := w.line(tagSession, id); err != nil {
		return err
	}
	if main {
		w.info.Roots = log.Meta().Roots
	}
	var enc codec.Encoder
	for r, err := range log.Read(ctx, core.Pos{}) {
		if err != nil {
			return err
		}
		switch e := any(r.Event).(type) {
		case core.TitleChanged:
			if main {
				w.info.Title = e.Title
			}
		case core.Missing:
			w.info.Missing += e.Records
		}
		w.info.Records++
		w.buf = append(enc.Append(append(w.buf[:0], tagRecord, ' '), r), '\n')
		if len(w.buf) > maxLine {
			return fmt.Errorf("record %d of session %q has %d MiB, and an import accepts %d", r.Seq, id, len(w.buf)>>20, maxLine>>20)
		}
		if _, err := w.out.Write(w.buf); err != nil {
			return err
		}
	}
	names, err := w.from.SpillNames(w.principal, id) // behind the log, so that all that it names is there
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := w.spill(log, name); err != nil {
			return err
		}
	}
	return nil
}

// spill writes cut output as long as it is now: it may still grow.
func (w *writer) spill(log core.Spills, name string) error {
	f, err := log.Spilled(core.SpillRef + name)
	if errors.Is(err, fs.ErrNotExist) { // it was given up meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	is, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.line(tagSpill, spill{name, is.Size()}); err != nil {
		return err
	}
	if _, err := io.CopyN(w.out, f, is.Size()); err != nil {
		return fmt.Errorf("cut output %q: %w", name, err)
	}
	return w.out.WriteByte('\n')
}
