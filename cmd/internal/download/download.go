// Package download gets files that a person has asked for.
//
// # What holds
//
//   - An address is https, or http on this machine. So is every address that it leads to, and an
//     https one never leads to http.
//   - The address of each connection is checked, after its name was looked up: only the public network
//     is reached, unless the person has named the source. A proxy that the environment names is the
//     user's own; what is behind it cannot be checked.
//   - An answer is limited, in bytes and in time without any. A file is complete or not there.
package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"dragoman/core/display"
	"dragoman/core/netguard"
)

const (
	maxHops  = 5                // redirects
	waitFor  = 20 * time.Second // for a connection, and for the beginning of an answer
	stallFor = 30 * time.Second // without a byte of the answer
	maxURL   = 8 << 10
)

// Fetcher gets files.
type Fetcher struct {
	// Anywhere lets this machine and its network be reached too: a person has named the source.
	Anywhere bool
	// Progress is told how much of a file has arrived, and how much there is (-1: it is not known);
	// nil: nobody is.
	Progress func(done, all int64)
}

// Check returns why an address may not be fetched; nil: it may. It makes no connection.
func Check(raw string) (*url.URL, error) {
	if len(raw) > maxURL || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return nil, fmt.Errorf("%s is no address", display.Line(raw, 100))
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return nil, fmt.Errorf("%s is no address", display.Line(raw, 100))
	case u.User != nil:
		return nil, fmt.Errorf("the address %s has a login in it", display.Line(u.Redacted(), 100))
	case u.Scheme == "http" && here(u.Hostname()), u.Scheme == "https":
		return u, nil
	}
	return nil, fmt.Errorf("the address %s does not begin with https://", display.Line(raw, 100))
}

// here reports whether a host is this machine.
func here(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Get returns a small file of at most so many bytes.
func (f Fetcher) Get(ctx context.Context, address string, most int64) ([]byte, error) {
	var data []byte
	err := f.fetch(ctx, address, most, func(body io.Reader) (err error) {
		data, err = io.ReadAll(body)
		return err
	})
	return data, err
}

// File writes a file of at most so many bytes to another one, and returns its SHA-256 and its size.
func (f Fetcher) File(ctx context.Context, address string, most int64, to *os.File) (sum string, size int64, err error) {
	h := sha256.New()
	err = f.fetch(ctx, address, most, func(body io.Reader) (err error) {
		size, err = io.Copy(io.MultiWriter(to, h), body)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), size, err
}

func (f Fetcher) fetch(ctx context.Context, address string, most int64, read func(io.Reader) error) error {
	u, err := Check(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err = f.request(ctx, cancel, u, most, read)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("download %s: %w", display.Line(u.String(), 200), display.WithoutURL(err))
	}
	return nil
}

func (f Fetcher) request(ctx context.Context, cancel context.CancelCauseFunc, u *url.URL, most int64, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "dragoman")
	client := &http.Client{Transport: f.transport(), CheckRedirect: redirected}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("the server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	case res.ContentLength > most:
		return tooLarge(most)
	}
	body := &body{from: res.Body, left: most + 1, all: res.ContentLength, progress: f.Progress}
	body.stalled = time.AfterFunc(stallFor, func() { cancel(fmt.Errorf("nothing has arrived for %v", stallFor)) })
	defer body.stalled.Stop()
	if err := read(body); err != nil {
		return err
	}
	if body.left <= 0 {
		return tooLarge(most)
	}
	return nil
}

func tooLarge(most int64) error {
	return fmt.Errorf("it is larger than %d MiB", max(most>>20, 1))
}

// redirected decides about a redirect before it is followed.
func redirected(req *http.Request, via []*http.Request) error {
	if len(via) > maxHops {
		return fmt.Errorf("it was redirected more than %d times", maxHops)
	}
	if _, err := Check(req.URL.String()); err != nil {
		return fmt.Errorf("it is redirected: %w", err)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("it is redirected from https to http")
	}
	req.Header.Del("Referer")
	return nil
}

func (f Fetcher) transport() *http.Transport {
	var mu sync.Mutex
	proxies := map[string]bool{} // addresses that are the user's own proxies
	guarded := &net.Dialer{Timeout: waitFor, Control: func(_, address string, _ syscall.RawConn) error { return f.permit(address) }}
	open := &net.Dialer{Timeout: waitFor}
	return &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			via, err := http.ProxyFromEnvironment(req)
			if via != nil {
				mu.Lock()
				proxies[hostPort(via)] = true
				mu.Unlock()
			}
			return via, err
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			mu.Lock()
			own := proxies[address]
			mu.Unlock()
			if own {
				return open.DialContext(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		ForceAttemptHTTP2: true, DisableKeepAlives: true,
		TLSHandshakeTimeout: waitFor, ResponseHeaderTimeout: waitFor, MaxResponseHeaderBytes: 64 << 10,
	}
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// permit decides about the address of a connection.
func (f Fetcher) permit(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %s is refused", address)
	}
	class, err := netguard.Of(to.Addr())
	if err != nil {
		return err
	}
	if class == netguard.Translated {
		class = netguard.Public // in a network with only IPv6, every IPv4 server is reached this way
	}
	if class == netguard.Never || class != netguard.Public && !f.Anywhere {
		return fmt.Errorf("the address %s is not on the public network", to.Addr())
	}
	return nil
}

// body is an answer that is limited, and whose silence ends it.
type body struct {
	from      io.Reader
	left      int64 // one more than may arrive
	done, all int64
	progress  func(done, all int64)
	stalled   *time.Timer
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.EOF
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.done += int64(n)
	if n > 0 {
		b.stalled.Reset(stallFor)
		if b.progress != nil {
			b.progress(b.done, b.all)
		}
	}
	return n, err
}
