package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// anywhere lets a test's proxy connect to this machine.
func anywhere(string, string, syscall.RawConn) error { return nil }

// proxied returns a client that goes through a proxy, and the addresses that its judge was asked about.
func proxied(t *testing.T, check func(string, string, syscall.RawConn) error, allow func(string) bool) (*http.Client, string, func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	p := serve(l, func(_ context.Context, address string) error {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, address)
		if !allow(address) {
			return errors.New("no rule allows " + address)
		}
		return nil
	}, nil, check)
	t.Cleanup(p.Close)
	at := &url.URL{Scheme: "http", Host: l.Addr().String()}
	transport := &http.Transport{Proxy: http.ProxyURL(at)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
}

func TestRequests(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "plain ", r.URL.Path, r.Header.Get("X-Forwarded-For"))
	}))
	defer plain.Close()
	tls := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "tls ", r.URL.Path) }))
	defer tls.Close()
	client, _, asked := proxied(t, anywhere, func(a string) bool { return !strings.Contains(a, "forbidden") })
	client.Transport.(*http.Transport).TLSClientConfig = tls.Client().Transport.(*http.Transport).TLSClientConfig
	for _, c := range []struct{ url, want string }{
		{plain.URL + "/a", "200 plain /a"},
		{plain.URL + "/forbidden", "403 no rule allows " + plain.URL + "/forbidden\n"},
		{tls.URL + "/b", "200 tls /b"},
	} {
		r, err := client.Get(c.url)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if got := fmt.Sprint(r.StatusCode, " ", string(text)); got != c.want {
			t.Errorf("%s: %q, want %q", c.url, got, c.want)
		}
	}
	if want := []string{plain.URL + "/a", plain.URL + "/forbidden", tls.URL + "/"}; strings.Join(asked(), " ") != strings.Join(want, " ") {
		t.Errorf("asked %q, want %q", asked(), want)
	}
}

// Only public addresses are connected to, whoever allows them.
func TestOnlyPublic(t *testing.T) {
	here := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer here.Close()
	client, at, _ := proxied(t, public, func(string) bool { return true })
	r, err := client.Get(here.URL)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != http.StatusBadGateway || !strings.Contains(string(text), "not a public address") {
		t.Errorf("%d %s", r.StatusCode, text)
	}
	for _, host := range []string{"127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "10.0.0.1:443", "localhost:22", "[::ffff:127.0.0.1]:80", "0:80"} {
		if line := raw(t, at, "CONNECT "+host+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); !strings.Contains(line, " 502 ") {
			t.Errorf("CONNECT %s: %s", host, line)
		}
	}
}

func TestBadRequests(t *testing.T) {
	_, at, asked := proxied(t, public, func(string) bool { return true })
	for _, request := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://user:password@x/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT x HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT :80 HTTP/1.1\r\nHost: :80\r\n\r\n",
		"nonsense\r\n\r\n",
	} {
		if line := raw(t, at, request); !strings.Contains(line, " 400 ") {
			t.Errorf("%q: %s", request, line)
		}
	}
	if len(asked()) > 0 {
		t.Errorf("asked %q", asked())
	}
}

// raw sends bytes and returns the first line of the answer.
func raw(t *testing.T, at, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestHost(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/": "example.com:443", "http://example.com/x": "example.com:80", "https://example.com:8443/": "example.com:8443", "https://[2606:4700::1]/": "[2606:4700::1]:443",
	} {
		if got := Host(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
