package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"dragoman/core/display"
	"dragoman/core/netguard"
)

// MaxPage limits the part of an answer that is read, in bytes.
const MaxPage = 1 << 20

const (
	fetchTime = 10 * time.Second
	maxHops   = 5 // redirects
	maxURL    = 8 << 10
	sniffed   = 8000 // bytes that decide whether an answer is text
)

// Fetcher gets texts from the public network. The zero value is ready.
type Fetcher struct {
	// Permit decides about every address before a connection is made to it; nil: only
	// those of the public network are allowed. Tests serve from this machine.
	Permit func(netip.AddrPort) error
	// Hop decides about each redirect before it is followed; nil: all are followed.
	Hop func(from, to *url.URL) error
}

// Page is a fetched page, as text.
type Page struct {
	MIME string
	Text string
	Cut  bool // the answer is longer than MaxPage
}

// ParseURL parses an address that may be fetched. It makes no connection.
func ParseURL(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, errors.New("the URL is too long")
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return nil, fmt.Errorf("URL %q has characters that must be escaped", raw)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a valid URL", raw)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("URL %q must begin with http:// or https://", raw)
	case u.User != nil:
		return nil, fmt.Errorf("URL %q contains a user name: refused", u.Redacted())
	case u.Opaque != "" || u.Hostname() == "":
		return nil, fmt.Errorf("URL %q names no host", raw)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// Refuses returns the error of Get for an address that is written out in the URL, or for localhost,
// before a connection is made; nil: the name has to be looked up, or the address is allowed.
func (f Fetcher) Refuses(u *url.URL) error {
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(name)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		ip, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	if err != nil {
		return nil
	}
	port := map[string]uint16{"http": 80, "https": 443}[u.Scheme]
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		port = uint16(n)
	}
	if err := f.permit()(netip.AddrPortFrom(ip, port)); err != nil {
		return failed(u, err)
	}
	return nil
}

// failed is the error of a request.
func failed(u *url.URL, err error) error {
	return fmt.Errorf("fetch %s: %w", display.Visible(u.String()), plainError(err))
}

// Get fetches a text. It blocks for at most ten seconds.
func (f Fetcher) Get(ctx context.Context, raw string) (Page, error) {
	u, err := ParseURL(raw)
	if err != nil {
		return Page{}, err
	}
	whole, stop := context.WithTimeout(ctx, fetchTime)
	defer stop()
	p, err := f.request(whole, u)
	switch {
	case ctx.Err() != nil:
		return Page{}, context.Cause(ctx)
	case whole.Err() != nil:
		return Page{}, fmt.Errorf("fetch %s: it took longer than %v", display.Visible(u.String()), fetchTime)
	case err != nil:
		return Page{}, failed(u, err)
	}
	return p, nil
}

func (f Fetcher) request(ctx context.Context, u *url.URL) (Page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, err
	}
	req.Header.Set("Accept", "text/html, text/plain, text/markdown, application/json;q=0.9, text/*;q=0.8, */*;q=0.1")
	req.Header.Set("User-Agent", "dragoman")
	// A client only for this request: nothing is shared, no cookies, and no proxy from
	// the environment, whose name lookups could not be checked.
	client := &http.Client{Transport: f.transport(), CheckRedirect: f.redirect}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return Page{}, err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return Page{}, fmt.Errorf("the server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, MaxPage+1))
	if err != nil {
		return Page{}, err
	}
	p := Page{Cut: len(data) > MaxPage}
	data = data[:min(len(data), MaxPage)]
	p.MIME, p.Text, err = pageText(res.Header.Get("Content-Type"), data, res.Request.URL)
	return p, err
}

// permit decides about an address.
func (f Fetcher) permit() func(netip.AddrPort) error {
	if f.Permit == nil {
		return publicAddr
	}
	return f.Permit
}

func (f Fetcher) transport() *http.Transport {
	permit := f.permit()
	d := &net.Dialer{Timeout: fetchTime, Control: func(_, address string, _ syscall.RawConn) error {
		// The address of the connection itself: the name may have had another meaning
		// when it was checked earlier.
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("the address %s is refused", address)
		}
		return permit(to)
	}}
	return &http.Transport{
		Proxy: nil, DialContext: d.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: fetchTime, ResponseHeaderTimeout: fetchTime, MaxResponseHeaderBytes: 64 << 10,
	}
}

func (f Fetcher) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxHops {
		return fmt.Errorf("it was redirected more than %d times", maxHops)
	}
	from := via[len(via)-1].URL
	if _, err := ParseURL(req.URL.String()); err != nil {
		return fmt.Errorf("it is redirected: %w", err)
	}
	if from.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("it is redirected from https to http: refused")
	}
	req.Header.Del("Referer")
	if f.Hop != nil {
		return f.Hop(from, req.URL)
	}
	return nil
}

// SameHost is a Hop that follows redirects only within the host, because the approval
// was for that host.
func SameHost(from, to *url.URL) error {
	if strings.EqualFold(from.Hostname(), to.Hostname()) &&
		(from.Port() == to.Port() || from.Port() == "" && to.Port() == "443") {
		return nil
	}
	return fmt.Errorf(
		"it is redirected to another host: fetch %s if that is what is wanted",
		display.Visible(to.String()),
	)
}

// plainError is an error of the client without the parts that repeat the URL.
func plainError(err error) error {
	err = display.WithoutURL(err)
	if re := new(refusal); errors.As(err, &re) {
		return re
	}
	return err
}

// refusal is the error for an address to which no connection may be made.
type refusal struct{ addr netip.Addr }

func (r *refusal) Error() string {
	return fmt.Sprintf("the address %s is not on the public network: refused", r.addr)
}

// publicAddr refuses the addresses of this machine and its networks, and unusable
// ones: a page must not give access to services that only we can reach.
func publicAddr(to netip.AddrPort) error {
	class, err := netguard.Of(to.Addr())
	if err != nil {
		return err
	}
	if class != netguard.Public {
		return &refusal{to.Addr().WithZone("").Unmap()}
	}
	return nil
}

// Here is a Permit for this machine alone.
func Here(to netip.AddrPort) error {
	class, err := netguard.Of(to.Addr())
	if err != nil {
		return err
	}
	if class != netguard.Local {
		return fmt.Errorf("the address %s is not on this machine: refused", to.Addr().WithZone("").Unmap())
	}
	return nil
}

// pageText converts an answer to text.
func pageText(contentType string, data []byte, base *url.URL) (kind, text string, err error) {
	if contentType == "" {
		contentType = http.DetectContentType(data)
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "", "", fmt.Errorf("its content type %q cannot be read", contentType)
	}
	if !textual(kind) || bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0 {
		return "", "", fmt.Errorf("it is not text but %s", display.Visible(kind))
	}
	text = decodeText(data, params["charset"])
	if kind == "text/html" || kind == "application/xhtml+xml" {
		return "text/markdown", htmlText(text, base), nil
	}
	return kind, text, nil
}

// textual reports whether a content type is readable text.
func textual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") ||
		strings.HasSuffix(kind, "+xml") && !strings.HasPrefix(kind, "image/") {
		return true
	}
	switch kind {
	case "application/json",
		"application/xml",
		"application/javascript",
		"application/ecmascript",
		"application/yaml",
		"application/x-yaml",
		"application/toml",
		"application/x-sh",
		"application/sql",
		"application/graphql",
		"application/x-ndjson",
		"application/jsonl":
		return true
	}
	return false
}

// decodeText decodes the usual encodings of the web: UTF-8, or Latin-1.
func decodeText(data []byte, charset string) string {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1", "windows-1252":
		if !utf8.Valid(data) {
			wide := make([]rune, len(data))
			for i, c := range data {
				wide[i] = rune(c)
			}
			return string(wide)
		}
	}
	return strings.ToValidUTF8(string(data), "\ufffd")
}
