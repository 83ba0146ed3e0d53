package configs

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed example.yaml
var example string

// ExampleYAML returns a commented configuration in which all settings are commented out. Lines
// that begin with ## are prose; removing the "# " before a setting switches it on.
func ExampleYAML() string { return example }

// Init writes the example to path, readable only by its owner, and creates missing folders. It
// never replaces a file: the error is fs.ErrExist then.
func Init(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the configuration's folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("create the configuration: %w", err)
	}
	_, err = f.WriteString(example)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the configuration: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}
