package display

import (
	"errors"
	"net/url"
)

// WithoutURL removes the method and the address from an error of an http.Client: an address
// may contain a key. Any other error is returned unchanged.
func WithoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
