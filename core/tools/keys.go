package tools

import (
	"errors"
	"fmt"
	"path/filepath"

	"dragoman/core"
)

// errKeys says why something is not read that a person refers to.
var errKeys = errors.New("keys and passwords are kept there: it is not sent to a model; paste what is needed")

// refuseKeys refuses the places where programs keep keys and passwords, and outside of
// the workspace also files that are called like that. Whoever attaches a file there
// hardly means to send those.
func refuseKeys(p place) error {
	if core.KeepsKeys(p.real) || p.root == nil && core.KeyFile(filepath.Base(p.real)) {
		return errKeys
	}
	return nil
}

// keysNote says how much was left out because programs keep keys there.
func keysNote(n int) string {
	return note(n > 0, fmt.Sprintf("%d left out where programs keep keys: to look there, name the path", n))
}
