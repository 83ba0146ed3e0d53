//go:build unix

package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// listenPrivately listens on a socket that only this user can connect to, from its first moment on. The
// socket of a process that has ended is replaced, anything else at the path is not. It must be called
// before other goroutines create files: the mask that keeps others out is the process's.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s exists and is not a socket", path)
	default:
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", path)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("another process listens on %s", path), conn.Close())
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	defer syscall.Umask(syscall.Umask(0o177))
	var c net.ListenConfig
	return c.Listen(ctx, "unix", path)
}
