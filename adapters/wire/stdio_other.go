//go:build !unix

package wire

import (
	"io"
	"os"
)

// Stdio returns standard input and output as a connection's streams. On Windows a Close of a pipe ends a Read or Write
// that is under way by itself.
func Stdio() (io.ReadCloser, io.WriteCloser, error) { return os.Stdin, os.Stdout, nil }
