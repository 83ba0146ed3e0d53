package login

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"dragoman/core/netguard"
)

// An address that a server names is no nearer to us than the server, whatever its name.
func TestGuard(t *testing.T) {
	for _, c := range []struct {
		server netguard.Class
		to     string
		ok     bool
	}{
		{netguard.Public, "https://login.example.com/x", true},
		{netguard.Public, "https://8.8.8.8/x", true},
		{netguard.Public, "http://login.example.com/x", false},
		{netguard.Public, "https://127.0.0.1/x", false},
		{netguard.Public, "https://localhost/x", false},
		{netguard.Public, "http://localhost:8080/x", false},
		{netguard.Public, "https://[::ffff:127.0.0.1]/x", false},
		{netguard.Public, "https://[::1]/x", false},
		{netguard.Public, "https://10.0.0.1/x", false},
		{netguard.Public, "https://169.254.169.254/latest", false},
		{netguard.Public, "https://168.63.129.16/x", false},
		{netguard.Public, "https://192.0.2.1/x", false},
		{netguard.Public, "https://[2002:7f00:1::]/x", false},
		{netguard.Public, "https://[2001::1]/x", false},
		{netguard.Public, "https://[2001:db8::1]/x", false},
		{netguard.Public, "https://[100::1]/x", false},
		{netguard.Public, "https://[64:ff9b::7f00:1]/x", false},
		{netguard.Public, "https://[64:ff9b::808:808]/x", true},
		{netguard.Private, "https://[2002:7f00:1::]/x", false},
		{netguard.Local, "https://168.63.129.16/x", false},
		{netguard.Private, "https://10.0.0.1/x", true},
		{netguard.Private, "https://127.0.0.1/x", false},
		{netguard.Private, "http://10.0.0.1/x", false},
		{netguard.Local, "http://127.0.0.1:1234/x", true},
		{netguard.Local, "http://[::1]:1234/x", true},
		{netguard.Local, "https://10.0.0.1/x", true},
		{netguard.Local, "http://169.254.169.254/latest", false},
		{netguard.Local, "https://169.254.169.254/latest", false},
		{netguard.Local, "file:///etc/passwd", false},
		{netguard.Local, "https:opaque", false},
		{netguard.Local, "https://a b/", false},
		{netguard.Local, "https://", false},
		{netguard.Local, "https://u@login.example.com/", false},
		{netguard.Local, "https://$(id)/", false},
		{netguard.Local, "-flag", false},
	} {
		u, err := url.Parse(c.to)
		if err == nil {
			err = (&guard{server: c.server}).fits(u)
		}
		if (err == nil) != c.ok {
			t.Errorf("%d %s: %v", c.server, c.to, err)
		}
	}
	// The address of a name is known when it is dialled.
	for address, ok := range map[string]bool{"127.0.0.1:443": false, "169.254.169.254:80": false, "10.0.0.7:443": false, "[::1]:443": false, "8.8.8.8:443": true, "x": false} {
		if err := (&guard{}).control("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// An outside server names none of the addresses by which others reach this machine.
func TestGuardRefusesOwnAddresses(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		p, err := netip.ParsePrefix(n.String())
		if err == nil && (&guard{}).control("tcp", netip.AddrPortFrom(p.Addr(), 443).String(), nil) == nil {
			t.Errorf("%s is this machine's, and a server outside can name it", n)
		}
	}
}

// A redirect is checked like any address, and none is followed with a token in it.
func TestGuardedRedirects(t *testing.T) {
	to := "http://169.254.169.254/latest"
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := guardedClient(within(t), u)
	if resp, err := c.Get(s.URL); err == nil {
		resp.Body.Close()
		t.Error("the metadata service was asked")
	} else if !strings.Contains(err.Error(), "not https") {
		t.Errorf("%v", err)
	}
	to = s.URL
	if resp, err := c.Post(s.URL, "text/plain", strings.NewReader("code")); err == nil || asked != 2 {
		resp.Body.Close()
		t.Errorf("it was sent %d times", asked)
	}
	outside, err := url.Parse("https://8.8.8.8/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := guardedClient(within(t), outside).Get(s.URL); err == nil || asked != 2 {
		resp.Body.Close()
		t.Error("this machine was asked for a server outside")
	}
}

func TestResourcesThatAreTheServer(t *testing.T) {
	server, err := url.Parse("https://mcp.example.com/v1/mcp")
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]bool{
		"https://mcp.example.com/v1/mcp": true, "https://mcp.example.com/v1/mcp/": true, "https://mcp.example.com": true, "https://mcp.example.com/": true, "https://MCP.example.com/v1": true,
		"https://mcp.example.com/v1/m": false, "https://mcp.example.com/v2": false, "http://mcp.example.com/v1/mcp": false, "https://mcp.example.com.evil.com/v1/mcp": false,
		"https://mcp.example.com:444/v1/mcp": false, "https://u@mcp.example.com/": false, "https://mcp.example.com/v1/mcp/more": false, "": false, "mcp.example.com": false,
	} {
		if covers(resource, server) != want {
			t.Errorf("%s: %v", resource, !want)
		}
	}
}
