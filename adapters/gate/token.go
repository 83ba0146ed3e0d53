package gate

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Token reads the token in a file, making both where they are not there. A file that others can read is an error, and so
// is an empty one.
func Token(path string) (string, error) {
	token, err := read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the folder of the token: %w", err)
	}
	made := rand.Text() + rand.Text()
	// It is written aside and linked in, so that of two processes that start at once one wins and none reads half of it.
	f, err := os.CreateTemp(filepath.Dir(path), ".token-") // 0600
	if err != nil {
		return "", fmt.Errorf("make the token: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it may have been renamed
	_, err = f.WriteString(made + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("write the token: %w", err)
	}
	err = os.Link(f.Name(), path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return read(path)
	case err != nil: // a file system without links
		if err := os.Rename(f.Name(), path); err != nil {
			return "", fmt.Errorf("keep the token: %w", err)
		}
	}
	return read(path)
}

func read(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("the token in %s can be read by others (%v); delete it, and a new one is made", path, mode)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", fmt.Errorf("the token in %s is empty; delete the file, and a new one is made", path)
	}
	return token, nil
}
