package integrity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file of a folder as it was recorded.
type File struct {
	Path   string      `json:"path"` // below the folder, with /
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"`
	Time   int64       `json:"time"`             // when its content changed, in nanoseconds
	Change int64       `json:"change,omitempty"` // when anything of it changed; 0: the system does not say
	SHA256 string      `json:"sha256,omitempty"`
	Link   string      `json:"link,omitempty"` // where a symbolic link leads to
}

// same reports whether a file looks as it was recorded, without reading it.
func (f File) same(o File) bool {
	return f.Size == o.Size && f.Mode == o.Mode && f.Time == o.Time && f.Change == o.Change && f.Link == o.Link
}

// Tree is the content of a folder: its files and symbolic links, by path.
type Tree []File

// maxFiles limits a folder.
const maxFiles = 200_000

// Scan reads a whole folder.
func Scan(ctx context.Context, dir string) (Tree, error) {
	t, err := list(ctx, dir)
	for i := range t {
		if err == nil && t[i].Mode.IsRegular() {
			t[i].SHA256, err = sumOf(ctx, filepath.Join(dir, filepath.FromSlash(t[i].Path)))
		}
	}
	return t, err
}

// list looks at every file of a folder.
func list(ctx context.Context, dir string) (t Tree, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case d.IsDir():
			return nil
		case len(t) >= maxFiles:
			return fmt.Errorf("%s has more than %d files", dir, maxFiles)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := fileOf(info)
		if rel, err := filepath.Rel(dir, path); err == nil {
			f.Path = filepath.ToSlash(rel)
		}
		if f.Mode&fs.ModeSymlink != 0 {
			if f.Link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		t = append(t, f)
		return nil
	})
	slices.SortFunc(t, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return t, err
}

func fileOf(info fs.FileInfo) File {
	return File{Size: info.Size(), Mode: info.Mode(), Time: info.ModTime().UnixNano(), Change: changed(info)}
}

// sumOf returns the SHA-256 of a file.
func sumOf(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it is only read
	h := sha256.New()
	if _, err := io.Copy(h, untilDone{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context //nolint:containedctx // of one call
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// Difference lists what of a folder is not as it was recorded, by path.
type Difference struct{ Missing, Changed, Extra []string }

// None reports whether nothing differs.
func (d Difference) None() bool { return len(d.Missing)+len(d.Changed)+len(d.Extra) == 0 }

// String describes it, with at most a few names of each kind.
func (d Difference) String() string {
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"changed", d.Changed}, {"missing", d.Missing}, {"new", d.Extra}} {
		if n := len(p.names); n > 0 {
			text := fmt.Sprintf("%d %s: %s", n, p.what, strings.Join(p.names[:min(n, 5)], ", "))
			if n > 5 {
				text += ", …"
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// Compare compares a folder with its record: by paths, sizes, modes and times, and by content only
// where these differ. It returns the folder as it is now; files whose content is the recorded one do
// not differ.
func (t Tree) Compare(ctx context.Context, dir string) (d Difference, now Tree, err error) {
	if now, err = list(ctx, dir); err != nil {
		return d, nil, err
	}
	was := map[string]File{}
	for _, f := range t {
		was[f.Path] = f
	}
	for i := range now {
		f := &now[i]
		old, there := was[f.Path]
		delete(was, f.Path)
		if there && f.same(old) {
			f.SHA256 = old.SHA256
			continue
		}
		if f.Mode.IsRegular() {
			if f.SHA256, err = sumOf(ctx, filepath.Join(dir, filepath.FromSlash(f.Path))); err != nil {
				return d, nil, err
			}
		}
		switch {
		case !there:
			d.Extra = append(d.Extra, f.Path)
		case f.SHA256 != old.SHA256 || f.Mode != old.Mode || f.Link != old.Link || !f.Mode.IsRegular() && f.Mode&fs.ModeSymlink == 0:
			d.Changed = append(d.Changed, f.Path)
		}
	}
	for _, f := range t {
		if _, missing := was[f.Path]; missing {
			d.Missing = append(d.Missing, f.Path)
		}
	}
	return d, now, nil
}

// equal reports whether two trees are recorded in the same way.
func (t Tree) equal(o Tree) bool { return slices.Equal(t, o) }

// errGone says that a program is not where it was.
var errGone = errors.New("it is not there")
