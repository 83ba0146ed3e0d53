package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"dragoman/core"
)

// place is where a path argument leads.
type place struct {
	name string // absolute, as the session knows it: for locations, diffs and editors
	real string // absolute, symbolic links resolved as far as it exists: what is opened
	show string // for titles and output: relative to the session's folder where it lies in it
	root *root  // the workspace root that it lies in; nil: none
	// spill is set for a place in the folder for cut output.
	spill bool
}

// outside reports whether touching the place in this way leaves the roots.
func (p place) outside(op core.AccessOp) bool {
	return p.root == nil && (!p.spill || op != core.OpRead)
}

// access is what policy hears of it.
func (p place) access(op core.AccessOp) core.Access {
	return core.Access{Op: op, Path: p.real, Outside: p.outside(op), Wide: p.root != nil && p.root.wide}
}

// locate turns a path argument into a place.
func (w *workspace) locate(arg string) (place, error) {
	path, err := parsePath(arg)
	if err != nil {
		return place{}, err
	}
	return w.at(path)
}

// at is the place of a path: absolute, or relative to the session's folder.
func (w *workspace) at(path string) (place, error) {
	meta := w.host.Meta()
	if !filepath.IsAbs(path) {
		path = filepath.Join(meta.Cwd, path)
	}
	path = filepath.Clean(path)
	real, err := resolve(path)
	if err != nil {
		return place{}, err
	}
	if err := refusePseudo(real); err != nil {
		return place{}, err
	}
	p := place{name: path, real: real}
	for _, r := range w.roots() {
		if rel, ok := within(r.real, real); ok && (p.root == nil || len(r.real) > len(p.root.real)) {
			p.root, p.name = r, filepath.Join(r.given, rel)
		}
	}
	if p.root == nil && meta.Spill != "" {
		if spill, err := resolve(filepath.Clean(meta.Spill)); err == nil {
			_, p.spill = within(spill, real)
		}
	}
	if p.root == nil {
		p.name = real
	}
	p.show = p.name
	if rel, ok := within(filepath.Clean(meta.Cwd), p.name); ok {
		p.show = filepath.ToSlash(rel)
	}
	return p, nil
}

// parsePath takes a path as a model writes it: a plain path or a file URI.
func parsePath(arg string) (string, error) {
	path := arg
	if len(arg) >= 5 && strings.EqualFold(arg[:5], "file:") {
		u, err := url.Parse(arg)
		if err != nil {
			return "", fmt.Errorf("path %q is not a valid URI", arg)
		}
		if u.Opaque != "" || u.Host != "" && !strings.EqualFold(u.Host, "localhost") || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
			return "", fmt.Errorf("path %q is not the URI of a local file: write file:///absolute/path, with %%3F for ? and %%23 for #", arg)
		}
		path = u.Path
		if runtime.GOOS == "windows" {
			path = filepath.FromSlash(strings.TrimPrefix(path, "/"))
		}
		if !filepath.IsAbs(path) {
			return "", fmt.Errorf("path %q is not the URI of a local file: write file:///absolute/path", arg)
		}
	}
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("path %q contains a NUL character", arg)
	case len(path) > 16<<10:
		return "", errors.New("the path is too long")
	case path[0] == '~':
		return "", fmt.Errorf("path %q: ~ is not expanded; give the absolute path, or ./%s for a file of that name", arg, path)
	case strings.Contains(path, "://"):
		return "", fmt.Errorf("path %q is a URL; give the path of a file, or a file:// URI", arg)
	}
	if err := checkNames(path); err != nil {
		return "", fmt.Errorf("path %q: %w", arg, err)
	}
	return path, nil
}

// within reports whether path lies in dir or is it, and the way from there.
// Both are absolute and clean. It compares names, never text: /a/app-evil is not
// in /a/app.
func within(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) || filepath.IsAbs(rel) {
		return "", false
	}
	return rel, true
}

// maxLinks is how many symbolic links a path may lead through, as in Linux.
const maxLinks = 40

// resolve follows every symbolic link of an absolute, clean path, dangling ones
// too. What does not exist is kept as it stands. It looks at names only and
// opens nothing.
func resolve(path string) (string, error) {
	cur, rest := split(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, name)
		info, err := os.Lstat(next)
		if err != nil {
			if missing(err) {
				return filepath.Join(append([]string{next}, rest...)...), nil
			}
			return "", fmt.Errorf("resolve %s: %w", visible(path), cause(err))
		}
		if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			cur = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			if info.Mode()&fs.ModeSymlink == 0 { // on Windows, something else than a junction
				cur = next
				continue
			}
			return "", fmt.Errorf("resolve %s: %w", visible(path), cause(err))
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("resolve %s: too many symbolic links", visible(path))
		}
		if filepath.IsAbs(target) {
			var more []string
			cur, more = split(filepath.Clean(target))
			rest = slices.Concat(more, rest)
		} else {
			rest = slices.Concat(strings.Split(target, string(filepath.Separator)), rest)
		}
	}
	return cur, nil
}

// split takes an absolute path apart: the volume's root, then the names.
func split(path string) (top string, names []string) {
	sep := string(filepath.Separator)
	top = filepath.VolumeName(path) + sep
	return top, strings.Split(strings.TrimPrefix(path[len(top)-1:], sep), sep)
}

// missing reports whether an error says that a path leads nowhere.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}

// refusePseudo refuses the file systems whose files are not on a disk: reading
// them leaks what processes hold, or never ends.
func refusePseudo(real string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if _, ok := within(dir, real); ok {
			return fmt.Errorf("%s is in %s, which holds no ordinary files: refused", visible(real), dir)
		}
	}
	return nil
}

// cause is an error of the file system without the path, which our own texts
// name as the session knows it.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

// readable fails early for what cannot be read.
func (w *workspace) readable(p place) error {
	h, err := p.reach(false)
	if err == nil {
		defer h.close()
		var info fs.FileInfo
		if info, err = h.stat(); err == nil {
			err = wantRegular(info)
		}
	}
	if err != nil && missing(err) {
		if e := w.host.Editor(); e != nil && !p.spill && e.Caps().ReadFile {
			return nil // a new file that was not saved yet, perhaps
		}
	}
	return p.explain(err)
}

// linked reports whether a place is a file of the workspace that has other names.
func (p place) linked() bool {
	if p.root == nil {
		return false
	}
	h, err := p.reach(false)
	if err != nil {
		return false
	}
	defer h.close()
	info, err := h.stat()
	return err == nil && manyNames(info)
}

// explain words an error of the file system for a model.
func (p place) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case missing(err):
		return fmt.Errorf("there is no %s", visible(p.show))
	}
	return fmt.Errorf("%s: %w", visible(p.show), cause(err))
}
