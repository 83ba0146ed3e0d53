package program

import (
	"errors"
	"io/fs"
	"os/exec"
)

// Reason returns the reason why a program or a file could not be used, without its name.
func Reason(err error) string {
	var at *exec.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}
