// Package egress lets confined programs reach addresses outside, one by one.
//
// A [Proxy] serves HTTP on a listener inside a sandbox that has no other way out: CONNECT for a
// stream to a host, and requests for http: addresses. It asks a [Judge] about each of them, and
// connects only to public addresses, which it checks when the name has been looked up. A [Session] is
// the judge of a session: rules decide, or a person while the connection waits.
//
// # What holds
//
//   - Nothing is connected to before the judge has said so. While it waits, the program waits.
//   - The address that is dialed is the one that was checked, whatever the name means later.
//   - A program gets an error that says what was refused and why.
//   - When Close returns no connection is open and no goroutine is left.
package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"dragoman/core/netguard"
)

// Judge says whether programs may connect to an address, http://… or https://…, of which the path
// is known only for http. It may block until a person has answered. Its error is for the program,
// and for whoever reads what that prints.
type Judge func(ctx context.Context, address string) error

const (
	dialTime = 30 * time.Second
	// headTime limits the wait for the head of a request.
	headTime = 30 * time.Second
)

// Proxy is a way out of a sandbox.
type Proxy struct {
	judge  Judge
	local  http.Handler // answers requests that are for no proxy; nil: nobody does
	at     string       // the listener's address
	dialer net.Dialer
	server *http.Server
	relay  *httputil.ReverseProxy

	end  context.CancelFunc
	work sync.WaitGroup
}

// Serve starts a proxy on a listener, which it closes in the end. Requests that are for no proxy go to
// local; nil: they are errors. Close must follow.
func Serve(l net.Listener, judge Judge, local http.Handler) *Proxy {
	return serve(l, judge, local, public)
}

func serve(l net.Listener, judge Judge, local http.Handler, check func(network, address string, c syscall.RawConn) error) *Proxy {
	life, end := context.WithCancel(context.Background())
	p := &Proxy{judge: judge, local: local, at: l.Addr().String(), end: end, dialer: net.Dialer{Timeout: dialTime, Control: check}}
	p.relay = &httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {}, // the address is absolute already
		Transport: &http.Transport{DialContext: p.dialer.DialContext, DisableCompression: true, MaxIdleConns: 8, IdleConnTimeout: time.Minute},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: headTime, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return life },
	}
	p.work.Go(func() { _ = p.server.Serve(l) })
	return p
}

// Close ends all connections.
func (p *Proxy) Close() {
	p.end()
	_ = p.server.Close()
	p.work.Wait()
	if t, ok := p.relay.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.work.Add(1)
	defer p.work.Done()
	if p.local != nil && r.Method != http.MethodConnect && (r.URL.Host == "" || r.URL.Host == p.at) {
		p.local.ServeHTTP(w, r)
		return
	}
	address, err := addressOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := p.judge(r.Context(), address); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if r.Method == http.MethodConnect {
		p.connect(w, r)
		return
	}
	p.relay.ServeHTTP(w, r)
}

// addressOf returns the address that a request is about.
func addressOf(r *http.Request) (string, error) {
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil {
			return "", errors.New("this is a proxy: it takes CONNECT, and requests for http:// addresses")
		}
		if !plainHost(r.URL.Hostname()) {
			return "", fmt.Errorf("the host %q is not a name in ASCII", r.URL.Hostname())
		}
		return r.URL.String(), nil
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" {
		return "", fmt.Errorf("CONNECT %q: it names no host and port", r.Host)
	}
	if !plainHost(host) {
		return "", fmt.Errorf("CONNECT %q: the host is not a name in ASCII", r.Host)
	}
	u := url.URL{Scheme: "https", Host: r.Host, Path: "/"}
	if port == "443" {
		if u.Host = host; isIPv6(host) {
			u.Host = "[" + host + "]"
		}
	}
	return u.String(), nil
}

// plainHost reports whether a person sees in a host's name what it is: it has no other characters than
// names on the network have.
func plainHost(host string) bool {
	return !strings.ContainsFunc(host, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(".-_:", c)
	})
}

func isIPv6(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Is6()
}

// connect passes bytes between a program and a host until one of them has ended.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	out, err := p.dialer.DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, fmt.Sprintf("connect to %s: %v", r.Host, err), http.StatusBadGateway)
		return
	}
	defer out.Close()
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	stop := context.AfterFunc(r.Context(), func() {
		in.Close()
		out.Close()
	})
	defer stop()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, buffered)
		closeWrite(out)
	})
	both.Go(func() {
		_, _ = io.Copy(in, out)
		closeWrite(in)
	})
	both.Wait()
}

// closeWrite tells the other side that nothing more comes.
func closeWrite(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok && t.CloseWrite() == nil {
		return
	}
	c.Close()
}

// public refuses to connect to an address that is not public.
func public(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	class, err := netguard.Of(to.Addr())
	if err != nil {
		return err
	}
	if class != netguard.Public {
		return fmt.Errorf("%s is not a public address", to.Addr())
	}
	return nil
}

// Host returns the host and the port of an address that a Judge is asked about, in one spelling.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443"))
}
