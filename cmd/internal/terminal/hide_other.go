//go:build !windows && (!unix || aix || solaris)

package terminal

import (
	"errors"
	"os"
)

// hideInput is not available on this system.
func hideInput(*os.File) (restore func(), err error) {
	return nil, errors.New("not known on this system")
}

// dropInput does nothing: there is no known way to drop input on this system.
func dropInput(*os.File) {}
