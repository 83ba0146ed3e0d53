package acp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

const (
	// maxFile is how much of a file one answer carries, in bytes.
	maxFile = 8 << 20
	// maxMatches is how many paths one answer lists.
	maxMatches = 10000
)

// place is a file of a thread's workspace that policy lets be read: a name within
// an open root. Whoever has one closes it.
type place struct {
	root *os.Root
	name string // within root, with slashes
}

// place finds what a path means. It must lie within a folder of the thread, links
// resolved, and policy must allow to read it without asking, for nobody can be
// asked here.
func (t *thread) place(ctx context.Context, name string) (place, error) {
	meta := t.att.Session().Meta()
	if name == "" || strings.ContainsRune(name, 0) {
		return place{}, jrpc2.Errorf(jrpc2.InvalidParams, "path: expected the path of a file")
	}
	abs := filepath.FromSlash(name)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(meta.Cwd, abs)
	}
	abs = resolved(filepath.Clean(abs))
	for _, dir := range meta.Roots {
		real := resolved(dir)
		rel, err := filepath.Rel(real, abs)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if err := t.readable(ctx, abs); err != nil {
			return place{}, err
		}
		root, err := os.OpenRoot(real)
		if err != nil {
			return place{}, fmt.Errorf("open the folder %s: %w", dir, err)
		}
		return place{root, filepath.ToSlash(rel)}, nil
	}
	return place{}, jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200q is outside of the thread's folder", name)
}

// resolved follows links as far as a path exists.
func resolved(abs string) string {
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if dir := filepath.Dir(abs); dir != abs {
		return filepath.Join(resolved(dir), filepath.Base(abs))
	}
	return abs
}

// readable asks policy.
func (t *thread) readable(ctx context.Context, abs string) error {
	meta := t.att.Session().Meta()
	prof, err := t.srv.opts.Gateway.Profile(ctx, meta.Roots)
	if err != nil {
		return err
	}
	if prof.Policy == nil {
		return errors.New("no policy is configured")
	}
	v := prof.Policy.Decide(core.Check{
		Call:   core.Call{Server: core.Native, Tool: "read_file", Kind: core.KindRead, Args: argsOf(abs)},
		Spec:   core.Spec{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true},
		Access: []core.Access{{Op: core.OpRead, Path: abs}}, Meta: meta, Settings: t.att.State().Settings,
	})
	switch v.Effect {
	case core.Allow:
		return nil
	case core.Deny, core.MustAsk:
	}
	return jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200s may not be read: %s", abs, v.Why)
}

func argsOf(abs string) []byte { return append(wire.AppendString([]byte(`{"path":`), abs), '}') }

// open opens the file, which must be a regular one.
func (p place) open() (*os.File, fs.FileInfo, error) {
	info, err := p.root.Stat(p.name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is not a regular file")
	}
	f, err := p.root.Open(p.name)
	if err != nil {
		return nil, nil, err
	}
	return f, info, nil
}

// version tells one state of a file from another: when it was changed last, in
// microseconds, which every number of JavaScript can hold.
func version(info fs.FileInfo) uint64 { return uint64(max(info.ModTime().UnixMicro(), 1)) }

func fileError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return jrpc2.Errorf(acp.CodeNotFound, "there is no file %.200q", name)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200q: %v", name, err)
}

// read reads a part of a file, at most maxFile.
func (t *thread) read(ctx context.Context, name string, offset int64, limit *int64) ([]byte, uint64, error) {
	p, err := t.place(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	defer p.root.Close()
	f, info, err := p.open()
	if err != nil {
		return nil, 0, fileError(name, err)
	}
	defer f.Close()
	most := info.Size() - offset
	if limit != nil {
		most = min(most, *limit)
	}
	if most > maxFile {
		return nil, 0, jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200q: more than %d MiB; ask for a part with byteLimit", name, maxFile>>20)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, offset, max(most, 0)))
	if err != nil {
		return nil, 0, fileError(name, err)
	}
	return data, version(info), nil
}

// readTextFile answers with lines of a file.
func (s *Server) readTextFile(ctx context.Context, t *thread, call *wire.Call, p acp.ThreadFile) error {
	if negative(p.LineOffset) || negative(p.LineLimit) {
		return jrpc2.Errorf(jrpc2.InvalidParams, "lineOffset and lineLimit count lines from 0")
	}
	data, version, err := t.read(ctx, p.Path, 0, nil)
	if err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200q is not text; use readBinaryFile", p.Path)
	}
	call.Reply(acp.ThreadFileContent{Version: version, Content: linesOf(string(data), p.LineOffset, p.LineLimit)}, nil)
	return nil
}

func negative(n *int) bool { return n != nil && *n < 0 }

// linesOf cuts lines out of a text; an absent limit means all.
func linesOf(s string, offset, limit *int) string {
	if offset != nil {
		for range *offset {
			_, rest, more := strings.Cut(s, "\n")
			if s = rest; !more {
				return ""
			}
		}
	}
	if limit == nil {
		return s
	}
	end := 0
	for range *limit {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			return s
		}
		end += i + 1
	}
	return s[:end]
}

// readBinaryFile answers with bytes of a file.
func (s *Server) readBinaryFile(ctx context.Context, t *thread, call *wire.Call, p acp.ThreadFile) error {
	var offset int64
	if p.ByteOffset != nil {
		offset = *p.ByteOffset
	}
	if offset < 0 || p.ByteLimit != nil && *p.ByteLimit < 0 {
		return jrpc2.Errorf(jrpc2.InvalidParams, "byteOffset and byteLimit count bytes from 0")
	}
	data, version, err := t.read(ctx, p.Path, offset, p.ByteLimit)
	if err != nil {
		return err
	}
	call.Reply(acp.ThreadFileContent{Version: version, Content: base64.StdEncoding.EncodeToString(data)}, nil)
	return nil
}

// stat answers what a path is.
func (s *Server) stat(ctx context.Context, t *thread, call *wire.Call, p acp.ThreadFile) error {
	at, err := t.place(ctx, p.Path)
	if err != nil {
		return err
	}
	defer at.root.Close()
	info, err := at.root.Stat(at.name)
	call.Reply(acp.ThreadStat{Exists: err == nil, IsDirectory: err == nil && info.IsDir()}, nil)
	return nil
}

// globSearch lists the files whose path within the thread's folder fits a pattern:
// * and ? within a name, ** for any number of folders.
func (s *Server) globSearch(ctx context.Context, t *thread, call *wire.Call, p acp.GlobSearch) error {
	cwd := t.att.Session().Meta().Cwd
	pattern := strings.TrimPrefix(filepath.ToSlash(p.Pattern), filepath.ToSlash(cwd)+"/")
	want := strings.Split(strings.TrimPrefix(pattern, "./"), "/")
	for _, part := range want {
		if _, err := path.Match(part, ""); err != nil || part == "" || part == ".." {
			return jrpc2.Errorf(jrpc2.InvalidParams, "pattern: %.200q is no pattern of a path within the thread's folder", p.Pattern)
		}
	}
	at, err := t.place(ctx, cwd)
	if err != nil {
		return err
	}
	defer at.root.Close()
	res := acp.GlobSearchResponse{Matches: []string{}}
	err = fs.WalkDir(at.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && d != nil && d.IsDir(): // it cannot be read
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || !fits(want, strings.Split(name, "/")):
			return nil
		case len(res.Matches) == maxMatches:
			return fs.SkipAll
		}
		res.Matches = append(res.Matches, filepath.Join(cwd, filepath.FromSlash(name)))
		return nil
	})
	if err != nil {
		return err
	}
	call.Reply(res, nil)
	return nil
}

// fits reports whether a path fits a pattern, both by their parts.
func fits(want, have []string) bool {
	reach := make([]bool, len(have)+1) // whether the pattern so far fits so many parts
	reach[0] = true
	for _, w := range want {
		next := make([]bool, len(reach))
		for i := range next {
			if w == "**" {
				next[i] = reach[i] || i > 0 && next[i-1]
			} else if i > 0 && reach[i-1] {
				next[i], _ = path.Match(w, have[i-1]) // it was seen to be a pattern
			}
		}
		reach = next
	}
	return reach[len(have)]
}
