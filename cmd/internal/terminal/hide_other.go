//go:build !windows && (!unix || aix || solaris)

package terminal

import (
	"errors"
	"os"
)

// hideInput is not known here.
func hideInput(*os.File) (restore func(), err error) {
	return nil, errors.New("not known on this system")
}

// dropInput does nothing: how to drop input is not known on this system.
func dropInput(*os.File) {}
