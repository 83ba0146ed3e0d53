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
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"dragoman/core/display"
	"dragoman/core/netguard"
)

// MaxPage is how much of an answer is read, in bytes.
const MaxPage = 1 << 20

const (
	fetchTime = 10 * time.Second
	maxHops   = 5 // redirects
	maxURL    = 8 << 10
	sniffed   = 8000 // bytes that show whether an answer is text
)

// Fetcher gets texts from the public network. The zero value is ready.
type Fetcher struct {
	// Permit is asked about every address before a connection is made to it; nil:
	// only those of the public network are allowed. Tests serve from this machine.
	Permit func(netip.AddrPort) error
	// Hop is asked before a redirect is followed; nil: all are.
	Hop func(from, to *url.URL) error
}

// Page is what was fetched, as text.
type Page struct {
	MIME string
	Text string
	Cut  bool // there is more than MaxPage
}

// ParseURL takes an address that may be fetched. It reaches for nothing.
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
		return Page{}, fmt.Errorf("fetch %s: %w", display.Visible(u.String()), plainError(err))
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
	// A client for this request alone: nothing is shared, no cookies, and no proxy
	// from the environment, which would resolve names where nobody can look.
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

func (f Fetcher) transport() *http.Transport {
	permit := f.Permit
	if permit == nil {
		permit = publicAddr
	}
	d := &net.Dialer{Timeout: fetchTime, Control: func(_, address string, _ syscall.RawConn) error {
		// The address that is about to be connected to: whatever a name meant when
		// somebody looked at it, this is what it means now.
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

// SameHost is a Hop that lets redirects go on only where they stay with the host: what was
// approved names it.
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

// refusal says why no connection is made to an address.
type refusal struct{ addr netip.Addr }

func (r *refusal) Error() string {
	return fmt.Sprintf("the address %s is not on the public network: refused", r.addr)
}

// publicAddr refuses the addresses that lead to this machine, to its networks, or
// to nobody: a page must not be a way to what only we can reach.
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

// pageText turns an answer into text.
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

// textual reports whether a content type is one that people read.
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

// decodeText reads what most of the web is written in: UTF-8, or Latin-1.
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
