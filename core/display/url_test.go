package display

import (
	"errors"
	"fmt"
	"net/url"
	"testing"
)

func TestWithoutURL(t *testing.T) {
	refused := errors.New("connection refused")
	at := &url.Error{Op: "Get", URL: "https://example.com/?key=secret", Err: refused}
	for _, err := range []error{at, fmt.Errorf("ask: %w", at), refused} {
		if got := WithoutURL(err); got != refused { //nolint:errorlint // this one and no other
			t.Errorf("%v: %v", err, got)
		}
	}
	if WithoutURL(nil) != nil {
		t.Error("an error out of nothing")
	}
}
