package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/files"
	"dragoman/core/fileuri"
	"dragoman/core/web"
	"dragoman/core/workspace"
)

const (
	maxAttached = 256 << 10 // bytes of text in one reference
	maxEntries  = 5_000     // entries of a folder that one reference visits
	maxRest     = 500       // entries that are only named
)

// Read implements workspace.Files. A file becomes a Resource with its lines, cut at 256
// KiB; a picture becomes an Image; a folder becomes the text of its files, each below
// its path, and the names of the rest; a URL becomes the text of a page. If something
// cannot be read, the result is a Resource with the reason, in brackets. Files are
// read from the disk.
func (f *Files) Read(ctx context.Context, roots []string, r workspace.Reference) core.Block {
	if r.URL != "" {
		return f.readURL(ctx, r)
	}
	if !filepath.IsAbs(r.Path) {
		return workspace.Unread(r.Path, errors.New("its path is not absolute"))
	}
	s := f.deskOf(roots)
	defer s.Close()
	p, err := s.files.Locate(filepath.Clean(r.Path))
	if err != nil {
		return workspace.Unread(fileuri.Of(r.Path), err)
	}
	uri := fileuri.Of(p.Name)
	if err = refuseKeys(p); err == nil {
		err = f.forbids(readSpec, s.host.Meta(), p.Access(core.OpRead))
	}
	if err != nil {
		return workspace.Unread(uri, err)
	}
	h, err := p.Reach()
	if err != nil {
		return workspace.Unread(uri, p.Explain(err))
	}
	defer h.Close()
	info, err := h.Stat()
	switch {
	case err != nil:
		return workspace.Unread(uri, p.Explain(err))
	case info.IsDir():
		return f.readFolder(ctx, s, p)
	}
	b, err := readAttached(h, uri, r.Lines)
	if err != nil {
		return workspace.Unread(uri, p.Explain(err))
	}
	return b
}

// forbids asks the policy whether a rule forbids the reading of a reference.
func (f *Files) forbids(spec core.Spec, m core.Meta, access core.Access) error {
	if f.opts.Policy == nil {
		return nil
	}
	args, err := json.Marshal(map[string]string{"path": access.Path, "url": access.URL})
	if err != nil {
		return err
	}
	v := f.opts.Policy.Decide(core.Check{
		Call: core.Call{
			Server: spec.Server,
			Tool:   spec.Name,
			Kind:   spec.Kind,
			Args:   args,
		}, Spec: spec, Access: []core.Access{access}, Meta: m,
	})
	if v.Effect == core.Deny {
		return errors.New(v.Why)
	}
	return nil
}

func (f *Files) readURL(ctx context.Context, r workspace.Reference) core.Block {
	raw := r.URL
	allowed := func(u *url.URL) error {
		return f.forbids(fetchSpec, core.Meta{}, core.Access{Op: core.OpNet, URL: u.String()})
	}
	u, err := web.ParseURL(raw)
	if err == nil {
		err = allowed(u)
	}
	if err != nil {
		return workspace.Unread(raw, err)
	}
	net := f.net
	net.Hop = func(_, to *url.URL) error { return allowed(to) }
	if r.Near {
		net.Permit = web.Here
		net.Hop = web.SameHost // the user has agreed to this one
	}
	p, err := net.Get(ctx, u.String())
	if err != nil {
		return workspace.Unread(raw, err)
	}
	body, more := cutText(p.Text)
	if more || p.Cut {
		body += "\n[the page is longer: this is its beginning]"
	}
	return core.Resource{URI: raw, MIME: p.MIME, Text: body}
}

// cutText cuts a text to the limit of one reference.
func cutText(s string) (short string, more bool) {
	if len(s) <= maxAttached {
		return s, false
	}
	return string(s[:firstLines([]byte(s), len(s), maxAttached)]), true
}

// readAttached reads a file: a picture, or text.
func readAttached(h files.Handle, uri string, lines [2]int) (core.Block, error) {
	file, info, err := h.Regular()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 64<<10)
	head, err := in.Peek(files.Sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if kind := imageType(head); kind != "" {
		data, err := io.ReadAll(io.LimitReader(in, maxImage+1))
		if err == nil && len(data) > maxImage {
			err = fmt.Errorf("it is a picture of more than %d MB", maxImage>>20)
		}
		return core.Image{MIME: kind, Data: data, URI: uri}, err
	}
	if files.Binary(head) {
		return nil, fmt.Errorf("it is binary (%d bytes)", info.Size())
	}
	part, err := readPart(in, lines)
	if err == nil && part.text == "" && lines[0] > max(part.total, 1) {
		err = fmt.Errorf("lines %d to %d are behind its end: it has %s", lines[0], lines[1], display.Counted(part.total, "line"))
	}
	if err != nil {
		return nil, err
	}
	return part.resource(uri, lines), nil
}

// part is a range of lines of a file.
type part struct {
	text        string
	first, last int  // lines in text; last 0: none
	total       int  // lines seen
	cut         bool // there was no room for all requested lines
}

// readPart reads lines, 1-based and inclusive, and stops as soon as possible.
func readPart(in *bufio.Reader, lines [2]int) (part, error) {
	first, last := max(lines[0], 1), lines[1]
	if lines[0] > 0 && last < first && last != 0 {
		last = first
	}
	p := part{first: first}
	var out []byte
	var seen int64
	begun := true // the next piece is the beginning of a line
	for {
		piece, err := in.ReadSlice('\n')
		if seen += int64(len(piece)); seen > files.MaxScan {
			return p, fmt.Errorf("line %d is more than %d MB into it", first, files.MaxScan>>20)
		}
		if len(piece) > 0 {
			if begun {
				p.total++
			}
			begun = err == nil
			if p.total >= first && (last == 0 || p.total <= last) {
				if room := maxAttached - len(out); len(piece) > room {
					out, p.cut = append(out, piece[:room]...), true
				} else {
					out = append(out, piece...)
				}
				p.last = p.total
			}
		}
		if errors.Is(err, io.EOF) || p.cut || last > 0 && p.total >= last && begun {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return p, err
		}
	}
	p.text = strings.ToValidUTF8(string(out), "\ufffd")
	return p, nil
}

// resource returns the part as a block, with a note if something is missing.
func (p part) resource(uri string, lines [2]int) core.Resource {
	r := core.Resource{URI: uri, MIME: "text/plain", Text: p.text}
	if lines != [2]int{} && p.last > 0 {
		r.Lines = [2]int{p.first, p.last}
	}
	if p.cut {
		r.Text += fmt.Sprintf("\n[it is longer: this is its text up to line %d]", p.last)
	}
	return r
}

// readFolder returns the text of a folder's files, and the names of the rest.
func (f *Files) readFolder(ctx context.Context, s *toolset, p files.Place) core.Block {
	uri := fileuri.Of(p.Name)
	w, done, err := s.walkFrom(p)
	if err != nil {
		return workspace.Unread(uri, err)
	}
	defer done()
	w.most = maxListed
	var b bundle
	looked := 0
	err = w.each(ctx, func(e entry) (into, on bool) {
		if looked++; looked > maxEntries {
			return false, false
		}
		b.add(e)
		return true, true
	})
	if err != nil {
		return workspace.Unread(uri, p.Explain(err))
	}
	return core.Resource{URI: uri, MIME: "text/plain", Text: b.text(looked > maxEntries, w)}
}

// bundle collects the text of many files.
type bundle struct {
	out  strings.Builder
	rest []string // files that are only named
	more int      // number of files that are not even named
	buf  []byte
}

func (b *bundle) add(e entry) {
	if e.kind.IsDir() {
		return
	}
	if why := b.take(e); why != "" {
		if len(b.rest) >= maxRest {
			b.more++
			return
		}
		b.rest = append(b.rest, visible(e.rel)+" ("+why+")")
	}
}

// take adds a file's text, or returns the reason why it does not.
func (b *bundle) take(e entry) string {
	switch {
	case e.kind&fs.ModeSymlink != 0:
		return "a link"
	case !e.kind.IsRegular():
		return "not a file"
	case files.KeyFile(e.name):
		return "may hold keys"
	}
	head := "=== " + visible(e.rel) + " ===\n"
	info, err := e.in.Lstat(e.name)
	if err != nil {
		return "cannot be read"
	}
	if int64(maxAttached-b.out.Len()-len(head)-2) < info.Size() {
		return fmt.Sprintf("no room for its %d bytes", info.Size())
	}
	file, err := e.in.Text(e.name, maxSearched, &b.buf)
	data := file.Data
	if err != nil || len(data) == 0 {
		if info.Size() > 0 {
			return "not text"
		}
		return "empty"
	}
	body := strings.ToValidUTF8(string(data), "\ufffd")
	if b.out.Len()+len(head)+len(body)+2 > maxAttached { // the file has grown, or had invalid bytes
		return "no room"
	}
	b.out.WriteString(head + strings.TrimSuffix(body, "\n") + "\n\n")
	return ""
}

// text returns the attached text.
func (b *bundle) text(stopped bool, w *walk) string {
	if len(b.rest) > 0 {
		b.out.WriteString("Not shown:\n")
		for _, name := range b.rest {
			b.out.WriteString("- " + name + "\n")
		}
	}
	b.out.WriteString(notes(
		note(b.more > 0, fmt.Sprintf("%d more are not shown", b.more)),
		note(stopped, fmt.Sprintf("only the first %d entries were looked at", maxEntries)),
		w.missed(),
	))
	if b.out.Len() == 0 {
		return "[The folder is empty.]"
	}
	return b.out.String()
}
