package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/fileuri"
	"dragoman/core/ide"
)

// Place is a resolved path.
type Place struct {
	Name string // absolute, as the session knows it: for locations, diffs and editors
	Real string // absolute, symbolic links resolved as far as it exists: the path that is opened
	Show string // for titles and output: relative to the session's folder where it lies in it
	Root *Root  // the workspace root that it lies in; nil: none
	// Spilled is set for output that was cut (core.Spills).
	Spilled bool
	// Mounted is set for what only the session's commands see at Name (Workspace.Mount).
	Mounted bool

	spills core.Spills // opens Name, which is a reference; nil: Real is a path
}

// Outside reports whether touching the place in this way leaves the roots.
func (p Place) Outside(op core.AccessOp) bool {
	return p.Root == nil && (!p.Spilled || op != core.OpRead)
}

// Access describes an operation on the place for the policy.
func (p Place) Access(op core.AccessOp) core.Access {
	return core.Access{
		Op:      op,
		Path:    p.Real,
		Outside: p.Outside(op),
		Spilled: p.Spilled && op == core.OpRead,
		Wide:    p.Root != nil && p.Root.Wide,
	}
}

// Locations returns the places that clients can go to, at a line; 0: at none.
func (p Place) Locations(line int) []core.Location {
	if p.spills != nil {
		return nil
	}
	return []core.Location{{Path: p.Name, Line: line}}
}

// Source is Locate for a tool that only reads: it also takes a reference to output that was cut.
func (w *Workspace) Source(arg string) (Place, error) {
	if !strings.HasPrefix(arg, core.SpillRef) {
		return w.Locate(arg)
	}
	if err := core.CheckSpill(arg[len(core.SpillRef):]); err != nil {
		return Place{}, err
	}
	spills := w.host.Spills()
	if spills == nil {
		return Place{}, fmt.Errorf("%s: no cut output is kept here", arg)
	}
	return Place{Name: arg, Real: arg, Show: arg, Spilled: true, spills: spills}, nil
}

// Locate finds the place that a path means as a model writes it: a plain path, absolute
// or relative to the session's folder, or a file URI. It opens nothing.
func (w *Workspace) Locate(arg string) (Place, error) {
	path, err := parsePath(arg)
	if err != nil {
		return Place{}, err
	}
	return w.At(path)
}

// At finds the place of a plain path: absolute, or relative to the session's folder. It
// opens nothing.
func (w *Workspace) At(path string) (Place, error) {
	meta := w.host.Meta()
	if !filepath.IsAbs(path) {
		path = filepath.Join(meta.Cwd, path)
	}
	path = filepath.Clean(path)
	temp, inside := w.mounted(path)
	if temp != nil {
		path = inside
	}
	real, err := Real(path)
	if err != nil {
		return Place{}, err
	}
	if err := refusePseudo(real); err != nil {
		return Place{}, err
	}
	p := Place{Name: path, Real: real}
	for _, r := range w.Roots() {
		if rel, ok := Within(r.Real, real); ok && (p.Root == nil || len(r.Real) > len(p.Root.Real)) {
			p.Root, p.Name = r, filepath.Join(r.Given, rel)
		}
	}
	if temp != nil && p.Root == nil {
		if rel, ok := Within(temp.Real, real); ok {
			p.Root, p.Name, p.Mounted = temp, filepath.Join(temp.Given, rel), true
		}
	}
	if p.Root == nil {
		p.Name = real
		p.Spilled = w.spilled(real)
	}
	p.Show = p.Name
	if rel, ok := Within(filepath.Clean(meta.Cwd), p.Name); ok {
		p.Show = filepath.ToSlash(rel)
	}
	return p, nil
}

// spilled reports whether a path is that of cut output, which earlier versions gave to
// models.
func (w *Workspace) spilled(path string) bool {
	spills := w.host.Spills()
	if spills == nil {
		return false
	}
	f, err := spills.Spilled(path)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

// parsePath takes a path as a model writes it: a plain path or a file URI.
func parsePath(arg string) (string, error) {
	path := arg
	if len(arg) >= 5 && strings.EqualFold(arg[:5], "file:") {
		var err error
		if path, err = fileuri.Path(arg); err != nil {
			return "", fmt.Errorf("path %q %w", arg, err)
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
	case strings.HasPrefix(path, core.SpillRef):
		return "", fmt.Errorf(
			"%q is output that was cut: only read_file and grep take it, and ./%s is a file of that name",
			arg,
			path,
		)
	case path[0] == '~':
		return "", fmt.Errorf(
			"path %q: ~ is not expanded; give the absolute path, or ./%s for a file of that name",
			arg,
			path,
		)
	case strings.Contains(path, "://"):
		return "", fmt.Errorf("path %q is a URL; give the path of a file, or a file:// URI", arg)
	}
	if err := checkNames(path); err != nil {
		return "", fmt.Errorf("path %q: %w", arg, err)
	}
	return path, nil
}

// Within reports whether path lies in dir or is it, and the way from there.
// Both are absolute and clean. It compares names, never text: /a/app-evil is not
// in /a/app.
func Within(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) ||
		filepath.IsAbs(rel) {
		return "", false
	}
	return rel, true
}

// maxLinks limits the symbolic links in one path, as in Linux.
const maxLinks = 40

// Real follows every symbolic link of an absolute, clean path, dangling ones
// too. Parts that do not exist are kept unchanged. It looks at names only and
// opens nothing.
func Real(path string) (string, error) {
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
			if Missing(err) {
				return filepath.Join(append([]string{next}, rest...)...), nil
			}
			return "", fmt.Errorf("resolve %s: %w", display.Visible(path), Cause(err))
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
			return "", fmt.Errorf("resolve %s: %w", display.Visible(path), Cause(err))
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("resolve %s: too many symbolic links", display.Visible(path))
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

// Missing reports whether an error says that a path leads nowhere.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}

// refusePseudo refuses the file systems whose files are not on a disk: reading
// them leaks what processes hold, or never ends.
func refusePseudo(real string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if _, ok := Within(dir, real); ok {
			return fmt.Errorf("%s is in %s, which contains no ordinary files: refused", display.Visible(real), dir)
		}
	}
	return nil
}

// Cause is an error of the file system without the path, which our own texts
// name as the session knows it.
func Cause(err error) error {
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

// Readable fails for a place that cannot be read as a file, neither on the disk nor
// through the editor.
func (w *Workspace) Readable(p Place) error {
	h, err := p.Reach()
	if err == nil {
		defer h.Close()
		var info fs.FileInfo
		if info, err = h.Stat(); err == nil {
			err = CheckRegular(info)
		}
	}
	if err != nil && Missing(err) {
		if e := ide.Of(w.host.Editor(p.Name)); e != nil && !p.Spilled && !p.Mounted && e.Caps().ReadFile {
			return nil // a new file that was not saved yet, perhaps
		}
	}
	return p.Explain(err)
}

// Linked reports whether a place is a file of the workspace that has other names.
func (p Place) Linked() bool {
	if p.Root == nil {
		return false
	}
	h, err := p.Reach()
	if err != nil {
		return false
	}
	defer h.Close()
	info, err := h.Stat()
	return err == nil && ManyNames(info)
}

// absent is fs.ErrNotExist in our own words.
type absent string

func (e absent) Error() string        { return string(e) }
func (e absent) Is(target error) bool { return target == fs.ErrNotExist }

// Explain words an error of the file system for a model: it names the place, and keeps
// the cause. nil stays nil.
func (p Place) Explain(err error) error {
	switch {
	case err == nil:
		return nil
	case Missing(err) && p.spills != nil:
		return absent(fmt.Sprintf(
			"there is no %s in this session: a fork has none of the output that was cut in the other one",
			p.Show,
		))
	case Missing(err):
		return absent("there is no " + display.Visible(p.Show))
	}
	return fmt.Errorf("%s: %w", display.Visible(p.Show), Cause(err))
}
