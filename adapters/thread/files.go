package thread

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/glob"
)

const (
	// maxFile limits the part of a file in one answer, in bytes.
	maxFile = 8 << 20
	// maxMatches limits the paths in one answer.
	maxMatches = 10000
)

// version identifies a state of a file: the time of its last change in microseconds, which a
// JavaScript number can hold. Programs that put back the time of the content (cp -p, rsync, tar) do
// not hide a change by that.
func version(info fs.FileInfo) uint64 { return uint64(max(files.Changed(info).UnixMicro(), 1)) }

func fileError(name string, err error) error {
	var coded *jrpc2.Error
	if errors.As(err, &coded) {
		return coded
	}
	switch {
	case absent(err):
		return jrpc2.Errorf(acp.CodeNotFound, "there is no file %.200q", name)
	case errors.Is(err, files.ErrNotRegular):
		err = files.ErrNotRegular // worded without the names of our tools
	}
	return jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200q: %v", name, files.Cause(err))
}

// absent reports whether an error means that a path does not exist.
func absent(err error) bool { return files.Missing(err) || errors.Is(err, files.ErrNotFolder) }

// read reads a part of a file, at most maxFile.
func (t *thread) read(ctx context.Context, name string, offset int64, limit *int64) ([]byte, uint64, error) {
	p, err := t.place(ctx, name)
	if err != nil {
		return nil, 0, fileError(name, err)
	}
	h, err := p.Reach()
	if err != nil {
		return nil, 0, fileError(name, err)
	}
	defer h.Close()
	f, info, err := h.Regular()
	if err != nil {
		return nil, 0, fileError(name, err)
	}
	defer f.Close()
	most := info.Size() - offset
	if limit != nil {
		most = min(most, *limit)
	}
	if most > maxFile {
		return nil, 0, jrpc2.Errorf(
			jrpc2.InvalidParams,
			"path: %.200q: more than %d MiB; ask for a part with byteLimit",
			name,
			maxFile>>20,
		)
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
	text := linesOf(string(data), p.LineOffset, p.LineLimit)
	call.Reply(acp.ThreadFileContent{Version: version, Content: &text}, nil)
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
	text := base64.StdEncoding.EncodeToString(data)
	call.Reply(acp.ThreadFileContent{Version: version, Content: &text}, nil)
	return nil
}

// stat describes the file at a path.
func (s *Server) stat(ctx context.Context, t *thread, call *wire.Call, p acp.ThreadFile) error {
	at, err := t.place(ctx, p.Path)
	if err != nil {
		return fileError(p.Path, err)
	}
	h, err := at.Reach()
	if absent(err) { // a folder on the way
		call.Reply(acp.ThreadStat{}, nil)
		return nil
	}
	if err != nil {
		return fileError(p.Path, err)
	}
	defer h.Close()
	info, err := h.Stat()
	call.Reply(acp.ThreadStat{Exists: err == nil, IsDirectory: err == nil && info.IsDir()}, nil)
	return nil
}

// globSearch lists the files whose path within the thread's folder matches a pattern: * and ?
// within a name, ** for any number of folders. Files that may not be read are not listed.
func (s *Server) globSearch(ctx context.Context, t *thread, call *wire.Call, p acp.GlobSearch) error {
	cwd := t.att.Meta().Cwd
	pattern := strings.TrimPrefix(filepath.ToSlash(p.Pattern), filepath.ToSlash(cwd)+"/")
	pattern = strings.TrimPrefix(pattern, "./")
	outside := func(part string) bool { return part == "" || part == ".." }
	want, err := glob.Path(pattern)
	if err != nil || slices.ContainsFunc(strings.Split(pattern, "/"), outside) {
		return jrpc2.Errorf(
			jrpc2.InvalidParams,
			"pattern: %.200q is not a path pattern within the thread's folder",
			p.Pattern,
		)
	}
	at, err := t.place(ctx, cwd)
	if err != nil {
		return fileError(cwd, err)
	}
	dir, err := at.Folder()
	if err != nil {
		return fileError(cwd, err)
	}
	defer dir.Close()
	may, err := t.reader(ctx)
	if err != nil {
		return err
	}
	denied := func(name string) bool {
		a := at.Access(core.OpRead)
		a.Path = filepath.Join(at.Real, filepath.FromSlash(name))
		return may(a) != nil
	}
	res := acp.GlobSearchResponse{Matches: []string{}}
	err = below(ctx, dir, ".", func(name string, d files.Entry) (into, on bool) {
		switch {
		case d.Kind.IsDir():
			return d.Name != ".git" && !denied(name), true
		case !want.Matches(name) || denied(name):
			return false, true
		case len(res.Matches) == maxMatches:
			return false, false
		}
		res.Matches = append(res.Matches, filepath.Join(cwd, filepath.FromSlash(name)))
		return false, true
	})
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return err
	}
	call.Reply(res, nil)
	return nil
}

// below visits the content of a folder at rel, in the order of names, and of those folders for
// which visit returns into. It returns fs.SkipAll as soon as visit does not return on. Unreadable
// folders are left out.
func below(
	ctx context.Context,
	dir *files.Folder,
	rel string,
	visit func(name string, d files.Entry) (into, on bool),
) error {
	list, _ := dir.Read(0)
	for _, d := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name := path.Join(rel, d.Name)
		into, on := visit(name, d)
		if !on {
			return fs.SkipAll
		}
		if !into {
			continue
		}
		inner, err := dir.Folder(d.Name)
		if err != nil {
			continue
		}
		err = below(ctx, inner, name, visit)
		inner.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
