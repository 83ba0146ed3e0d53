package folders

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"dragoman/core/fileuri"
)

// Reach describes the sessions whose folders all lie within some roots. It belongs to one
// goroutine.
type Reach struct {
	roots []string
	known map[string]bool // folders that were checked
}

// NewReach returns the reach of resolved roots.
func NewReach(roots []string) *Reach { return &Reach{roots, map[string]bool{}} }

// Covers reports whether the reach includes a session.
func (r *Reach) Covers(cwd string, roots []string) bool {
	for _, dir := range append(roots[:len(roots):len(roots)], cwd) {
		inside, known := r.known[dir]
		if !known {
			if where, ok := placeOf(dir); ok {
				inside = slices.ContainsFunc(r.roots, func(root string) bool { return Within(root, where) })
			}
			r.known[dir] = inside
		}
		if !inside {
			return false
		}
	}
	return true
}

// placeOf returns a folder's path with symbolic links resolved, also for a folder that no longer
// exists; ok is false if the path cannot be determined.
func placeOf(dir string) (_ string, ok bool) {
	dir = filepath.Clean(dir)
	gone := ""
	for filepath.IsAbs(dir) {
		if at, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(at, gone), true
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) { // a dangling link
			return "", false
		}
		dir, gone = filepath.Dir(dir), filepath.Join(filepath.Base(dir), gone)
	}
	return "", false
}

// OfURI returns the path that a file URI names.
func OfURI(uri string) (string, bool) {
	path, err := fileuri.Path(uri)
	return path, err == nil && filepath.IsAbs(path)
}

// Resolve resolves a path to an existing directory.
func Resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil || path == "" {
		return "", fmt.Errorf("no directory is named")
	}
	dir, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("there is no directory %s", path)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", path)
	}
	return dir, nil
}

// Within reports whether path is root or lies below it; both are resolved.
func Within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// Same reports whether two paths name one directory.
func Same(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := Resolve(a)
	y, errY := Resolve(b)
	return errX == nil && errY == nil && x == y
}
