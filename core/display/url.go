package display

import (
	"errors"
	"net/url"
)

// WithoutURL drops the address from an error of an http.Client, and what was done there: an
// address may hold a key. Any other error is returned as it is.
func WithoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
