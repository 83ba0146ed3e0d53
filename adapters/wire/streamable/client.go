package streamable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

const (
	// notifyFor limits the time for a server to accept a message that has no answer.
	notifyFor = 30 * time.Second
	// byeFor limits each of the two waits of Shut: for the cancelled requests to finish, and for
	// the server to end the session.
	byeFor = 2 * time.Second
	// maxResumed limits how often in a row a stream is resumed without anything new.
	maxResumed    = 5
	maxResumeWait = 30 * time.Second
)

// NewHTTPClient returns a client for servers that sends requests by through; nil: by a transport of
// its own with the settings of http.DefaultTransport. A redirect to another address is refused,
// because our messages may contain a key.
func NewHTTPClient(through http.RoundTripper) *http.Client {
	if through == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64
		through = t
	}
	return &http.Client{Transport: plainTransport{through}, CheckRedirect: sameServer}
}

// plainTransport reports in words that a connection was closed, where net/http returns EOF.
type plainTransport struct{ http.RoundTripper }

var errHungUp = errors.New("the server closed the connection without an answer")

// RoundTrip implements http.RoundTripper.
func (t plainTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errHungUp
	}
	return resp, err
}

func sameServer(r *http.Request, via []*http.Request) error {
	status := "redirects"
	if r.Response != nil {
		status = "answered " + r.Response.Status + " and redirects"
	}
	switch {
	case len(via) > 5 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme:
		return fmt.Errorf("the server %s to %s, which is not followed; configure that address if it is the right one",
			status, r.URL.Redacted())
	case r.Method != via[0].Method: // a GET would lose the message
		return fmt.Errorf("the server %s a %s to %s as a %s, which is not followed; "+
			"configure that address if it is the right one", status, via[0].Method, r.URL.Redacted(), r.Method)
	}
	return nil
}

// Options are the address of a server, and functions for its errors. All functions are required;
// many goroutines call them.
type Options struct {
	URL     string
	Headers map[string]string // sent with every request; they do not replace headers of the protocol
	HTTP    *http.Client
	Limit   int // bytes of one message

	// Explain removes the address from an error of HTTP, because it may contain a key.
	Explain func(error) error
	// WantsLogin returns the error if it means that a login is needed first, else nil, and reports
	// whether the connection ends with it.
	WantsLogin func(error) (wants error, ends bool)
	// Plain makes a text of a server fit for display.
	Plain func(string) string
	// Warn logs a fault of the server's that costs something.
	Warn func(string)
	// Listening is called each time the stream of the server's own messages begins anew, so that
	// earlier messages may be lost; not if it is resumed.
	Listening func()
}

// Client speaks Streamable HTTP (Basic, Transports): each message that is written is posted, and
// the messages that come back, as JSON or as streams, can be read as one stream of lines in the
// order in which they came.
type Client struct {
	opts  Options
	url   string            // the address for posts
	send  func(line []byte) // posts one message
	older bool              // one stream brings all messages of the server
	in    *io.PipeReader

	lines *io.PipeWriter
	ctx   context.Context //nolint:containedctx // the link's life, as in net/http's own transport
	end   context.CancelCauseFunc
	owned sync.WaitGroup
	put   sync.Mutex // held while a line is put into lines

	mu      sync.Mutex // guards the fields below
	version string
	session string
	posts   map[string]*exchange // by the request's id
	params  ParamHeaders
	fault   error  // why the connection has failed; nil: it has not
	rest    []byte // the beginning of a line whose end was not written yet
}

// NewClient returns a client of the server at an address. It sends nothing before the first Write.
func NewClient(o Options) (*Client, error) {
	h, err := newClient(o)
	if err != nil {
		return nil, err
	}
	h.send = h.posting
	return h, nil
}

func newClient(o Options) (*Client, error) {
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	h := &Client{opts: o, url: o.URL, posts: map[string]*exchange{}}
	h.in, h.lines = io.Pipe()
	h.ctx, h.end = context.WithCancelCause(context.Background())
	return h, nil
}

// Lines returns the stream of the server's messages, one message a line.
func (h *Client) Lines() io.ReadCloser { return h.in }

// CheckURL returns an error unless the text can be the address of a server.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the address is not an http or https URL")
	}
	return nil
}

// Write implements io.Writer: it posts each line. Requests are posted concurrently, other messages
// one after the other.
func (h *Client) Write(b []byte) (int, error) {
	if h.ctx.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	data := append(h.rest, b...)
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			h.rest = bytes.Clone(data)
			return len(b), nil
		}
		if line := bytes.Clone(data[:i]); len(line) > 0 {
			h.send(line)
		}
		data = data[i+1:]
	}
}

// posting posts a message. It does not wait for the answer to a request.
func (h *Client) posting(line []byte) {
	m, err := wire.Parse(line)
	if err != nil {
		return // our messages are valid
	}
	switch {
	case m.Kind() == wire.Request:
		ctx, cancel := context.WithCancel(h.ctx)
		p := &exchange{cancel: cancel, sent: make(chan struct{}), done: make(chan struct{})}
		ctx = httptrace.WithClientTrace(
			ctx,
			&httptrace.ClientTrace{
				WroteRequest: func(httptrace.WroteRequestInfo) { p.once.Do(func() { close(p.sent) }) },
			},
		)
		h.mu.Lock()
		h.posts[string(m.ID)] = p
		h.mu.Unlock()
		h.owned.Go(func() {
			defer close(p.done)
			defer p.once.Do(func() { close(p.sent) }) // it is not sent any more
			defer cancel()
			h.request(ctx, line, m)
			h.mu.Lock()
			delete(h.posts, string(m.ID))
			h.mu.Unlock()
		})
	case m.Method == proto.NoteCancelled:
		h.owned.Go(func() { h.withdraw(line, m) })
	case m.Method == proto.NoteInitialized: // the server may refuse everything until it has this
		h.notify(line, m)
	default:
		h.owned.Go(func() { h.notify(line, m) })
	}
}

// exchange is a request and its answer, until the answer is complete.
type exchange struct {
	cancel context.CancelFunc
	once   sync.Once
	sent   chan struct{} // closed when it has been written
	back   bool          // it is being cancelled; guarded by Client.mu
	done   chan struct{} // closed when it is over
}

// withdraw cancels a request: by a notification, or at 2026-07-28 by hanging up. The notification may
// overtake its request, and a server ignores it if it does not know the request yet. So it is
// repeated if it had no effect.
func (h *Client) withdraw(line []byte, m wire.Message) {
	var n struct {
		ID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &n) // it is ours, and valid
	h.mu.Lock()
	p, modern := h.posts[string(n.ID)], h.version >= proto.Modern
	if p == nil || p.back { // it has finished, or is being cancelled already
		h.mu.Unlock()
		return
	}
	p.back = true
	h.mu.Unlock()
	defer p.cancel()
	if modern {
		return
	}
	awaited(p.sent, notifyFor)
	h.notify(line, m)
	for _, d := range []time.Duration{200 * time.Millisecond, time.Second} {
		if awaited(p.done, d) || h.ctx.Err() != nil {
			return
		}
		h.notify(line, m)
	}
}

// withdrawAll cancels all open requests and waits until they have finished, for at most byeFor.
// It must come before the session is ended: a server may then wait for its calls and ignore
// cancellations.
func (h *Client) withdrawAll() {
	h.mu.Lock()
	open := maps.Clone(h.posts)
	h.mu.Unlock()
	for id := range open {
		h.posting([]byte(`{"jsonrpc":"2.0","method":"` + proto.NoteCancelled + `","params":{"requestId":` + id + `}}`))
	}
	ctx, stop := context.WithTimeout(h.ctx, byeFor)
	defer stop()
	for _, p := range open {
		select {
		case <-p.done:
		case <-ctx.Done():
			return
		}
	}
}

// notify posts a message that has no answer. If the server does not accept it, the next request
// will report that.
func (h *Client) notify(line []byte, m wire.Message) {
	ctx, cancel := context.WithTimeout(h.ctx, notifyFor)
	defer cancel()
	if resp, err := h.post(ctx, line, m); err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
	}
}

// request posts a request and makes sure that it gets an answer.
func (h *Client) request(ctx context.Context, line []byte, m wire.Message) {
	if err := h.unsendable(m); err != nil {
		_ = h.deliver(wire.AppendAnswer(nil, m.ID, nil, err), m) // the connection has ended
		return
	}
	resp, err := h.postPatiently(ctx, line, m)
	if err != nil {
		h.refuse(m, h.opts.Explain(err).Error())
		if wants, ends := h.opts.WantsLogin(err); ends {
			h.fail(wants)
		}
		return
	}
	defer resp.Body.Close()
	if m.Method == proto.MethodInitialize {
		h.mu.Lock()
		h.session = resp.Header.Get(proto.HeaderSession)
		h.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 300:
		h.failed(resp, kind, m)
	case kind == "text/event-stream":
		h.follow(ctx, resp.Body, m)
	case kind == "application/json":
		if err := h.single(resp.Body, m); err != nil {
			h.refuse(m, err.Error())
		}
	default:
		h.refuse(m, fmt.Sprintf("the server answered %s with %q in place of JSON or a stream", resp.Status, kind))
	}
}

// failed handles a status that is an error. A JSON-RPC error in its body is the answer, else the
// status.
func (h *Client) failed(resp *http.Response, kind string, m wire.Message) {
	body, _ := ReadAll(resp.Body, 64<<10)
	h.mu.Lock()
	session := h.session
	h.mu.Unlock()
	if resp.StatusCode == http.StatusNotFound && session != "" && m.Method != proto.MethodInitialize {
		h.refuse(m, ErrSessionLost.Error()) // before the end, so that it arrives
		h.fail(ErrSessionLost)
		return
	}
	if kind == "application/json" {
		if r, err := wire.Parse(body); err == nil && r.Kind() == wire.Response && r.Error != nil {
			if string(r.ID) == string(m.ID) {
				_ = h.deliver(body, m)
			} else {
				h.answer(m, r.Error)
			}
			return
		}
	}
	text := "the server answered " + resp.Status
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += ": it requires a login, or a key other than the configured one"
	default:
		if s := strings.TrimSpace(h.opts.Plain(strings.ToValidUTF8(string(body), "\uFFFD"))); s != "" &&
			kind != "text/html" {
			text += ": " + s[:min(len(s), 200)]
		}
	}
	if wait, ok := retryAfter(resp); ok {
		text += fmt.Sprintf("; it asks to wait %v before the next try", wait)
	}
	h.refuse(m, text)
}

// ErrSessionLost is the error of a session that the server no longer knows.
var ErrSessionLost = errors.New("the server no longer knows our session; it was probably restarted")

func (h *Client) post(ctx context.Context, line []byte, m wire.Message) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	h.head(req, m)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return h.opts.HTTP.Do(req)
}

// head sets the headers of a request. Configured headers cannot replace those of the protocol.
func (h *Client) head(req *http.Request, m wire.Message) {
	for name, value := range h.opts.Headers {
		req.Header.Set(name, value)
	}
	h.mu.Lock()
	version, session := h.version, h.session
	h.mu.Unlock()
	p := ReadParams(m.Params)
	if v := p.Says(); v != "" {
		version = v
	}
	if version != "" && version != proto.Numbered && m.Method != proto.MethodInitialize {
		req.Header.Set(proto.HeaderVersion, version)
	}
	if session != "" && m.Method != proto.MethodInitialize {
		req.Header.Set(proto.HeaderSession, session)
	}
	if version >= proto.Modern && m.Method != "" {
		h.headModern(req, m.Method, p)
	}
}

// deliver puts a message into the stream of lines, after the request m, or on a stream of its own. It
// blocks until the message is read.
func (h *Client) deliver(text []byte, m wire.Message) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	if m.Method == proto.MethodListTools && h.isModern(m) {
		if r, err := wire.Parse(line.Bytes()); err == nil && r.Result != nil {
			if fit := h.fit(r.Result); len(fit) != len(r.Result) {
				line = *bytes.NewBuffer(wire.Edit(line.Bytes(), wire.Set("result", fit)))
			}
		}
	}
	line.WriteByte('\n')
	h.put.Lock()
	defer h.put.Unlock()
	_, err := h.lines.Write(line.Bytes())
	return err
}

// isModern reports whether a request is of 2026-07-28.
func (h *Client) isModern(m wire.Message) bool {
	if v := ReadParams(m.Params).Says(); v != "" {
		return v >= proto.Modern
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version >= proto.Modern
}

// CodeUnreached is the code of our own error answers for a server that cannot be reached.
const CodeUnreached = -32097

// Unreached returns the text of an error with CodeUnreached; false: it is another error.
func Unreached(err error) (why string, ok bool) {
	var e *jrpc2.Error
	if !errors.As(err, &e) || e.Code != CodeUnreached {
		return "", false
	}
	return e.Message, true
}

// SessionLost reports whether an error means that the server has forgotten our session.
func SessionLost(err error) bool {
	why, ok := Unreached(err)
	return ok && why == ErrSessionLost.Error()
}

// refuse answers a request instead of the server.
func (h *Client) refuse(m wire.Message, text string) {
	b := strconv.AppendInt([]byte(`{"code":`), CodeUnreached, 10)
	h.answer(m, append(jsonscan.AppendString(append(b, `,"message":`...), text), '}'))
}

func (h *Client) answer(m wire.Message, fault []byte) {
	_ = h.deliver([]byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":`+string(fault)+`}`), m) // the connection has ended
}

// Settled notes the version, and opens the stream of the server's own messages if the version has
// one.
func (h *Client) Settled(version string) {
	h.mu.Lock()
	h.version = version
	h.mu.Unlock()
	if version < proto.Modern && !h.older {
		h.owned.Go(h.listen)
	}
}

// fail ends the connection for a reason.
func (h *Client) fail(err error) {
	h.mu.Lock()
	if h.fault == nil {
		h.fault = err
	}
	h.mu.Unlock()
	h.owned.Go(func() { h.lines.CloseWithError(io.EOF) }) // after the message that is being delivered
}

// Close implements io.Closer: nothing more is posted.
func (h *Client) Close() error { return nil }

// Shut cancels all open requests, ends the session and waits for the client's goroutines.
func (h *Client) Shut() {
	h.mu.Lock()
	session, lost := h.session, h.fault != nil
	h.mu.Unlock()
	if session != "" && !lost && h.ctx.Err() == nil {
		h.withdrawAll()
		ctx, cancel := context.WithTimeout(h.ctx, byeFor)
		defer cancel()
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, h.url, nil); err == nil {
			h.head(req, wire.Message{})
			if resp, err := h.opts.HTTP.Do(req); err == nil {
				resp.Body.Close()
			}
		}
	}
	h.end(io.ErrClosedPipe)
	h.lines.CloseWithError(io.EOF)
	h.owned.Wait()
}

// Why returns the reason for the connection's end. It is called after Shut.
func (h *Client) Why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != nil {
		return h.fault.Error()
	}
	return "the connection has ended"
}

// ReadAll reads at most limit bytes; more is an error.
func ReadAll(r io.Reader, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(b) > limit {
		err = fmt.Errorf("it exceeds %d bytes", limit)
	}
	return b, err
}

// awaited reports whether a channel is closed in time.
func awaited(done <-chan struct{}, d time.Duration) bool {
	ctx, stop := context.WithTimeout(context.Background(), d)
	defer stop()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
