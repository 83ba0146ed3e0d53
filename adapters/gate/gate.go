package gate

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.uber.org/zap"

	"dragoman/core/access"
)

// Options configure a gate. Without Admit everybody on this machine is admitted.
type Options struct {
	// Admit returns the holder of a bearer token. Its error is the answer to the client, and is
	// logged: it must not contain the token. Admit is called for each request, and again while the
	// request is open, by any goroutine. It must be quick, and take the same time for any unknown
	// token. nil: every request is Everybody's.
	Admit     func(token string) (access.Holder, error)
	Everybody access.Holder // the holder of every request, without Admit
	Hosts     []string      // names that clients may use for us, besides loopback and the listener's address
	Origins   []string      // of web pages that are admitted, besides the gate's own: "https://example.com"
	MaxBody   int64         // bytes of a request's body; 0: 8 MiB
	Requests  int           // that may be open at once; 0: 1024
	Log       *zap.Logger   // nil: nothing is logged
}

// Gate is the front door. Mount everything before the first request.
type Gate struct {
	opts   Options
	log    *zap.Logger
	mux    *http.ServeMux
	open   chan struct{} // holds one element for each open request
	visits visits        // the same requests, if there is Admit
}

// New returns a gate without handlers.
func New(o Options) *Gate {
	o.MaxBody = cmp.Or(o.MaxBody, 8<<20)
	o.Requests = cmp.Or(o.Requests, 1024)
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return &Gate{
		opts: o,
		log:  o.Log,
		mux:  http.NewServeMux(),
		open: make(chan struct{}, o.Requests),
	}
}

// Mount installs a handler for a path.
func (g *Gate) Mount(path string, h http.Handler) { g.mux.Handle(path, h) }

type holderKey struct{}

// Holder returns the holder of a request that passed a gate. Any other request's has no rights.
func Holder(r *http.Request) access.Holder {
	h, _ := r.Context().Value(holderKey{}).(access.Holder)
	return h
}

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.hostAllowed(r) {
		g.refuse(w, r, http.StatusForbidden, fmt.Sprintf("the host %q is not served here", r.Host))
		return
	}
	if !g.originAllowed(r) {
		g.refuse(w, r, http.StatusForbidden, fmt.Sprintf("the origin %q may not come in", r.Header.Get("Origin")))
		return
	}
	if g.preflight(w, r) {
		return
	}
	token, holder, err := g.admit(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="dragoman"`)
		g.refuse(w, r, http.StatusUnauthorized, err.Error())
		return
	}
	select {
	case g.open <- struct{}{}:
		defer func() { <-g.open }()
	default:
		w.Header().Set("Retry-After", "1")
		g.refuse(w, r, http.StatusServiceUnavailable, "too many requests are open")
		return
	}
	ctx := context.WithValue(r.Context(), holderKey{}, holder)
	if g.opts.Admit != nil {
		var leave func()
		ctx, leave = g.visits.enter(ctx, token)
		defer leave()
	}
	r = r.WithContext(ctx)
	limited := newTimed(w)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &body{
			ReadCloser: http.MaxBytesReader(w, r.Body, g.opts.MaxBody),
			control:    limited.control,
		}
	}
	g.mux.ServeHTTP(limited, r)
}

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	g.log.Info(
		"refused a request",
		zap.String("from", r.RemoteAddr),
		zap.Int("status", status),
		zap.String("why", why),
	)
	http.Error(w, why, status)
}

// hostAllowed checks the name that the client uses for us.
func (g *Gate) hostAllowed(r *http.Request) bool {
	name := hostname(r.Host)
	if loopback(name) {
		return true
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok &&
		name == hostname(local.String()) {
		return true
	}
	return slices.ContainsFunc(g.opts.Hosts, func(h string) bool { return strings.EqualFold(hostname(h), name) })
}

// originAllowed checks the origin of the web page, if a page sent the request.
func (g *Gate) originAllowed(r *http.Request) bool {
	all := r.Header.Values("Origin")
	if len(all) == 0 {
		return true
	}
	if len(all) > 1 {
		return false
	}
	if slices.ContainsFunc(
		g.opts.Origins,
		func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), all[0]) },
	) {
		return true
	}
	u, err := url.Parse(all[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		strings.EqualFold(u.Host, r.Host)
}

// preflight answers the request that a browser sends before it lets a page send its own, and
// sets the headers for the page's access.
func (g *Gate) preflight(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// hostname returns the name in "name", "name:port" and "[name]:port".
func hostname(hostport string) string {
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

func loopback(name string) bool {
	if strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// Loopback reports whether an address to listen on, "host:port", can be reached only from this
// machine.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && loopback(host)
}
