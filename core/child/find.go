package child

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNotFound says that there is no program of a name.
var ErrNotFound = errors.New("there is no such program in PATH")

// Find returns the absolute path of a program, by its path, which may be relative to dir, or by
// its name in the PATH that it will have itself. A relative folder in PATH is left out: it may be
// the workspace's.
func Find(name string, env []string, dir string) (string, error) {
	if name == "" {
		return "", errors.New("a program without a name")
	}
	if strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path, err := exec.LookPath(path)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
		}
		return filepath.Abs(path)
	}
	for _, in := range filepath.SplitList(Lookup(env, "PATH")) {
		if !filepath.IsAbs(in) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(in, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, ErrNotFound)
}
