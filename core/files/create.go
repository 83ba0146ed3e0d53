package files

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// Create makes a file in the folder at p, which only its owner may read, and lets write
// fill it. The name must be free: a link is not followed, wherever it leads. When Create
// returns nil the file is on the disk; what could not be written whole is removed.
func (p Place) Create(name string, write func(io.Writer) error) error {
	dir, err := p.Folder()
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err = errors.Join(write(w), w.Flush(), f.Sync(), f.Close()); err != nil {
		err = errors.Join(err, dir.root.Remove(name))
	}
	return err
}
