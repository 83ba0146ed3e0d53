//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"runtime"

	"dragoman/core/child"
)

var errSystem = errors.New("programs are not confined on " + runtime.GOOS)

func openProgram() (*os.File, error) { return nil, errSystem }

func (*System) attempt(child.Level) error { return errSystem }

func (*System) launch(order, *os.File) (*os.Process, error) { return nil, errSystem }
