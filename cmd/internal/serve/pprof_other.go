//go:build !unix

package serve

import (
	"context"
	"errors"
	"net"
)

// listenPrivately fails: on this system a socket cannot be kept from other users by its mode.
func listenPrivately(context.Context, string) (net.Listener, error) {
	return nil, errors.New("profiles are served on Unix only")
}
