package streamable

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"dragoman/adapters/wire"
)

// A client for which there is no place comes again later, and so does one that comes while we close.
func TestRefuseGuest(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		again  string
		body   string
	}{
		{&wire.FullError{Most: 2}, http.StatusServiceUnavailable, "60", `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"` + (&wire.FullError{Most: 2}).Error() + `"}}`},
		{wire.ErrClosed, http.StatusServiceUnavailable, "60", `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"` + wire.ErrClosed.Error() + `"}}`},
		{errors.New("no program"), http.StatusOK, "", `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"no program"}}`},
	} {
		w := httptest.NewRecorder()
		RefuseGuest(w, []byte("7"), c.err)
		if got := w.Body.String(); w.Code != c.status || w.Header().Get("Retry-After") != c.again || got != c.body {
			t.Errorf("%v: status %d, Retry-After %q, %s", c.err, w.Code, w.Header().Get("Retry-After"), got)
		}
	}
}

// What a header cannot hold as it is comes back as it was.
func TestHeadersThatNeedAnEncoding(t *testing.T) {
	for _, s := range []string{"", "a b", " a", "ä", "a\nb", "=?base64?YQ==?=", "=?base64?"} {
		if got, ok := HeaderMeans(headerText(s)); !ok || got != s {
			t.Errorf("%q came back as %q, %t", s, got, ok)
		}
	}
	if _, ok := HeaderMeans("=?base64?!?="); ok {
		t.Error("a header that nobody has encoded has a meaning")
	}
}
