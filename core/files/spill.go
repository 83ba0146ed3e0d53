package files

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
)

// NewSpill creates a file for output in a folder, which it makes where there is none.
func NewSpill(folder string) (f *os.File, path string, err error) {
	if folder == "" {
		return nil, "", errors.New("there is no folder for it")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, "", err
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return nil, "", err
	}
	defer dir.Close()
	name := "output-" + rand.Text() + ".txt"
	f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return f, filepath.Join(folder, name), err
}
