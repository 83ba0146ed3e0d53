package jsonl

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes a file's content and its length durable.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		}
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
}
