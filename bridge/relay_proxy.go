package bridge

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
)

// passed are the headers of a client's request that the server gets to see. Among
// those it does not are the client's own key and its cookies.
var passed = []string{"Accept", "Content-Type", "Last-Event-ID", sessionHeader, versionHeader, "Mcp-Method", "Mcp-Name", "Traceparent", "Tracestate"}

// proxy hands a request on to a server that is an address, stream for stream. body
// is nil where there is none.
func (h *RelayHTTP) proxy(w http.ResponseWriter, r *http.Request, e Endpoint, body []byte, m wire.Message) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, e.URL, bytes.NewReader(body))
	if err != nil {
		http.Error(w, "the server's address is wrong", http.StatusBadGateway)
		return
	}
	for _, name := range passed {
		if v := r.Header.Values(name); len(v) > 0 {
			req.Header[http.CanonicalHeaderKey(name)] = v
		}
	}
	for name, v := range r.Header {
		if len(name) > 10 && name[:10] == "Mcp-Param-" {
			req.Header[name] = v
		}
	}
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	resp, err := h.relay.box.clientFor(h.relay.server, e).Do(req)
	var wants *loginError
	if errors.As(err, &wants) && m.Kind() == wire.Request {
		fail(w, http.StatusOK, m.ID, jrpc2.Errorf(jrpc2.InternalError, "the MCP server %s: %v", h.relay.server.Name, wants))
		return
	}
	if err != nil {
		if r.Context().Err() == nil {
			http.Error(w, "the MCP server "+h.relay.server.Name+" cannot be reached: "+plain(unwrapURL(err).Error()), http.StatusBadGateway)
		}
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized { // it is about us, and the client is not told more of that
		http.Error(w, "the MCP server "+h.relay.server.Name+" wants a login, or another key than the one that is configured", http.StatusBadGateway)
		return
	}
	for _, name := range []string{"Content-Type", sessionHeader, versionHeader, "Cache-Control", "Retry-After"} {
		if v := resp.Header.Values(name); len(v) > 0 {
			w.Header()[http.CanonicalHeaderKey(name)] = v
		}
	}
	status := resp.StatusCode
	if status == http.StatusForbidden {
		status = http.StatusBadGateway // it is our key that does not fit, and not the client's
	}
	w.WriteHeader(status)
	if m.Method == "tools/list" && len(h.relay.server.Allow)+len(h.relay.server.Deny) > 0 {
		h.proxyList(w, resp)
		return
	}
	out := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	_ = out.Flush() // a stream may stay silent for long
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			_ = out.Flush() // the next Write notices
		}
		if err != nil {
			return
		}
	}
}

// proxyList hands on a list without what is not offered.
func (h *RelayHTTP) proxyList(w io.Writer, resp *http.Response) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	filter := func(text []byte) []byte {
		m, err := wire.Parse(text)
		if err != nil {
			return text
		}
		return h.relay.filtered(text, m)
	}
	if kind != "text/event-stream" {
		if body, err := readAll(resp.Body, maxMessage); err == nil {
			_, _ = w.Write(filter(body)) // the client has left
		}
		return
	}
	for s := newEvents(resp.Body, maxMessage); ; {
		e, err := s.next()
		if err != nil {
			return
		}
		var b []byte
		if e.name != "" {
			b = append(b, "event: "+e.name+"\n"...)
		}
		if e.id != "" {
			b = append(b, "id: "+e.id+"\n"...)
		}
		if e.data != nil {
			b = append(append(b, "data: "...), bytes.ReplaceAll(filter(e.data), []byte("\n"), []byte("\ndata: "))...)
			b = append(b, '\n')
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			return
		}
	}
}
