package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"dragoman/core/display"
	"dragoman/core/netguard"
)

const (
	// answerFor limits the wait for an answer from an address that a server names for its login.
	answerFor = 30 * time.Second
	// maxAnswer limits such an answer, in bytes.
	maxAnswer = 1 << 20
)

// classOfHost returns the class of the farthest address of a host. A host that cannot
// be looked up counts as public: a proxy may know it.
func classOfHost(ctx context.Context, host string) netguard.Class {
	if isLoopback(host) {
		return netguard.Local
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host) // an address needs no lookup
	if err != nil || len(ips) == 0 {
		return netguard.Public
	}
	near := netguard.Never
	for _, ip := range ips {
		class, err := netguard.Of(ip)
		if err != nil {
			return netguard.Public
		}
		near = min(near, class)
	}
	return near
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// guard is the transport to the addresses that a server names for its login. None may be nearer
// to us than the server itself, so that an outside server cannot make us send requests to this
// machine or its network. Connections are encrypted, except on this machine.
type guard struct {
	server           netguard.Class
	direct, throughs http.RoundTripper
}

// guardedClient returns a client for the addresses that a server names for its login.
func guardedClient(ctx context.Context, server *url.URL) *http.Client {
	g := &guard{server: classOfHost(ctx, server.Hostname())}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives, t.MaxResponseHeaderBytes = true, maxAnswer
	g.throughs = t
	direct := t.Clone()
	direct.Proxy = nil
	direct.DialContext = (&net.Dialer{Timeout: answerFor, Control: g.control}).DialContext
	g.direct = direct
	return &http.Client{
		Transport: g, Timeout: answerFor,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if via[0].Method != http.MethodGet || len(via) > 5 {
				return fmt.Errorf("a redirect to %s, which is not followed", display.Line(r.URL.Host, 100))
			}
			return nil
		},
	}
}

// control checks the address of a connection when it is made.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %s is none", address)
	}
	return g.admits(at.Addr())
}

func (g *guard) admits(ip netip.Addr) error {
	class, err := netguard.Of(ip)
	if err != nil {
		return err
	}
	if class == netguard.Translated {
		class = netguard.Public // in a network with only IPv6, every IPv4 server is reached this way
	}
	if class == netguard.Never || class > g.server {
		return fmt.Errorf("%s is an address inside, which a server outside must not name", ip)
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.pass(req)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer+1), resp.Body}
	return resp, nil
}

func (g *guard) pass(req *http.Request) (*http.Response, error) {
	err := g.fits(req.URL)
	var proxy *url.URL
	if err == nil {
		proxy, err = http.ProxyFromEnvironment(req)
	}
	switch {
	case err != nil:
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	case proxy != nil: // the proxy looks up names
		return g.throughs.RoundTrip(req)
	}
	return g.direct.RoundTrip(req)
}

// readAnswer reads an answer that came through a guard, which passes one byte more than the
// limit.
func readAnswer(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(resp.Body)
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("it exceeds %d bytes", maxAnswer)
	}
	return body, err
}

// fits returns an error if an address that a server names must not be used.
func (g *guard) fits(u *url.URL) error {
	host := u.Hostname()
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_:", r))
	}
	switch {
	case host == "" || strings.Trim(host, ".") == "" || strings.ContainsFunc(host, odd) || u.User != nil || u.Opaque != "":
		return errors.New("the server names an address for its login that has no plain host")
	case u.Scheme == "https":
	case u.Scheme == "http" && isLoopback(host):
	default:
		return fmt.Errorf(
			"the server names an address for its login that is not https: %s",
			display.Line(u.Scheme+"://"+host, 100),
		)
	}
	if isLoopback(host) && g.server != netguard.Local {
		return fmt.Errorf("%s is this machine, which a server outside must not name", host)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.admits(ip)
	}
	return nil
}
