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
	"slices"
	"strings"
	"syscall"
	"time"

	"dragoman/core/display"
)

const (
	// answerFor bounds the wait for an answer from an address that a server names for its
	// login.
	answerFor = 30 * time.Second
	// maxAnswer bounds such an answer, in bytes.
	maxAnswer = 1 << 20
)

// nearness says how close to this machine an address is.
type nearness int

const (
	public  nearness = iota
	private          // the network that we are in
	local            // this machine
	never            // nothing that anybody logs in at: link-local (a cloud's metadata), multicast
)

var (
	neverAt = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("224.0.0.0/3"),
		netip.MustParsePrefix("::/128"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
	}
	privateAt = []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
		netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fec0::/10"),
	}
	// The last four bytes of these are an address of the older kind.
	embeddingAt = []netip.Prefix{
		netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("::/96"),
	}
)

func nearnessOf(ip netip.Addr) nearness {
	ip = ip.Unmap().WithZone("")
	holds := func(p netip.Prefix) bool { return p.Contains(ip) }
	switch {
	case !ip.IsValid() || slices.ContainsFunc(neverAt, holds):
		return never
	case ip.IsLoopback():
		return local
	case slices.ContainsFunc(privateAt, holds):
		return private
	case slices.ContainsFunc(embeddingAt, holds):
		b := ip.As16()
		return nearnessOf(netip.AddrFrom4([4]byte(b[12:])))
	}
	return public
}

// nearnessOfHost returns the nearness of the farthest address of a host. A host that cannot
// be looked up counts as public: a proxy may know it.
func nearnessOfHost(ctx context.Context, host string) nearness {
	if isLoopback(host) {
		return local
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return nearnessOf(ip)
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(ips) == 0 {
		return public
	}
	near := never
	for _, ip := range ips {
		near = min(near, nearnessOf(ip))
	}
	return near
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// guard is the transport to the addresses that a server names for its login. None may be
// nearer to us than the server itself, so that one from outside cannot have us speak
// to this machine or its network. What is said is encrypted, except on this machine.
type guard struct {
	server           nearness
	direct, throughs http.RoundTripper
}

// guardedClient returns a client for the addresses that a server names for its login.
func guardedClient(ctx context.Context, server *url.URL) *http.Client {
	g := &guard{server: nearnessOfHost(ctx, server.Hostname())}
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

// control refuses a connection by the address that is really connected to.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %s is none", address)
	}
	return g.admits(at.Addr())
}

func (g *guard) admits(ip netip.Addr) error {
	if near := nearnessOf(ip); near == never || near > g.server {
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
	case proxy != nil: // names are looked up over there
		return g.throughs.RoundTrip(req)
	}
	return g.direct.RoundTrip(req)
}

// readAnswer reads an answer that came through a guard, which lets one byte too many pass.
func readAnswer(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(resp.Body)
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("it exceeds %d bytes", maxAnswer)
	}
	return body, err
}

// WithoutURL drops the address from an error of an http.Client: it may hold a key.
func WithoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// fits returns what is wrong with an address that a server names; nil: nothing.
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
		return fmt.Errorf("the server names an address for its login that is not https: %s", display.Line(u.Scheme+"://"+host, 100))
	}
	if isLoopback(host) && g.server != local {
		return fmt.Errorf("%s is this machine, which a server outside must not name", host)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.admits(ip)
	}
	return nil
}
