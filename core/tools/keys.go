package tools

import (
	"errors"
	"fmt"
	"path/filepath"

	"dragoman/core/files"
)

// errKeys is the error for a reference to a file with keys.
var errKeys = errors.New("keys and passwords are kept there: it is not sent to a model; paste what is needed")

// refuseKeys refuses places where programs keep keys and passwords, and outside of
// the workspace also files with the names of such files. A user who attaches such a
// file hardly ever means to send it to a model.
func refuseKeys(p files.Place) error {
	if files.KeepsKeys(p.Real) || p.Root == nil && files.KeyFile(filepath.Base(p.Real)) {
		return errKeys
	}
	return nil
}

// keysNote returns a note on the number of entries that were left out because
// programs keep keys there.
func keysNote(n int) string {
	return note(n > 0, fmt.Sprintf("%d left out where programs keep keys: to look there, name the path", n))
}
