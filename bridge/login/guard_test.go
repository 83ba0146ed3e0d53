package login

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestNearness(t *testing.T) {
	for ip, want := range map[string]nearness{
		"8.8.8.8": public, "2606:4700::1111": public, "10.1.2.3": private, "172.31.0.1": private, "192.168.1.1": private, "100.64.0.1": private,
		"fd00:ec2::254": private, "127.0.0.1": local, "127.9.9.9": local, "::1": local, "::ffff:127.0.0.1": local, "::ffff:10.0.0.1": private,
		"64:ff9b::7f00:1": local, "64:ff9b::a9fe:a9fe": never, "::7f00:1": local, "169.254.169.254": never, "fe80::1%eth0": never, "0.0.0.0": never,
		"::": never, "0.1.2.3": never, "224.0.0.1": never, "255.255.255.255": never, "ff02::1": never,
	} {
		if got := nearnessOf(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: %d, want %d", ip, got, want)
		}
	}
}

// What a server names is no nearer to us than the server, whatever it is called.
func TestGuard(t *testing.T) {
	for _, c := range []struct {
		server nearness
		to     string
		ok     bool
	}{
		{public, "https://login.example.com/x", true},
		{public, "https://8.8.8.8/x", true},
		{public, "http://login.example.com/x", false},
		{public, "https://127.0.0.1/x", false},
		{public, "https://localhost/x", false},
		{public, "http://localhost:8080/x", false},
		{public, "https://[::ffff:127.0.0.1]/x", false},
		{public, "https://[::1]/x", false},
		{public, "https://10.0.0.1/x", false},
		{public, "https://169.254.169.254/latest", false},
		{private, "https://10.0.0.1/x", true},
		{private, "https://127.0.0.1/x", false},
		{private, "http://10.0.0.1/x", false},
		{local, "http://127.0.0.1:1234/x", true},
		{local, "http://[::1]:1234/x", true},
		{local, "https://10.0.0.1/x", true},
		{local, "http://169.254.169.254/latest", false},
		{local, "https://169.254.169.254/latest", false},
		{local, "file:///etc/passwd", false},
		{local, "https:opaque", false},
		{local, "https://a b/", false},
		{local, "https://", false},
		{local, "https://u@login.example.com/", false},
		{local, "https://$(id)/", false},
		{local, "-flag", false},
	} {
		u, err := url.Parse(c.to)
		if err == nil {
			err = (&guard{server: c.server}).fits(u)
		}
		if (err == nil) != c.ok {
			t.Errorf("%d %s: %v", c.server, c.to, err)
		}
	}
	// What a name means is known when it is dialled.
	for address, ok := range map[string]bool{"127.0.0.1:443": false, "169.254.169.254:80": false, "10.0.0.7:443": false, "[::1]:443": false, "8.8.8.8:443": true, "x": false} {
		if err := (&guard{}).control("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A redirect is looked at like any address, and none is followed with a token in it.
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
