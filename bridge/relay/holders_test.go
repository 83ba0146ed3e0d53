package relay

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// A session at a remote server belongs to the token that began it: requests of others, which name it,
// do not reach the server. A session that is not known, after a new start, is left to clients without a
// token of their own.
func TestSessionsOfTheServerBelongToAToken(t *testing.T) {
	reached := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		w.Header().Set(proto.HeaderSession, "s")
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)) //nolint:errcheck // the test looks at the status
	}))
	defer s.Close()
	r := relayTo(t, upstream.Server{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) {
		return upstream.Endpoint{URL: s.URL}, nil
	}}, nil)
	h := r.HTTP("", func(r *http.Request) access.Holder {
		return access.Holder{Principal: core.Local, Token: r.Header.Get("Test-Token"), Name: "n", Rights: access.All}
	})
	defer h.Close()
	ask := func(token, session, method, body string) int {
		req := httptest.NewRequest(method, "/mcp/up", strings.NewReader(body))
		req.Header.Set("Test-Token", token)
		if session != "" {
			req.Header.Set(proto.HeaderSession, session)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w.Code
	}
	const hello, ping = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if code := ask("a", "", http.MethodPost, hello); code != http.StatusOK {
		t.Fatal(code)
	}
	for _, c := range []struct {
		token, session, method string
		passes                 bool
	}{
		{"a", "s", http.MethodPost, true},
		{"a", "s", http.MethodGet, true},
		{"b", "s", http.MethodPost, false},
		{"b", "s", http.MethodGet, false},
		{"b", "s", http.MethodDelete, false},
		{"", "s", http.MethodPost, false},
		{"", "s", http.MethodDelete, false},
		{"a", "older", http.MethodPost, false},
		{"", "older", http.MethodPost, true},
		{"b", "", http.MethodPost, true},
	} {
		before := reached
		code := ask(c.token, c.session, c.method, ping)
		if passed := reached > before; passed != c.passes || !passed && code != http.StatusNotFound {
			t.Errorf("%+v: %d, passed: %t", c, code, passed)
		}
	}
}

// The answer to a form counts only in the session in which the form was shown.
func TestFormsBelongToASession(t *testing.T) {
	ds := newDialogs()
	of := access.Holder{Principal: core.Local, Token: "a"}
	other := access.Holder{Principal: core.Local, Token: "b"}
	d, err := ds.begin(callID{session: sessionKey(of, "s"), id: "1"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := wire.Parse([]byte(`{"jsonrpc":"2.0","id":"` + d.id + `","result":{"action":"accept"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{sessionKey(other, "s"), sessionKey(of, "t"), sessionKey(access.Owner(core.Local), "s"), ""} {
		if !ds.takes(key, answer) || len(d.answer) > 0 {
			t.Errorf("%q answered", key)
		}
	}
	if !ds.takes(sessionKey(of, "s"), answer) || len(d.answer) != 1 {
		t.Error("its own session did not answer")
	}
}
