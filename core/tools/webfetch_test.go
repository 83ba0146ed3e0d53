package tools

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/web"
)

func anywhere(netip.AddrPort) error { return nil }

// site is a server on this machine with a few pages.
func site(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	page := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		})
	}
	page("/plain", "text/plain; charset=utf-8", "one\ntwo\n")
	page("/json", "application/vnd.api+json", `{"a":1}`)
	page("/html", "text/html", `<title>T</title><p>Hello <a href="/x">you</a></p><script>alert(1)</script>`)
	page("/large", "text/plain", strings.Repeat("0123456789abcde\n", web.MaxPage/16+1))
	page("/slurp", "text/plain", strings.Repeat("long line of the page\n", 5000))
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func TestWebFetch(t *testing.T) {
	srv := site(t)
	b := newBed(t)
	b.set.net.Permit = anywhere
	if got := b.ok("web_fetch", m{"url": srv.URL + "/plain"}); got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
	_, pv, err := b.preview("web_fetch", m{"url": "https://example.org/x#y"})
	if want := (core.Access{Op: core.OpNet, URL: "https://example.org/x"}); err != nil || len(pv.Access) != 1 || pv.Access[0] != want ||
		pv.Kind != core.KindFetch || pv.Title != "Fetch `https://example.org/x`" {
		t.Errorf("%+v %v", pv, err)
	}
	_, pv, _ = b.preview("web_fetch", m{"url": "https://example.org/" + strings.Repeat("x", 300)})
	if !strings.Contains(pv.Title, "more characters") || len(pv.Content) != 1 {
		t.Errorf("a long URL is not shown whole: %+v", pv)
	}
	if out := b.ok("web_fetch", m{"url": srv.URL + "/slurp"}); len(out) > maxBytes+1000 || !strings.Contains(out, "whole output: spill:") {
		t.Errorf("%d bytes: %.200q", len(out), out)
	}
	if out := b.ok("web_fetch", m{"url": srv.URL + "/large"}); !strings.Contains(out, "larger than 1 MiB") {
		t.Errorf("%.200q", out)
	}
	b.fails("web_fetch", m{"url": srv.URL + "/absent"}, "404")
	b.fails("web_fetch", m{"url": "gopher://x/"}, "must begin with")
	b.set.opts.Forbids = func(core.ToolHost) (func(core.Access) bool, error) {
		return func(a core.Access) bool { return strings.HasSuffix(a.URL, "/json") }, nil
	}
	b.fails("web_fetch", m{"url": srv.URL + "/to?u=/json"}, "redirected to an address that a rule forbids")
	b.ok("web_fetch", m{"url": srv.URL + "/to?u=/plain"})
	b.set.net.Permit = nil
	b.fails("web_fetch", m{"url": srv.URL + "/plain"}, "not on the public network")
}

// An address that would be refused in any case is refused before anybody is asked, with the sentence that a
// connection would end with.
func TestFetchRefusedBeforeTheQuestion(t *testing.T) {
	srv := site(t)
	b := newBed(t)
	_, _, before := b.preview("web_fetch", m{"url": srv.URL + "/plain"})
	_, after := b.set.net.Get(t.Context(), srv.URL+"/plain")
	if before == nil || after == nil || before.Error() != "web_fetch: "+after.Error() {
		t.Errorf("before the question %v, behind it %v", before, after)
	}
	for _, host := range []string{"localhost", "LocalHost.", "a.localhost:8080", "127.1.2.3", "[::1]", "[::ffff:10.0.0.1]:80", "192.168.1.1", "169.254.169.254", "[fe80::1%25eth0]", "0.0.0.0"} {
		if _, _, err := b.preview("web_fetch", m{"url": "http://" + host + "/x"}); err == nil || !strings.Contains(err.Error(), "not on the public network: refused") {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"example.org", "8.8.8.8", "localhost.example.org", "[2606:4700::1111]"} {
		if _, _, err := b.preview("web_fetch", m{"url": "http://" + host + "/x"}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	b.set.net.Permit = anywhere
	if _, _, err := b.preview("web_fetch", m{"url": srv.URL + "/plain"}); err != nil {
		t.Errorf("where it is allowed: %v", err)
	}
}
