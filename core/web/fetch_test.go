package web

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func anywhere(netip.AddrPort) error { return nil }

func TestPublicAddresses(t *testing.T) {
	for _, a := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255",
		"192.0.0.8", "168.63.129.16", "::ffff:168.63.129.16", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1",
		"64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "100::1", "3fff::1", "fe80::1%eth0",
	} {
		if err := publicAddr(netip.AddrPortFrom(netip.MustParseAddr(a), 80)); err == nil {
			t.Errorf("%s is taken for public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8"} {
		if err := publicAddr(netip.AddrPortFrom(netip.MustParseAddr(a), 443)); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}

// Nothing is fetched from the addresses by which others reach this machine.
func TestOwnAddresses(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if p, err := netip.ParsePrefix(n.String()); err == nil && publicAddr(netip.AddrPortFrom(p.Addr(), 80)) == nil {
			t.Errorf("%s is this machine's, and is fetched from", n)
		}
	}
}

func TestParseURL(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"https://example.org/a?b=c#d", ""},
		{"HTTP://example.org", ""},
		{"ftp://example.org/", "must begin with"},
		{"file:///etc/passwd", "must begin with"},
		{"//example.org/", "must begin with"},
		{"example.org", "must begin with"},
		{"http:example.org", "no host"},
		{"http:///x", "no host"},
		{"http://:80/", "no host"},
		{"https://trusted.com@evil.com/", "user name"},
		{"https://u:p@evil.com/", "user name"},
		{"https://exa mple.org/", "escaped"},
		{"https://example.org/\r\nHost: x", "escaped"},
		{`https://example.org\@evil.com/`, "escaped"},
		{"https://example.org/%zz", "not a valid URL"},
		{"https://example.org/" + strings.Repeat("a", maxURL), "too long"},
	} {
		u, err := ParseURL(c.in)
		if c.want == "" && (err != nil || u.Fragment != "") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.60q: %v %v, want %q", c.in, u, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("a password is repeated: %v", err)
		}
	}
}

// site is a server on this machine with all kinds of answers.
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
	page("/latin", "text/plain; charset=ISO-8859-1", "caf\xe9")
	page("/bad", "text/plain", "a\xffb")
	page("/png", "image/png", "\x89PNG\r\n\x1a\n")
	page("/lie", "text/plain", "a\x00b")
	page("/odd", "text/;;", "x")
	page("/html", "text/html", `<title>T</title><p>Hello <a href="/x">you</a></p><script>alert(1)</script>`)
	page("/large", "text/plain", strings.Repeat("0123456789abcde\n", MaxPage/16+1))
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%v %v", r.Header.Get("Cookie"), r.Header.Get("Referer"))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func TestFetch(t *testing.T) {
	srv := site(t)
	f := Fetcher{Permit: anywhere, Hop: SameHost}
	for _, c := range []struct{ path, want, fails string }{
		{path: "/plain", want: "one\ntwo\n"},
		{path: "/json", want: `{"a":1}`},
		{path: "/latin", want: "café"},
		{path: "/bad", want: "a\ufffdb"},
		{path: "/html", want: "# T\n\nHello you <" + srv.URL + "/x>\n"},
		{path: "/to?u=/plain", want: "one\ntwo\n"},
		{path: "/to?u=/echo", want: " "},
		{path: "/png", fails: "not text but image/png"},
		{path: "/lie", fails: "not text"},
		{path: "/odd", fails: "cannot be read"},
		{path: "/absent", fails: "answered 404 Not Found"},
		{path: "/loop", fails: "redirected more than 5 times"},
		{path: "/to?u=file:///etc/passwd", fails: "must begin with http"},
		{path: "/to?u=http://u:p@example.org/", fails: "user name"},
		{path: "/to?u=http://other.example/x", fails: "redirected to another host: fetch http://other.example/x"},
	} {
		p, err := f.Get(t.Context(), srv.URL+c.path)
		if c.fails == "" && (err != nil || p.Text != c.want) {
			t.Errorf("%s: %q %v, want %q", c.path, p.Text, err, c.want)
		}
		if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: %q %v, want %q", c.path, p.Text, err, c.fails)
		}
	}
	p, err := f.Get(t.Context(), srv.URL+"/large")
	if err != nil || len(p.Text) != MaxPage || !p.Cut {
		t.Errorf("%d bytes, cut %v, %v", len(p.Text), p.Cut, err)
	}
}

// Wherever a name or a redirect leads, no connection is made to a service that only
// this machine can reach.
func TestFetchRefusesPrivate(t *testing.T) {
	asked := 0
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(inner.Close)
	port := inner.Listener.Addr().String()
	port = port[strings.LastIndexByte(port, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "127.1", "169.254.169.254"} {
		if _, err := (Fetcher{}).Get(t.Context(), "http://"+host+port+"/"); err == nil {
			t.Errorf("%s was fetched", host)
		}
	}
	// A public server (this one is let through) redirects into the network.
	srv := site(t)
	outer := srv.Listener.Addr().String()
	f := Fetcher{Permit: func(a netip.AddrPort) error {
		if a.String() == outer {
			return nil
		}
		return publicAddr(a)
	}}
	for _, to := range []string{inner.URL, "http://localhost" + port, "http://169.254.169.254/latest/meta-data/"} {
		_, err := f.Get(t.Context(), srv.URL+"/to?u="+url.QueryEscape(to))
		if err == nil || !strings.Contains(err.Error(), "not on the public network") {
			t.Errorf("%s: %v", to, err)
		}
	}
	// A proxy of the environment would fetch it for us.
	t.Setenv("HTTP_PROXY", srv.URL)
	t.Setenv("http_proxy", srv.URL)
	if _, err := f.Get(t.Context(), inner.URL); err == nil {
		t.Error("it went through the proxy")
	}
	if asked > 0 {
		t.Errorf("the inner server was asked %d times", asked)
	}
}

func TestHTMLText(t *testing.T) {
	base, _ := url.Parse("https://example.org/docs/")
	for _, c := range []struct{ in, want string }{
		{"", "\n"},
		{"a<b>b</b>c d\n\n e", "abc d e\n"},
		{"<h1>One</h1><h2>Two</h2><p>x<br>y", "# One\n\n## Two\n\nx\ny\n"},
		{"<ul><li>a<li>b<ul><li>c</ul></ul>z", "- a\n- b\n\n- c\n\nz\n"},
		{"<pre>a\n  b &lt;\n</pre>after", "```\na\n  b <\n```\n\nafter\n"},
		{"<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 | 2\n3\n"},
		{`<a href="page.html">see</a> <a href="#top">up</a> <a href="javascript:x()">js</a>`, "see <https://example.org/docs/page.html> up js\n"},
		{"a<script>if (1<2) x()</script><style>p{}</style><svg><svg></svg>x</svg>b", "ab\n"},
		{"<noscript>n</noscript><!-- c -->&amp;lt; &copy; x", "&lt; © x\n"},
		{"<svg>never closed", "\n"},
		{"<p>" + strings.Repeat("<div>", 10_000) + "deep", "deep\n"},
	} {
		if got := htmlText(c.in, base); got != c.want {
			t.Errorf("%.60q:\n%q, want\n%q", c.in, got, c.want)
		}
	}
}

func FuzzHTMLText(f *testing.F) {
	f.Add("<p>a<a href=x>b</a><pre>c</pre><ul><li>d")
	base, _ := url.Parse("https://example.org/")
	f.Fuzz(func(_ *testing.T, page string) { htmlText(page, base) })
}
