package policy

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"dragoman/core/glob"
)

// urlPattern is Rule.URL taken apart.
type urlPattern struct {
	scheme, host, port string // empty: any

	path, folded *glob.Pattern // nil: any
}

func parseURLPattern(s string) (u urlPattern, err error) {
	rest := s
	if scheme, after, ok := strings.Cut(s, "://"); ok {
		u.scheme, rest = strings.ToLower(scheme), after
	}
	host, p, hasPath := strings.Cut(rest, "/")
	u.host = host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		u.host, u.port = host[:i], host[i+1:]
	}
	u.host = hostName(u.host)
	switch {
	case u.host == "":
		return u, fmt.Errorf("url %q: the host is missing", s)
	case strings.Contains(strings.TrimPrefix(u.host, "*"), "*") || strings.HasPrefix(u.host, "*") && u.host != "*" && u.host[1] != '.':
		return u, fmt.Errorf("url %q: a host may be *, or begin with \"*.\"", s)
	case strings.Contains(u.host, "@"):
		return u, errors.New("url: patterns must not contain a user name")
	}
	if !hasPath || p == "" {
		return u, nil
	}
	if u.path, err = glob.Path("/" + p); err == nil {
		u.folded, err = glob.Path(strings.ToLower("/" + p))
	}
	if err != nil {
		return u, fmt.Errorf("url %q: its path is not a valid pattern: %w", s, err)
	}
	return u, nil
}

// hostName returns a host in the one spelling that is compared.
func hostName(h string) string {
	return strings.TrimSuffix(strings.ToLower(strings.Trim(h, "[]")), ".")
}

func (u urlPattern) hostMatches(host string) bool {
	if u.host == "*" {
		return true
	}
	if suffix, ok := strings.CutPrefix(u.host, "*"); ok {
		return strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	return host == u.host
}

// covers reports whether an allow rule certainly matches a URL.
func (u urlPattern) covers(raw string) bool {
	v, err := url.Parse(raw)
	if err != nil || v.User != nil || v.Opaque != "" || v.Host == "" || strings.ContainsAny(raw, "\\\t\r\n") {
		return false
	}
	if v.Scheme != "http" && v.Scheme != "https" || u.scheme != "" && u.scheme != v.Scheme {
		return false
	}
	if !u.hostMatches(hostName(v.Hostname())) || port(v.Scheme, v.Port()) != port(v.Scheme, u.port) {
		return false
	}
	if u.path == nil {
		return true
	}
	p := v.EscapedPath()
	if strings.Contains(p, "%") || path.Clean("/"+p) != strings.TrimSuffix(p, "/") && p != "/" {
		return false // more than one server could read it in more than one way
	}
	return u.path.Matches(p)
}

// mentions reports whether a deny or ask rule may match a URL.
func (u urlPattern) mentions(raw string) bool {
	v, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || v.Host == "" {
		return u.host == "*" || strings.Contains(strings.ToLower(raw), strings.TrimPrefix(u.host, "*."))
	}
	if !u.hostMatches(hostName(v.Hostname())) || u.scheme != "" && u.scheme != strings.ToLower(v.Scheme) {
		return false
	}
	if u.port != "" && u.port != port(v.Scheme, v.Port()) {
		return false
	}
	p := path.Clean("/" + v.Path)
	return u.path == nil || u.folded.Matches(strings.ToLower(p))
}

// port fills in the port that a scheme implies.
func port(scheme, p string) string {
	switch {
	case p != "":
		return p
	case strings.EqualFold(scheme, "http"):
		return "80"
	}
	return "443"
}
